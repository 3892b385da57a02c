"""The GPU ran out of memory while the weights were loaded."""

from __future__ import annotations

from logaudit.reconcile.case import Case, Found
from logaudit.reconcile.failures import failure_found

CODE = "failure_oom_load"
SEVERITIES = ("critical",)


def find(case: Case) -> Found | None:
    """Fires on an out-of-memory error before the weights were loaded."""
    return failure_found(case, CODE, "critical", "oom_load")
