"""Recognises the actor, process and address that Ray puts before a line."""

from __future__ import annotations

import regex

from logaudit.scan.wrappers.interface import Hit

NAME = "Ray"
ORDER = 15
SURE = True
SAMPLES = (
    (
        "(Worker pid=123, ip=10.0.0.1) [2026-01-02 03:04:05] Load weight begin.",
        ("[2026-01-02 03:04:05] Load weight begin.",),
    ),
    (
        "(RayWorkerWrapper pid=99) [2026-01-02 03:04:05 TP1] Load weight begin. [repeated 3x across cluster]",
        ("[2026-01-02 03:04:05 TP1] Load weight begin.",),
    ),
)

_LINE = regex.compile(
    r"\((?P<name>[\w.:<>+\-]{1,120}(?:\([^()]{0,80}\))?)(?:[ ,][\w.:=, \-]{0,80}?)?[ ,]?"
    r"pid=(?P<pid>\d{1,10})(?:,? ip=(?P<ip>[\w.:\-]{1,64}))?[^()\n]{0,60}\) ?"
)
_REPEATED = regex.compile(r"\s*\[repeated \d+x across [^\]]{0,120}\].*$")


def match(text: str) -> Hit | None:
    """See `Hit`."""
    found = _LINE.match(text) if text[:1] == "(" else None
    if found is None:
        return None
    rest = text[found.end() :]
    if "[repeated " in rest:
        rest = _REPEATED.sub("", rest)
    return Hit((rest,), stream=found["ip"] or "", host=found["ip"] or "")
