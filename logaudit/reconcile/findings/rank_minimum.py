"""One rank's free memory decides for all of them."""

from __future__ import annotations

from logaudit.interval import GIB
from logaudit.reconcile import measures as m
from logaudit.reconcile.case import Case, Found

CODE = "rank_minimum"
SEVERITIES = ("info", "notice")


VISIBLE_GIB = 0.05
LARGE_GIB = 0.5
LARGE_SHARE = 0.03


def find(case: Case) -> Found | None:
    """Fires when the ranks' readings differ by more than rounding; a notice from 0.5 GiB or 3 % of the budget on."""
    sized = [r for r in m.readings(case) if r.after_load is not None]
    if len(sized) < 2 or case.fraction is None:
        return None
    values = [r.after_load.value for r in sized if r.after_load is not None]
    lowest = sized[values.index(min(values))]
    spread = max(values) - min(values)
    befores = [r.before_load.value for r in m.readings(case) if r.before_load is not None]
    before_spread = max(befores) - min(befores) if befores else 0.0
    if max(spread, before_spread) <= VISIBLE_GIB:
        return None
    room = m.budget(case)
    per = m.bytes_per_token(case)
    large = spread >= max(LARGE_GIB, LARGE_SHARE * (room.value if room is not None else 0.0))
    numbers = {
        "rank": m.rank_name(lowest),
        "lowest": min(values),
        "highest": max(values),
        "spread": spread,
        "before_spread": before_spread,
        "unused": sum(value - min(values) for value in values),
        "ranks": len(values),
        "large": large,
        "tokens": None if per is None else spread * GIB / per,
    }
    lines = [r.after_line for r in (lowest, sized[values.index(max(values))]) if r.after_line is not None]
    return Found(CODE, "notice" if large else "info", numbers, tuple(lines))
