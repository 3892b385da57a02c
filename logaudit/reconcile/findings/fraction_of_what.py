"""The reserve is a share of what was free before loading, not of the card nor of what is left."""

from __future__ import annotations

from logaudit.interval import Interval
from logaudit.reconcile.case import Case, Found

CODE = "fraction_of_what"
SEVERITIES = ("info",)


def find(case: Case) -> Found | None:
    """Fires wherever the fraction and both readings are known."""
    if case.fraction is None or case.inputs is None or not case.ledgers:
        return None
    befores = [r.before_load for r in case.inputs.readings if r.before_load is not None]
    afters = [r.after_load for r in case.inputs.readings if r.after_load is not None]
    if not befores or not afters:
        return None
    before, after = Interval.minimum(*befores), Interval.minimum(*afters)
    fraction = case.fraction.interval.value
    lines = [
        r.before_line for r in case.inputs.readings if r.before_load is not None and r.before_load.low == before.low
    ]
    numbers = {
        "fraction": fraction,
        "share": (1 - fraction) * 100,
        "before": before.value,
        "after": after.value,
        "reserve": before.value * (1 - fraction),
        "naive": fraction * after.value,
        "budget": _budget(case, after.value - before.value * (1 - fraction)),
    }
    return Found(CODE, "info", numbers, tuple(line for line in lines[:1] if line is not None))


def _budget(case: Case, computed: float) -> float:
    """The budget as the pool's own line rounds it, where that line confirms it; else as computed."""
    budget = None if case.expectation is None else case.expectation.kv_budget_gib
    if budget is None or case.kv_gib is None or not budget.holds(case.kv_gib.value):
        return computed
    return case.kv_gib.value if abs(case.kv_gib.value - computed) < 0.01 else computed
