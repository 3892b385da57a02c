"""The cache is smaller than one request of full length."""

from __future__ import annotations

from logaudit.reconcile import measures as m
from logaudit.reconcile.case import Case, Found

CODE = "pool_below_context"
SEVERITIES = ("notice", "warning")


def find(case: Case) -> Found | None:
    """Fires when fewer tokens fit than the context length; a warning where that length was asked for."""
    actual, length = case.comparison.actual_tokens, m.context_length(case)
    if actual is None or length is None or actual <= 0 or actual >= length:
        return None
    own = m.records(case, "kv_smaller_than_context")
    lines = [r.line for r in own[:1]] or [s.line for s in case.launch.schedulers[:1]]
    asked = bool(own) or m.number(case, "context_length") is not None
    return Found(CODE, "warning" if asked else "notice", {"tokens": actual, "length": length}, tuple(lines))
