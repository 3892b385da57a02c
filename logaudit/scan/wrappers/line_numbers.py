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
    r"(?P<pad>[ \t]*)(?:[Ll](?:ine )?)?(?P<number>\d{1,8})(?P<gap>[ \t]*[|│→▏][ ]?|[ \t]*:[ \t]?|\t| {1,6}|[)\]] |\. )"
)


def match(text: str) -> Hit | None:
    """See `Hit`."""
    found = _LINE.match(text)
    return (
        Hit((text[found.end() :],), shape=found["gap"].strip(" ") + ("+" if found["gap"].endswith(" ") else ""))
        if found
        else None
    )


_KEEP = regex.compile(r"[ \t]*(?:[Ll](?:ine )?)?\d{1,8}[ \t]*(?:[|│→▏:)\].]|\t|$)?")


def follow(text: str, shape: str) -> Hit | None:
    """As `match`, with the separator of the line beside it, so that an indent inside stays."""
    found = _KEEP.match(text)
    if found is None:
        return None
    rest = text[found.end() :]
    if shape.endswith("+") and rest.startswith(" "):
        rest = rest[1:]
    mark = shape.rstrip("+").strip()
    if mark and mark not in found[0] and rest.strip():
        return None
    return Hit((rest,), shape=shape)
