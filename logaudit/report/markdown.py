"""Escapes text for GitHub's and GitLab's Markdown, so that nothing from a log can format, link, mention or refer."""

from __future__ import annotations

import regex
from markupsafe import Markup

from logaudit.lazy import lazy_pattern
from logaudit.report.inline import Inline, clean

JOINER = "\u2060"
"""Word joiner: invisible, and parts a mark from the word that would make it a mention, a reference or a link."""

_ESCAPED = {ord(mark): f"\\{mark}" for mark in "\\`*_[]<>|~#$"}
_REFERENCE = lazy_pattern(
    r"""[@#!$%&^~](?=[\w`"'{(])  # mention, issue, merge request, snippet, milestone, epic, alert, label
    |:(?=//)                     # the scheme of a link
    |:(?=[\w+-]{0,60}[a-z_+-][\w+-]{0,60}:|100:|1234:)  # emoji
    |\bwww(?=\.)
    |\bGH(?=-\d)
    """,
    regex.IGNORECASE | regex.VERBOSE,
)
_HASH = lazy_pattern(r"\b[0-9a-f]{7,64}\b", regex.IGNORECASE)
"""What could be a commit."""
_BLOCK_START = lazy_pattern(r"^(\s*)([-+=>]|\d{1,9}(?=[.)](?:\s|$)))")
_TICKS = lazy_pattern(r"`+")


def text(value: object) -> Markup:
    """`value` as plain running text on one line."""
    plain = " ".join(clean(value).split())
    parted = _REFERENCE.sub(lambda found: found.group(0) + JOINER, plain, timeout=5)
    parted = _HASH.sub(_part_hash, parted, timeout=5)
    escaped = parted.translate(_ESCAPED)
    return Markup(_BLOCK_START.sub(_block_start, escaped, timeout=5))  # noqa: S704 - escaped for Markdown above


def _part_hash(found: regex.Match[str]) -> str:
    digits = found.group()
    return JOINER.join(digits[at : at + 6] for at in range(0, len(digits), 6))


def _block_start(found: regex.Match[str]) -> str:
    mark = found.group(2)
    return f"{found.group(1)}\\{mark}" if not mark.isdigit() else f"{found.group(1)}{mark}{JOINER}"


def code_span(value: object, *, table: bool = False) -> Markup:
    """`value` as a code span, fenced with more back-ticks than it holds; in a table its pipes are escaped."""
    plain = " ".join(clean(value).split())
    if not plain:
        return Markup("")
    fence = "`" * (_longest(plain) + 1)
    pad = " " if plain[0] == "`" or plain[-1] == "`" else ""
    body = _table_pipes(plain) if table else plain
    return Markup(f"{fence}{pad}{body}{pad}{fence}")  # noqa: S704 - nothing ends a code span but its fence


def _table_pipes(plain: str) -> str:
    """A pipe escaped for a table cell; a back-slash before it gets a joiner, so that it cannot eat the escape."""
    return plain.replace("\\|", f"\\{JOINER}|").replace("|", "\\|")


def fenced(value: str, language: str = "text") -> Markup:
    """A code block of the lines of `value`, fenced with more back-ticks than it holds."""
    plain = clean(value)
    fence = "`" * max(3, _longest(plain) + 1)
    return Markup(f"{fence}{language}\n{plain}\n{fence}")  # noqa: S704 - nothing ends a block but its fence


def _longest(plain: str) -> int:
    return max((len(found) for found in _TICKS.findall(plain, timeout=5)), default=0)


def inline(pieces: Inline, *, table: bool = False) -> Markup:
    """Running text for a paragraph, or for a table cell."""
    out = []
    for span in pieces:
        if span.kind == "code":
            out.append(str(code_span(span.text, table=table)))
        elif span.kind == "strong":
            out.append(f"**{text(span.text)}**")
        else:
            out.append(_spaced(span.text))
    joined = "".join(out)
    return Markup(joined.strip())  # noqa: S704 - made of escaped pieces


def _spaced(plain: str) -> str:
    """Escaped text that keeps one space at either end, where it touches the next piece."""
    lead = " " if plain[:1].isspace() else ""
    tail = " " if plain[-1:].isspace() and plain.strip() else ""
    return f"{lead}{text(plain)}{tail}"
