"""The GPU ran out of memory while graphs were captured."""

from __future__ import annotations

from logaudit.reconcile.case import Case, Found
from logaudit.reconcile.failures import failure_found

CODE = "failure_oom_capture"
SEVERITIES = ("critical",)


def find(case: Case) -> Found | None:
    """Fires on an out-of-memory error during graph capture."""
    return failure_found(case, CODE, "critical", "oom_capture")
