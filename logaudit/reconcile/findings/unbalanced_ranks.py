"""A GPU had much less free memory than the others before anything was loaded."""

from __future__ import annotations

from logaudit.reconcile import measures as m
from logaudit.reconcile.case import Case, Found

CODE = "unbalanced_ranks"
SEVERITIES = ("warning",)


SHARE = 0.9
"""SGLang's own check ends a start when the lowest rank has less than this share of another."""


def find(case: Case) -> Found | None:
    """Fires when a start went on although the lowest reading before loading is under 0.9 of the highest."""
    if case.launch.failure is not None and case.launch.failure.kind == "unbalanced":
        return None
    read = [(r.before_load.value, r) for r in m.readings(case) if r.before_load is not None]
    if len(read) < 2:
        return None
    low, lowest = min(read, key=lambda pair: pair[0])
    high, highest = max(read, key=lambda pair: pair[0])
    if high <= 0 or low >= SHARE * high:
        return None
    numbers = {"rank": m.rank_name(lowest), "low": low, "high": high, "share": low / high * 100}
    lines = [r.before_line for r in (lowest, highest) if r.before_line is not None]
    return Found(CODE, "warning", numbers, tuple(lines))
