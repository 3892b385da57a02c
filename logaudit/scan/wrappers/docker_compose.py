"""Recognises the service name and bar that docker compose, process managers and stacks put before a line."""

from __future__ import annotations

import regex

from logaudit.scan.wrappers.interface import Hit

NAME = "docker compose"
ORDER = 30
SURE = False
SAMPLES = (
    ("sglang-1  | [2026-01-02 03:04:05] Load weight begin.", ("[2026-01-02 03:04:05] Load weight begin.",)),
    ("0|sglang  | [2026-01-02 03:04:05] Load weight begin.", ("[2026-01-02 03:04:05] Load weight begin.",)),
)

_LINE = regex.compile(
    r"(?:\d{1,2}:\d\d:\d\d )?(?:(?P<index>\d{1,4})\|)?(?!\d+:|\S*:\d+:)"
    r"(?P<name>[A-Za-z0-9][\w.@/:\-]{0,120}?)(?: \((?:out|err"
    r"|stdout|stderr)\))?[ \t]*[|│](?: |\t|$)"
)


def match(text: str) -> Hit | None:
    """See `Hit`."""
    found = _LINE.match(text) if text[:1].isalnum() else None
    if found is None or found["name"].isdigit():
        return None
    return Hit((text[found.end() :],), stream=found["name"])
