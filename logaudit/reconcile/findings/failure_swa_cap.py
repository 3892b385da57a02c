"""The start failed because the window pool for the running requests leaves no room for the full pool."""

from __future__ import annotations

from logaudit.reconcile.case import Case, Found
from logaudit.reconcile.failures import failure_found

CODE = "failure_swa_cap"
SEVERITIES = ("critical",)


def find(case: Case) -> Found | None:
    """Fires when the window pool's cap is larger than the budget."""
    return failure_found(case, CODE, "critical", "swa_cap_too_large")
