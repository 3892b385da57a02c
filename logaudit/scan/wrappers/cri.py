"""Recognises lines as a container runtime writes them to disk."""

from __future__ import annotations

import regex

from logaudit.scan.prefix import parse_stamp
from logaudit.scan.wrappers.interface import STAMP, Hit

NAME = "CRI container log"
ORDER = 10
SURE = True
SAMPLES = (
    (
        "2026-01-02T03:04:05.678901234Z stderr F [2026-01-02 03:04:05] Load weight begin.",
        ("[2026-01-02 03:04:05] Load weight begin.",),
    ),
    ("2026-01-02T03:04:05.6+01:00 stdout F Load weight begin.", ("Load weight begin.",)),
)

_LINE = regex.compile(
    rf"(?P<time>{STAMP}) (?P<pipe>stdout|stderr) (?P<tag>[FP])(?::\S*)?(?: (?P<text>.*))?$", regex.DOTALL
)


def match(text: str) -> Hit | None:
    """See `Hit`."""
    found = _LINE.match(text) if text[:1].isdigit() else None
    if found is None:
        return None
    return Hit((found["text"] or "",), parse_stamp(found["time"]), partial=found["tag"] == "P")
