"""Recognises the head of Kubernetes and glog lines."""

from __future__ import annotations

import regex

from logaudit.scan.wrappers.interface import Hit

NAME = "klog"
ORDER = 38
SURE = False
SAMPLES = (
    (
        "I0102 03:04:05.678901       1 server.go:12] [2026-01-02 03:04:05] Load weight begin.",
        ("[2026-01-02 03:04:05] Load weight begin.",),
    ),
)

_LINE = regex.compile(r"[IWEFD]\d{4} \d\d:\d\d:\d\d\.\d{1,9}\s+(?:\d{1,10} )?[\w./\-]{1,120}:\d{1,6}\] ?")


def match(text: str) -> Hit | None:
    """See `Hit`."""
    found = _LINE.match(text) if text[1:5].isdigit() else None
    return Hit((text[found.end() :],)) if found else None
