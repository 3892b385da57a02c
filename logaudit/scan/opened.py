"""Joins physical lines that broke inside a quote, a bracket or a table cell of a wrapper."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar, Protocol, TypeVar

import regex

from logaudit.scan import prefix, rejoin
from logaudit.scan.wrappers.literals import LITERAL

MAX_JOIN_LINES = 4_000
MAX_JOIN_CHARS = 2_000_000
_TOKENS = {
    '"': regex.compile(r"""[^"\\{}\[\]]++|\\.?|["{}\[\]]""", regex.DOTALL),
    "'": regex.compile(r"""[^'\\{}\[\]]++|\\.?|['{}\[\]]""", regex.DOTALL),
}
_MEMBER = regex.compile(r"""\s*"[\w./+@\-]{1,60}"\s*:\s*(?=")""")
_ROW = regex.compile(r"""[^"\[{(`|>]{1,160},(?=")""")
_STARTS = regex.compile(r"\[\d{4}-\d\d-\d\d[ T]\d\d:\d\d")


class Joinable(Protocol):
    """What is joined: a physical line."""

    __dataclass_fields__: ClassVar[dict[str, Any]]
    number: int
    text: str
    raw: str
    gap: bool
    spaced: bool
    joined: bool


P = TypeVar("P", bound=Joinable)


class _Quoted:
    """Open as long as a quote or, where they count, a bracket is."""

    def __init__(self, quote: str, brackets: bool) -> None:
        self._tokens = _TOKENS[quote]
        self._quote = quote
        self._brackets = brackets
        self._inside = False
        self._depth = 0

    def read(self, text: str) -> None:
        """Take in the next piece."""
        for found in self._tokens.finditer(text):
            sign = found[0]
            if sign == self._quote:
                self._inside = not self._inside
            elif self._brackets and not self._inside:
                if sign in "{[":
                    self._depth += 1
                elif sign in "}]":
                    self._depth -= 1

    @property
    def open(self) -> bool:
        """Whether more must follow."""
        return self._inside or self._depth > 0

    def breaks(self, text: str) -> bool:
        """Whether a piece is a whole record of its own, so that the one before was cut off for good."""
        return self._brackets and text.startswith(('{"', '["')) and text.rstrip().endswith(("}", "]"))


class _Row:
    """Open as long as the number of quotes is odd: they are doubled inside a field."""

    def __init__(self) -> None:
        self._quotes = 0

    def read(self, text: str) -> None:
        """Take in the next piece."""
        self._quotes += text.count('"')

    @property
    def open(self) -> bool:
        """Whether more must follow."""
        return self._quotes % 2 == 1

    def breaks(self, text: str) -> bool:
        """Rows of their own start with a field and a comma."""
        return _ROW.match(text) is not None


class _Marked:
    """Open until a piece ends with the mark."""

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self.open = True

    def read(self, text: str) -> None:
        """Take in the next piece."""
        self.open = not text.rstrip().endswith(self._mark)

    def breaks(self, text: str) -> bool:
        """Whether the mark opens another line."""
        return text.lstrip().startswith(self._mark) and text.strip() != self._mark


_Opener = _Quoted | _Row | _Marked


def _opener(text: str, tables: bool) -> _Opener | None:
    """What keeps this line open at its end, the line itself taken in; None when nothing does."""
    start = text.lstrip(" \t")
    first = start[:1]
    if first in ("{", "["):
        return _bracket(start, first)
    if first == '"' and (member := _MEMBER.match(start)):
        return _quote(start[member.end() :], '"')
    if first in ('"', "'"):
        return _quote(start, first)
    if first == "`":
        return _Marked("`") if start.count("`") == 1 and prefix.is_bare(start[1:]) else None
    if first == "|":
        return _Marked("|") if tables and not start.rstrip().endswith("|") else None
    row = _ROW.match(start) if ',"' in start else None
    if row and prefix.is_bare(start[row.end() + 1 :]):
        field = _Row()
        field.read(start)
        return field if field.open else None
    return None


