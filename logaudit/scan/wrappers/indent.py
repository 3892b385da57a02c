"""Recognises a constant indent."""

from __future__ import annotations

import regex

from logaudit.scan.wrappers.interface import Hit

NAME = "indent"
ORDER = 60
EACH = False
SURE = False
SAMPLES = (("    [2026-01-02 03:04:05] Load weight begin.", ("[2026-01-02 03:04:05] Load weight begin.",)),)

_LINE = regex.compile(r"[ \t\u3000]+")


def match(text: str) -> Hit | None:
    """See `Hit`."""
    found = _LINE.match(text) if text[:1] in (" ", "\t", "\u3000") else None
    return Hit((text[found.end() :],), shape=found[0]) if found else None


def follow(text: str, shape: str) -> Hit | None:
    """Takes off the indent of the line beside it and no more."""
    if text.startswith(shape):
        return Hit((text[len(shape) :],), shape=shape)
    return None
