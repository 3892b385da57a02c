"""The GPU ran out of memory while serving."""

from __future__ import annotations

from logaudit.reconcile.case import Case, Found
from logaudit.reconcile.failures import failure_found

CODE = "failure_oom_serving"
SEVERITIES = ("critical",)


def find(case: Case) -> Found | None:
    """Fires on an out-of-memory error after the server had come up."""
    return failure_found(case, CODE, "critical", "oom_serving")
