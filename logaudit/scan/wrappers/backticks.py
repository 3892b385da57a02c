"""Recognises code marks and emphasis around a line."""

from __future__ import annotations

import regex

from logaudit.scan.wrappers.interface import Hit

NAME = "inline code"
ORDER = 52
EACH = False
SURE = False
SAMPLES = (
    ("`[2026-01-02 03:04:05] Load weight begin.`", ("[2026-01-02 03:04:05] Load weight begin.",)),
    ("**[2026-01-02 03:04:05] Load weight begin.**", ("[2026-01-02 03:04:05] Load weight begin.",)),
)

_MARK = regex.compile(r"`{1,3}|\*{1,3}|__?|~~|<code>")


def match(text: str) -> Hit | None:
    """See `Hit`."""
    found = _MARK.match(text)
    if found is None:
        return None
    mark = found[0]
    close = "</code>" if mark == "<code>" else mark
    inner = text[len(mark) :]
    whole = inner.rstrip(".,; \t") if not inner.endswith(close) else inner
    if whole.endswith(close):
        return Hit((whole[: -len(close)],))
    body, closed, behind = inner.rpartition(close)
    # What stands behind the mark is a remark; without a mark the line was cut off.
    return Hit((body + behind if closed and behind[:1] in (" ", "\t") else inner,))
