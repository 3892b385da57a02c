"""Recognises the frame that a terminal multiplexer or a table of boxes draws around lines."""

from __future__ import annotations

import regex

from logaudit.scan.wrappers.interface import TIMEOUT_S, Hit

NAME = "screen borders"
ORDER = 45
SURE = False
SAMPLES = (("│ [2026-01-02 03:04:05] Load weight begin.    │", ("[2026-01-02 03:04:05] Load weight begin.",)),)

_LINE = regex.compile(r"[ ]?(?P<left>[│┃║▌▐█|])(?P<gap> ?)(?P<text>.*?)(?P<right>[ ]*[│┃║▌▐|]?)[ ]*$", regex.DOTALL)


def match(text: str) -> Hit | None:
    """See `Hit`."""
    start = text.lstrip()[:1]
    if start not in ("│", "┃", "║", "▌", "▐"):
        return None
    found = _LINE.match(text, timeout=TIMEOUT_S)
    return Hit((found["text"],)) if found else None
