"""Recognises a line number that an editor, grep, cat or a web page put before the line."""

from __future__ import annotations

import regex

from logaudit.scan.wrappers.interface import Hit

NAME = "line numbers"
ORDER = 36
SURE = False
SAMPLES = (
    ("392| [2026-01-02 03:04:05] Load weight begin.", ("[2026-01-02 03:04:05] Load weight begin.",)),
    ("12:[2026-01-02 03:04:05] Load weight begin.", ("[2026-01-02 03:04:05] Load weight begin.",)),
    ("    12\t[2026-01-02 03:04:05] Load weight begin.", ("[2026-01-02 03:04:05] Load weight begin.",)),
    ("12→Load weight begin.", ("Load weight begin.",)),
)

_LINE = regex.compile(
    r"(?P<pad>[ \t]*(?:[Ll](?:ine )?)?)(?P<number>\d{1,8})"
    r"(?P<gap>\t(?=[|│┃║])|[ \t]*[|│→▏] ?|[ \t]*:[ \t]?|\t| {1,6}|[)\]] |\. )"
)


def match(text: str) -> Hit | None:
    """See `Hit`."""
    found = _LINE.match(text)
    if found is None:
        return None
    gap = found["gap"]
    return Hit((text[found.end() :],), shape=f"{0 if gap.strip(' ') else found.end()}\0{gap}")


def follow(text: str, shape: str) -> Hit | None:
    """As `match`, with the separator of the line beside it: a figure at the start of a line is no line number."""
    found = _LINE.match(text) or _LINE.match(f"{text} ")
    if found is None:
        return None
    width, _, gap = shape.partition("\0")
    number = found.end("number")
    if not text.startswith(gap, number):
        return Hit((), shape=shape) if text[number:].strip() == gap.strip() else None
    end = number + len(gap)
    if width != "0" and end != int(width):
        return None
    return Hit((text[end:],), shape=shape)
