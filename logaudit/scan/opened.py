"""Joins physical lines that broke inside a quote, a bracket or a table cell of a wrapper."""

from __future__ import annotations

from collections import Counter
from typing import Protocol, TypeVar

import regex

from logaudit.scan import prefix, rejoin
from logaudit.scan.wrappers.literals import LITERAL

MAX_JOIN = 4_000
_TOKEN = regex.compile(r"""[^"\\{}\[\]]++|\\.?|["{}\[\]]""", regex.DOTALL)
_TOKEN_SINGLE = regex.compile(r"""[^'\\{}\[\]]++|\\.?|['{}\[\]]""", regex.DOTALL)


class Joinable(Protocol):
    """What is joined: a physical line."""

    number: int
    text: str
    raw: str
    gap: bool
    spaced: bool
    joined: bool


P = TypeVar("P", bound=Joinable)


class _State:
    """Where a text stands: inside a quote, and how many brackets deep."""

    def __init__(self, quote: str) -> None:
        self.quote = quote
        self.inside = False
        self.depth = 0

    def read(self, text: str) -> None:
        for found in (_TOKEN if self.quote == '"' else _TOKEN_SINGLE).finditer(text):
            sign = found[0]
            if sign == self.quote:
                self.inside = not self.inside
            elif not self.inside:
                if sign in "{[":
                    self.depth += 1
                elif sign in "}]":
                    self.depth -= 1

    @property
    def open(self) -> bool:
        return self.inside or self.depth > 0


def _opener(text: str, tables: bool) -> str:
    """Which sign keeps this line open at its end; empty when none."""
    start = text.lstrip(" \t")
    first = start[:1]
    if first in "{[":
        if not first:
            return ""
        second = start[1:].lstrip(" ")[:1]
        if (
            second not in "\"'{"
            or not second
            or start.rstrip().endswith(("}", "},", "]") if first == "[" else ("}", "},"))
        ):
            return ""
        if first == "[" and second == "{" and len(start) < 12:
            return ""
        state = _State("'" if second == "'" else '"')
        state.read(start)
        return ("'" if second == "'" else '"') + first if state.open else ""
    if first in "\"'":
        if LITERAL.match(start) or not prefix.is_bare(start[1:]):
            return ""
        return first
    if first == "`":
        return "`" if start.count("`") == 1 and prefix.is_bare(start[1:]) else ""
    if first == "|":
        return "|" if tables and not start.rstrip().endswith("|") else ""
    return ""


def _closed(opener: str, state: _State, text: str, joined: str) -> bool:
    if opener in ("`", "|"):
        return text.rstrip().endswith(opener)
    if len(opener) == 2:
        return not state.open
    return LITERAL.match(joined.lstrip()) is not None


def join_opened(pieces: list[P], whole: bool) -> tuple[list[P], int]:
    """The pieces with broken ones joined, and how many were used; the rest waits for more unless `whole`."""
    if not any(piece.text.lstrip(" \t")[:1] in ("{", "[", '"', "'", "`", "|") for piece in pieces):
        return pieces, len(pieces)
    tables = sum(piece.text.rstrip().endswith("|") and piece.text.lstrip()[:1] == "|" for piece in pieces) >= 1
    runs: list[tuple[int, int]] = []
    dump = False
    index = 0
    used = len(pieces)
    while index < len(pieces):
        text = pieces[index].text
        starts = prefix.is_bare(text)
        dump = _leaves_open(text) if starts else dump
        opener = "" if starts or dump else _opener(text, tables)
        end = _end(pieces, index, opener) if opener else index
        if end is None:
            if not whole and len(pieces) - index < MAX_JOIN:
                used = index
                break
            end = index
        if end > index:
            runs.append((index, end))
        index = end + 1
    width = _width([len(pieces[at].text) for start, end in runs for at in range(start, end)])
    indents = [rejoin.indent_of(pieces[at].text) for start, end in runs for at in range(start + 1, end + 1)]
    if width is not None and width.kind == "sign" and len(indents) > 1 and min(indents) > 1:
        width = rejoin.Width("sign", width.width, min(indents))
    result: list[P] = []
    index = 0
    for start, end in runs:
        result.extend(pieces[index:start])
        result.append(_merge(pieces[start : end + 1], width))
        index = end + 1
    result.extend(pieces[index:used])
    return result, used


def _leaves_open(text: str) -> bool:
    """Whether the dump of the arguments starts here and goes on in the next line, with brackets of its own."""
    return "server_args=" in text and text.count("(") + text.count("{") > text.count(")") + text.count("}")


def _end(pieces: list[P], start: int, opener: str) -> int | None:
    """Index of the piece that closes the opener; `start` when it is never closed; None when more is needed."""
    text = pieces[start].text.lstrip()
    state = _State(opener[0] if opener[0] in "\"'" else '"')
    if len(opener) == 2:
        state.read(text)
    total = len(text)
    parts = [text]
    for index in range(start + 1, min(len(pieces), start + MAX_JOIN)):
        piece = pieces[index]
        further = piece.text
        if piece.gap:
            return start
        if opener in ("`", "|") and further.lstrip().startswith(opener):
            return start
        if len(opener) == 2 and further.startswith(('{"', '["')) and further.rstrip().endswith("}"):
            return start
        if prefix.has_prefix(further):
            return start
        parts.append(further)
        total += len(further)
        if total > 2_000_000:
            return start
        if len(opener) == 2:
            state.read(further.lstrip() if not state.inside else further)
        if _closed(opener, state, further, "".join(parts) if len(opener) == 1 and opener not in ("`", "|") else ""):
            return index
    return None


def _width(lengths: list[int]) -> rejoin.Width | None:
    if not lengths:
        return None
    common, count = Counter(lengths).most_common(1)[0]
    if count >= 0.5 * len(lengths) and (len(lengths) > 1 or common >= 20):
        return rejoin.Width("sign", max(common, 1), 0)
    return rejoin.Width("word", max(lengths), 0)


def _merge(run: list[P], width: rejoin.Width | None) -> P:
    first = run[0]
    text = first.text
    for before, piece in zip(run, run[1:], strict=False):
        text = rejoin.glue(text, len(before.text), piece.text, width)
    merged: P = type(first)(first.number, text, "\n".join(p.raw for p in run), first.gap, first.spaced)  # type: ignore[call-arg]
    merged.joined = True
    return merged
