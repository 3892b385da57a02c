"""The start failed for another reason than memory."""

from __future__ import annotations

from logaudit.reconcile.case import Case, Found
from logaudit.reconcile.failures import failure_found

CODE = "failure_not_memory"
SEVERITIES = ("critical",)


def find(case: Case) -> Found | None:
    """Fires when the failure is a port, an import, a broken collective or the container's shared memory."""
    return failure_found(case, CODE, "critical", "not_memory")
