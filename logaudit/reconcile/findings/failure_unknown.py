"""The log does not say whether memory was the reason of the failure."""

from __future__ import annotations

from logaudit.reconcile.case import Case, Found
from logaudit.reconcile.failures import failure_found

CODE = "failure_unknown"
SEVERITIES = ("warning",)


def find(case: Case) -> Found | None:
    """Fires when a start ended and no line names a reason that is known."""
    return failure_found(case, CODE, "warning", "unknown")
