"""The limit on running requests binds before the tokens do."""

from __future__ import annotations

from logaudit.reconcile import measures as m
from logaudit.reconcile.case import Case, Found

CODE = "requests_bind"
SEVERITIES = ("info",)


def find(case: Case) -> Found | None:
    """Fires when the running requests cannot fill the cache even at full length."""
    actual, running, length = case.comparison.actual_tokens, m.requests(case), m.context_length(case)
    if actual is None or not running or length is None or actual <= running * length:
        return None
    numbers = {"tokens": actual, "running": running, "length": length, "unused": actual - running * length}
    return Found(CODE, "info", numbers, tuple(s.line for s in case.launch.schedulers[:1]))
