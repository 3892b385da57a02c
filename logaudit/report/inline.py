"""Running text in pieces, so that every face of the report can escape what came from a log in its own way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import regex

_ANSI = regex.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~]?)|\x9b[0-?]*[ -/]*[@-~]")
_FLAG = regex.compile(r"(?<![^\s(\"'])--[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_SPACE = dict.fromkeys(map(ord, "\t\v\f\r\x85\u2028\u2029"), " ")
_HIDDEN = dict.fromkeys(
    [
        *(c for c in range(0x20) if c != 0x0A),
        *range(0x7F, 0xA0),
        0xAD,
        0x061C,
        *range(0x200B, 0x2010),
        *range(0x202A, 0x202F),
        *range(0x2060, 0x2070),
        0xFEFF,
        *range(0xFFF9, 0xFFFC),
        *range(0xD800, 0xE000),
        *range(0xE0000, 0xE0080),
    ],
    "\ufffd",
)
_TABLE = {**_HIDDEN, **_SPACE}

LONGEST = 1200
"""Characters of one piece that are shown: a report is read, and a log can hold a line of megabytes."""

Kind = Literal["text", "code", "strong", "line"]


@dataclass(frozen=True, slots=True)
class Span:
    """One piece of running text."""

    kind: Kind
    text: str
    target: str = ""
    """For a line reference: the id of the quoted line in the same report; empty when it is not quoted."""


Inline = tuple[Span, ...]


def clean(text: object) -> str:
    """`text` without terminal sequences; other control, zero-width and direction characters become U+FFFD.

    Newlines stay.
    """
    plain = str(text)
    if plain.isascii() and plain.isprintable():
        return plain
    plain = _ANSI.sub("", plain, timeout=5) if "\x1b" in plain or "\x9b" in plain else plain
    return plain.translate(_TABLE)


def one_line(text: object) -> str:
    """`clean` text with every run of white space as one space, cut to `LONGEST` characters."""
    return clip(" ".join(clean(str(text)[: 4 * LONGEST]).split()), LONGEST)


def clip(text: str, limit: int) -> str:
    """`text` cut to `limit` characters, the cut marked."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def words(text: object) -> Inline:
    """Plain text as one piece; a space at either end stays. Nothing for None."""
    if text is None:
        return ()
    cleaned = clean(str(text)[: 4 * LONGEST])
    body = one_line(cleaned)
    if not body:
        return ()
    lead, tail = (" " if end.isspace() else "" for end in (cleaned[0], cleaned[-1]))
    return (Span("text", f"{lead}{body}{tail}"),)


def code(text: object) -> Inline:
    """A value, a flag or a name, to be set in a fixed-width face."""
    plain = one_line(text)
    return (Span("code", plain),) if plain else ()


def strong(text: object) -> Inline:
    """Plain text that stands out."""
    plain = one_line(text)
    return (Span("strong", plain),) if plain else ()


def prose(text: object) -> Inline:
    """A sentence in which `back-ticks` and flags (`--tp`) are code and **stars** mark weight; the rest is plain."""
    spans: list[Span] = []
    pieces = one_line(text).split("`")
    for position, piece in enumerate(pieces):
        if position % 2 and position < len(pieces) - 1:
            spans.append(Span("code", piece))
            continue
        lead = "`" if position % 2 else ""
        parts = (lead + piece).split("**")
        for place, part in enumerate(parts):
            inside = place % 2 == 1 and place < len(parts) - 1
            lost = "**" if place % 2 == 1 and not inside else ""
            if inside:
                spans.append(Span("strong", part))
            else:
                spans.extend(_flags(lost + part))
    return tuple(span for span in spans if span.text)


def _flags(plain: str) -> list[Span]:
    """Plain text with the flags in it as code."""
    spans: list[Span] = []
    end = 0
    for found in _FLAG.finditer(plain, timeout=5):
        spans.extend((Span("text", plain[end : found.start()]), Span("code", found.group())))
        end = found.end()
    return [*spans, Span("text", plain[end:])]


def paragraphs(text: str) -> list[tuple[str, Inline]]:
    """Prose of several paragraphs as (`p` | `li`, pieces): a line that starts with `- ` or `* ` is a list entry."""
    out: list[tuple[str, list[str]]] = []
    for raw in clean(text).split("\n"):
        stripped = raw.strip()
        if not stripped:
            out.append(("", []))
        elif stripped[:2] in ("- ", "* "):
            out.append(("li", [stripped[2:]]))
        elif out and out[-1][0]:
            out[-1][1].append(stripped)
        else:
            out.append(("p", [stripped]))
    return [(kind, prose(" ".join(lines))) for kind, lines in out if kind]


def join(parts: Iterable[Inline], separator: str = ", ") -> Inline:
    """Pieces put behind one another with plain text between them; empty ones are left out."""
    out: list[Span] = []
    for part in parts:
        if part and out:
            out.append(Span("text", separator))
        out.extend(part)
    return tuple(out)


def plain(inline: Inline) -> str:
    """The text of the pieces, without any marking."""
    return "".join(span.text for span in inline)
