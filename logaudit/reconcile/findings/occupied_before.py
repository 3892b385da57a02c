"""Much less was free before loading than the card has."""

from __future__ import annotations

from logaudit.reconcile import measures as m
from logaudit.reconcile.case import Case, Found

CODE = "occupied_before"
SEVERITIES = ("warning",)


SHARE = 0.9
FELL_GIB = 1.0
FELL_SHARE = 0.03


def find(case: Case) -> Found | None:
    """Fires against the card's known size, else against the last good start in the same log."""
    start = m.before(case)
    if start is None or case.inputs is None or case.inputs.device == "cpu":
        return None
    reading = min(
        (r for r in m.readings(case) if r.before_load is not None),
        key=lambda r: r.before_load.value if r.before_load else 0,
    )
    lines = () if reading.before_line is None else (reading.before_line,)
    card = m.card_gib(case)
    numbers = {"rank": m.rank_name(reading), "before": start.value, "card": card, "earlier": None}
    if card is not None:
        if start.value >= SHARE * card:
            return None
        return Found(CODE, "warning", {**numbers, "missing": card - start.value}, lines)
    earlier = None if case.previous is None else m.before(case.previous)
    if earlier is None or earlier.value - start.value < max(FELL_GIB, FELL_SHARE * earlier.value):
        return None
    missing = earlier.value - start.value
    return Found(CODE, "warning", {**numbers, "earlier": earlier.value, "missing": missing}, lines)
