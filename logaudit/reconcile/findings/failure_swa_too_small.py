"""The start failed because the sliding-window pool does not hold one request's window."""

from __future__ import annotations

from logaudit.reconcile.case import Case, Found
from logaudit.reconcile.failures import failure_found

CODE = "failure_swa_too_small"
SEVERITIES = ("critical",)


def find(case: Case) -> Found | None:
    """Fires when SGLang says that the window pool cannot hold one request."""
    return failure_found(case, CODE, "critical", "swa_too_small")
