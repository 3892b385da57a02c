"""Recognises code marks and emphasis around a line."""

from __future__ import annotations

import regex

from logaudit.scan.wrappers.interface import TIMEOUT_S, Hit

NAME = "inline code"
ORDER = 52
EACH = False
SURE = False
SAMPLES = (
    ("`[2026-01-02 03:04:05] Load weight begin.`", ("[2026-01-02 03:04:05] Load weight begin.",)),
    ("**[2026-01-02 03:04:05] Load weight begin.**", ("[2026-01-02 03:04:05] Load weight begin.",)),
)

_LINE = regex.compile(
    r"(?P<mark>`{1,3}|\*{1,3}|__?|~~|<code>)(?P<text>.+?)(?P<end>(?:`{1,3}|\*{1,3}|__?|~~|</code>)(?P<after>[ \t]*[.,;]?(?:[ \t]+.{0,200})?)|)$",
    regex.DOTALL,
)


def match(text: str) -> Hit | None:
    """See `Hit`."""
    found = _LINE.match(text, timeout=TIMEOUT_S) if text[:1] in ("`", "*", "_", "~", "<") else None
    return Hit((found["text"] + found["after"].rstrip(".,; ") if found["after"] else found["text"],)) if found else None
