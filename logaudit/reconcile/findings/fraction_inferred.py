"""The fraction is nowhere in the log and was worked out from the figures."""

from __future__ import annotations

from logaudit.reconcile.case import Case, Found

CODE = "fraction_inferred"
SEVERITIES = ("notice",)


def find(case: Case) -> Found | None:
    """Fires when the fraction was inferred."""
    if case.fraction is None or case.fraction.origin != "inferred":
        return None
    value = case.fraction.interval
    return Found(CODE, "notice", {"value": value.value, "low": value.low, "high": value.high})
