"""--max-total-tokens holds the cache below what the budget gives."""

from __future__ import annotations

from logaudit.reconcile import measures as m
from logaudit.reconcile.case import Case, Found

CODE = "user_cap"
SEVERITIES = ("notice",)


def find(case: Case) -> Found | None:
    """Fires when the cap is the limit that binds."""
    cause = next((cause for cause in case.causes if cause.code == "user_cap"), None)
    cap = m.number(case, "max_total_tokens")
    if cause is None or cap is None or case.expectation is None or case.expectation.tokens_uncapped is None:
        return None
    uncapped = case.expectation.tokens_uncapped.value
    numbers = {
        "cap": cap,
        "uncapped": uncapped,
        "lost": max(0.0, -(cause.tokens or 0.0)),
        "gib": None if cause.gib is None else abs(cause.gib.value),
        "actual": case.comparison.actual_tokens,
    }
    return Found(CODE, "notice", numbers, cause.evidence)
