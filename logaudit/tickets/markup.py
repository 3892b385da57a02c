"""Escapes text for Jira's markup and for Textile, so that nothing from a log can format, link, mention or embed."""

from __future__ import annotations

from functools import cache

import regex
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from logaudit.report.environment import markdown_environment, template_folder
from logaudit.report.inline import Inline, clean
from logaudit.report.markdown import JOINER
from logaudit.tickets.interface import Markup as MarkupName

_JIRA = regex.compile(r"[\\{}\[\]!|@#]|(?<![A-Za-z0-9])[*_\-+^~?]|[*_\-+^~?](?![A-Za-z0-9])")
"""What can begin or end markup; a dash or underscore inside of a word cannot."""
_JIRA_START = regex.compile(r"^(?=(?:h[1-6]|bq|fn\d?)\.)")
_ISSUE_KEY = regex.compile(r"\b(?=[A-Z][A-Z0-9]{1,9}-\d)")
_LINK = regex.compile(r":(?=//)|(?<=\bwww)\.|(?<=mailto):", regex.IGNORECASE)
_TEXTILE = regex.compile(
    r"[&<>|#\[\]!\"{}=`\\]|(?<=[A-Za-z0-9])\((?=[A-Za-z])|(?<![A-Za-z0-9])[*_\-+^~?@%]|[*_\-+^~?@%](?![A-Za-z0-9])"
)
_TEXTILE_REFERENCE = regex.compile(
    r"\br(?=\d)|\b(?=(?:attachment|commit|source|export|document|version|forum|message|news|user|project):)"
)


def jira_text(value: object) -> Markup:
    """`value` as plain running text in Jira's markup, on one line."""
    plain = " ".join(clean(value).split())
    parted = _LINK.sub(lambda found: found[0] + JOINER, plain, timeout=5)
    parted = _ISSUE_KEY.sub(JOINER, parted, timeout=5)
    return Markup(_JIRA_START.sub(JOINER, _JIRA.sub(r"\\\g<0>", parted, timeout=5), timeout=5))  # noqa: S704 - escaped above


def jira_code(value: object) -> Markup:
    """`value` set in a fixed-width face."""
    return Markup("{{%s}}") % jira_text(value) if str(value).strip() else Markup("")


def jira_block(value: str) -> Markup:
    """Lines as they stand."""
    body = clean(value).replace("{noformat", "{" + JOINER + "noformat")
    return Markup("{noformat}\n") + Markup(body) + Markup("\n{noformat}")  # noqa: S704 - nothing ends it but its mark


def textile_text(value: object) -> Markup:
    """`value` as plain running text in Textile, on one line."""
    plain = " ".join(clean(value).split())
    parted = _LINK.sub(lambda found: found[0] + JOINER, plain, timeout=5)
    parted = _TEXTILE_REFERENCE.sub(lambda found: found[0] + JOINER, parted, timeout=5)
    return Markup(_TEXTILE.sub(lambda found: f"&#{ord(found[0])};", parted, timeout=5))  # noqa: S704 - escaped above


def textile_code(value: object) -> Markup:
    """`value` set in a fixed-width face."""
    return Markup("<code>%s</code>") % textile_text(value) if str(value).strip() else Markup("")


def textile_block(value: str) -> Markup:
    """Lines as they stand."""
    body = clean(value).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return Markup("<pre>\n") + Markup(body) + Markup("\n</pre>")  # noqa: S704 - escaped above


def jira_inline(pieces: Inline) -> Markup:
    """Running text in Jira's markup."""
    out = []
    for span in pieces:
        if span.kind == "code":
            out.append(str(jira_code(span.text)))
        elif span.kind == "strong":
            out.append(f"*{jira_text(span.text)}*")
        else:
            out.append(_spaced(span.text, str(jira_text(span.text))))
    return Markup("".join(out).strip())  # noqa: S704 - made of escaped pieces


def textile_inline(pieces: Inline) -> Markup:
    """Running text in Textile."""
    out = []
    for span in pieces:
        if span.kind == "code":
            out.append(str(textile_code(span.text)))
        elif span.kind == "strong":
            out.append(f"<strong>{textile_text(span.text)}</strong>")
        else:
            out.append(_spaced(span.text, str(textile_text(span.text))))
    return Markup("".join(out).strip())  # noqa: S704 - made of escaped pieces


def _spaced(text: str, escaped: str) -> str:
    """The escaped text with the spaces at its ends that its source had."""
    lead = " " if text[:1].isspace() else ""
    tail = " " if text[-1:].isspace() and text.strip() else ""
    return f"{lead}{escaped}{tail}"


@cache
def environment(markup: MarkupName) -> Environment:
    """The jinja2 environment for `comment.md.j2` in one markup."""
    if markup == "markdown":
        made = markdown_environment().overlay()
        made.filters = {**made.filters, "block": made.filters["fenced"], "small": made.filters["cell"]}
        return made
    text, inline, code, block = {
        "jira": (jira_text, jira_inline, jira_code, jira_block),
        "textile": (textile_text, textile_inline, textile_code, textile_block),
    }[markup]

    def finalize(value: object) -> object:
        """Escape what is not markup already."""
        if isinstance(value, (Markup, StrictUndefined)):
            return value
        return Markup("") if value is None else text(value)

    made = Environment(
        loader=FileSystemLoader(template_folder()),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    markdown = markdown_environment()
    made.filters |= {"inline": inline, "cell": inline, "code": code, "block": block}
    made.filters["quote_text"] = markdown.filters["quote_text"]
    made.tests["kind"] = markdown.tests["kind"]
    return made
