"""The tokens bind before the limit on running requests does."""

from __future__ import annotations

from logaudit.reconcile import measures as m
from logaudit.reconcile.case import Case, Found

CODE = "tokens_bind"
SEVERITIES = ("info",)


def find(case: Case) -> Found | None:
    """Fires when the running requests can ask for more tokens than there are."""
    actual, running, length = case.comparison.actual_tokens, m.requests(case), m.context_length(case)
    if actual is None or not running or length is None or actual > running * length or actual <= 0:
        return None
    numbers = {
        "tokens": actual,
        "running": running,
        "length": length,
        "each": actual // running,
        "full": actual // length,
    }
    return Found(CODE, "info", numbers, tuple(s.line for s in case.launch.schedulers[:1]))
