"""Recognises the frame that a terminal multiplexer or a table of boxes draws around lines."""

from __future__ import annotations

from logaudit.scan.wrappers.interface import Hit

NAME = "screen borders"
ORDER = 45
SURE = False
SAMPLES = (("│ [2026-01-02 03:04:05] Load weight begin.    │", ("[2026-01-02 03:04:05] Load weight begin.",)),)

_SIDES = "│┃║▌▐█"


def match(text: str) -> Hit | None:
    """See `Hit`."""
    start = text.lstrip(" ")
    if not start or start[0] not in _SIDES:
        return None
    inner = start[1:].rstrip()
    if inner and inner[-1] in _SIDES:
        inner = inner[:-1].rstrip()
    return Hit((inner[1:] if inner.startswith(" ") else inner,))
