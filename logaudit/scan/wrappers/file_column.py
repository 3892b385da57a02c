"""Recognises a file or host name that grep, tail or a parallel shell put before the line."""

from __future__ import annotations

import regex

from logaudit.scan.wrappers.interface import Hit

NAME = "file names"
ORDER = 37
SURE = False
SAMPLES = (
    ("server.log:12:[2026-01-02 03:04:05] Load weight begin.", ("[2026-01-02 03:04:05] Load weight begin.",)),
    ("logs/server.log:[2026-01-02 03:04:05] Load weight begin.", ("[2026-01-02 03:04:05] Load weight begin.",)),
    ("server.log | [2026-01-02 03:04:05] Load weight begin.", ("[2026-01-02 03:04:05] Load weight begin.",)),
)

_HEADER = regex.compile(r"==> .{1,300} <==$|-{5,} .{1,300} -{5,}$")
_LINE = regex.compile(
    r"(?P<name>(?!\d{4}-\d\d-\d\d[T ]\d\d:)(?=[\w/.~\\])(?:[A-Za-z]:)?[\w./\\~@\-]{1,300}?)"
    r"(?P<mark>(?::(?:\d{1,8}:)?(?:\d{1,8}:)?"
    r"|-\d{1,8}-)[ ]?|[ \t]*[|│>][ ]?|\t+)"
)


def match(text: str) -> Hit | None:
    """See `Hit`."""
    if text.startswith(("==> ", "-----")) and _HEADER.match(text):
        return Hit(())
    found = _LINE.match(text)
    if found is None:
        return None
    return Hit((text[found.end() :],), shape=found["name"] + "\0" + (" " if found["mark"].endswith(" ") else ""))


_MARK = regex.compile(r":(?:\d{1,8}:)?(?:\d{1,8}:)?|-\d{1,8}-|[ \t]*[|│>]|\t+|$")


def follow(text: str, shape: str) -> Hit | None:
    """As `match`, for the same name only."""
    if text.startswith(("==> ", "-----")) and _HEADER.match(text):
        return Hit(())
    name, _, gap = shape.partition("\0")
    if not text.startswith(name):
        return None
    found = _MARK.match(text, len(name))
    if found is None:
        return None
    rest = text[found.end() :]
    return Hit((rest[1:] if gap and rest[:1] in " \t" else rest,), shape=shape)
