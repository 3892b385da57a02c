"""Recognises the marks of quoted text in mails and Markdown."""

from __future__ import annotations

import regex

from logaudit.scan.wrappers.interface import Hit

NAME = "quoting"
ORDER = 50
SURE = False
SAMPLES = (
    ("> [2026-01-02 03:04:05] Load weight begin.", ("[2026-01-02 03:04:05] Load weight begin.",)),
    (">[2026-01-02 03:04:05] Load weight begin.", ("[2026-01-02 03:04:05] Load weight begin.",)),
)

_LINE = regex.compile(r" {0,3}(?:>|&gt;|│|┃|▏|▎)(?P<gap>[ \t]?)")


def match(text: str) -> Hit | None:
    """See `Hit`."""
    found = _LINE.match(text)
    return Hit((text[found.end() :],), shape=found["gap"]) if found else None


def follow(text: str, shape: str) -> Hit | None:
    """As `match`; a blank belongs to the mark only where it does in the line beside it."""
    found = _LINE.match(text)
    return Hit((text[found.end() - (0 if shape else len(found["gap"])) :],), shape=shape) if found else None
