"""Writes running text and embedded data as HTML that nothing from a log can break out of."""

from __future__ import annotations

from markupsafe import Markup, escape

from logaudit.report.inline import Inline, clean

_WHOLE_FLAG = 32
"""A flag of up to so many characters is not broken over two lines."""
_TAGS = {"code": "code", "strong": "strong"}
_IN_SCRIPT = {ord(mark): f"\\u{ord(mark):04x}" for mark in "<>&\u2028\u2029"}


def text(value: object) -> Markup:
    """`value` as HTML text; hidden characters made visible."""
    return escape(clean(value))


def inline(pieces: Inline) -> Markup:
    """Running text; a line reference becomes a link to the quoted line where there is one."""
    out = []
    for span in pieces:
        body = text(span.text)
        if span.kind == "line" and span.target:
            out.append(Markup('<a class="line" href="#{}">{}</a>').format(span.target, body))
        elif span.kind == "code" and span.text.startswith("--") and len(span.text) <= _WHOLE_FLAG:
            out.append(Markup('<code class="flag">{}</code>').format(body))
        elif span.kind in _TAGS:
            tag = _TAGS[span.kind]
            out.append(Markup(f"<{tag}>{body}</{tag}>"))  # noqa: S704 - `body` is escaped
        else:
            out.append(body)
    return Markup("").join(out)


def script_data(json_text: str) -> Markup:
    """JSON for a `<script type="application/json">`: no character in it can end the element or start a comment."""
    return Markup(json_text.translate(_IN_SCRIPT))  # noqa: S704 - no markup character is left