def _bracket(start: str, first: str) -> _Quoted | None:
    second = start[1:].lstrip(" ")[:1]
    if not second or second not in "\"'{" or (second == "{" and len(start) < 12):
        return None
    quoted = _Quoted("'" if second == "'" else '"', brackets=True)
    quoted.read(start)
    return quoted if quoted.open else None


def _quote(start: str, quote: str) -> _Quoted | None:
    if LITERAL.match(start) or not prefix.is_bare(start[1:]):
        return None
    quoted = _Quoted(quote, brackets=False)
    quoted.read(start)
    return quoted if quoted.open else None


def _may_open(text: str) -> bool:
    first = text[:1]
    if first in (" ", "\t"):
        text = text.lstrip(" \t")
        first = text[:1]
    if first == "[":
        return text[1:2] in ('"', "'", "{", " ")
    return first in ("{", '"', "'", "`", "|") or ',"' in text


def opens(text: str) -> bool:
    """Whether a line breaks off inside a quote or a bracket."""
    return (
        text.lstrip(" \t")[:1] in ("{", "[", '"', "'", "`")
        and not prefix.is_bare(text)
        and _opener(text, False) is not None
    )


def join_opened(pieces: list[P], whole: bool) -> tuple[list[P], int]:
    """The pieces with broken ones joined, and how many were used; the rest waits for more unless `whole`."""
    if not any(_may_open(piece.text) for piece in pieces):
        return pieces, len(pieces)
    tables = any(piece.text.rstrip().endswith("|") and piece.text.lstrip()[:1] == "|" for piece in pieces)
    runs: list[tuple[int, int]] = []
    dump = False
    recent = ""
    index = 0
    used = len(pieces)
    while index < len(pieces):
        text = pieces[index].text
        bare = prefix.is_bare(text)
        opener = None if bare or (dump and not _STARTS.search(text[:300])) else _opener(text, tables)
        end = _end(pieces, index, opener) if opener else index
        if end is None:
            if not whole and len(pieces) - index < MAX_JOIN_LINES:
                used = index
                break
            end = index
        if end > index:
            runs.append((index, end))
            dump = False
        else:
            recent = text if bare or _STARTS.search(text[:300]) else recent + text if len(recent) < 600 else recent
            # The dump of the arguments goes on in the next lines with brackets and quotes of its own.
            dump = "server_args=" in recent and _unbalanced(recent)
        index = end + 1
    result: list[P] = []
    index = 0
    width = _width(pieces, runs)
    for start, end in runs:
        result.extend(pieces[index:start])
        result.append(_merge(pieces[start : end + 1], width))
        index = end + 1
    result.extend(pieces[index:used])
    return result, used


def _unbalanced(text: str) -> bool:
    return text.count("(") + text.count("{") > text.count(")") + text.count("}")


def _end(pieces: list[P], start: int, opener: _Opener) -> int | None:
    """Index of the piece that closes the opener; `start` when it is never closed; None when more is needed."""
    total = 0
    for index in range(start + 1, min(len(pieces), start + MAX_JOIN_LINES)):
        text = pieces[index].text
        total += len(text)
        if pieces[index].gap or opener.breaks(text) or prefix.has_prefix(text) or total > MAX_JOIN_CHARS:
            return start
        opener.read(text)
        if not opener.open:
            return index
    return None


def _width(pieces: list[P], runs: list[tuple[int, int]]) -> rejoin.Width | None:
    lengths = [len(pieces[at].text) for start, end in runs for at in range(start, end)]
    if not lengths:
        return None
    indents = [rejoin.indent_of(pieces[at].text) for start, end in runs for at in range(start + 1, end + 1)]
    indent = min(indents) if len(indents) > 1 and min(indents) > 1 else 0
    common, count = Counter(lengths).most_common(1)[0]
    if count >= 0.5 * len(lengths) and (len(lengths) > 1 or common >= 20):
        return rejoin.Width("sign", common, indent)
    return rejoin.Width("word", max(lengths), indent)


def _merge(run: list[P], width: rejoin.Width | None) -> P:
    first = run[0]
    text = first.text
    for before, piece in pairwise(run):
        text = rejoin.glue(text, len(before.text), piece.text, width)
    raw = "\n".join(piece.raw for piece in run)
    return replace(first, text=text, raw=raw, joined=True)
