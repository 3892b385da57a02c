"""Recognises bullets, numbers of list items, headings and difference marks."""

from __future__ import annotations

import regex

from logaudit.scan.wrappers.interface import Hit

NAME = "list items"
ORDER = 51
SURE = False
SAMPLES = (
    ("- [2026-01-02 03:04:05] Load weight begin.", ("[2026-01-02 03:04:05] Load weight begin.",)),
    ("12. [2026-01-02 03:04:05] Load weight begin.", ("[2026-01-02 03:04:05] Load weight begin.",)),
)

_LINE = regex.compile(r" {0,8}(?:[-*+•●◦‣–—·](?: +(?:\[[ xX]\] +)?|(?=[\[`\"|]))|\d{1,4}[.)] +|#{1,6} +)")


def match(text: str) -> Hit | None:
    """See `Hit`."""
    found = _LINE.match(text)
    return Hit((text[found.end() :],)) if found else None
