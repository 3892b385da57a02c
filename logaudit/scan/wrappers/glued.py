"""Recognises several log lines on one line: progress bars redrawn with carriage returns, and lines glued end to end."""

from __future__ import annotations

from itertools import pairwise

import regex

from logaudit.scan import prefix

NAME = "glued lines"
SAMPLES = (
    ("a bar: 50%|## | 1/2\ra bar: 100%|####| 2/2", ("a bar: 50%|## | 1/2", "a bar: 100%|####| 2/2")),
    (
        "bar: 50%|## | 1/2 [00:01<00:01, 1.00s/it][2026-01-02 03:04:05 TP0] Load weight begin.",
        ("bar: 50%|## | 1/2 [00:01<00:01, 1.00s/it]", "[2026-01-02 03:04:05 TP0] Load weight begin."),
    ),
    (
        "[2026-01-02 03:04:05 TP0] Memory pool end. avail mem=9.76 GB[2026-01-02 03:04:05 TP1] Memory pool end.",
        ("[2026-01-02 03:04:05 TP0] Memory pool end. avail mem=9.76 GB", "[2026-01-02 03:04:05 TP1] Memory pool end."),
    ),
)

_INNER = regex.compile(
    r"(?<![\"'`({\\])\[(?:\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,6})?(?: [\w.\[\]]{1,40}){0,8}\]"
    r"|\d\d:\d\d:\d\d(?: (?:DP|TP)\d+)+\]|gpu_id=\d{1,4}\]) "
)
_BAR_END = regex.compile(r"(?<=(?:it/s|s/it)\])(?= ?\S)")


def may_hold(text: str) -> bool:
    """A quick look: whether `split` could find anything in a line without carriage returns."""
    return (
        text.find("[20", 1) >= 0
        or "it/s]" in text
        or "s/it]" in text
        or text.find("[gpu_id=", 1) >= 0
        or (text[3:4] == ":" and "TP" in text and text.find("[", 1) > 0)
    )


def split(text: str) -> list[str]:
    """The lines that stand in one line, in order; a line alone comes back alone."""
    if "\r" in text:
        parts = [part for part in text.split("\r") if part.strip()]
        if len(parts) > 1:
            return [line for part in parts for line in split(part)]
        text = parts[0] if parts else ""
    if not may_hold(text):
        return [text]
    cuts: list[int] = []
    start = 0
    while True:
        head = prefix.BRACKET.match(text, start)
        found = _INNER.search(text, head.end() if head else start + 1)
        if found is None:
            break
        at = found.start()
        # Two clocks in a row are one prefix, not two lines.
        if prefix.parse(text[start:at].rstrip()).text.strip():
            cuts.append(at)
        start = at
    bar = _BAR_END.search(text)
    if bar and bar.end() not in cuts and prefix.is_bare(text[bar.end() :].lstrip()):
        cuts.append(bar.end())
    if not cuts:
        return [text]
    cuts = sorted({0, *cuts, len(text)})
    return [part for a, b in pairwise(cuts) if (part := text[a:b].rstrip() if b < len(text) else text[a:b]).strip()]
