"""The start failed because the int8 checkpoint pool does not fit in what the fraction leaves free."""

from __future__ import annotations

from logaudit.reconcile.case import Case, Found
from logaudit.reconcile.failures import failure_found

CODE = "failure_checkpoint_pool"
SEVERITIES = ("critical",)


def find(case: Case) -> Found | None:
    """Fires when SGLang says that the int8 pool needs more than is free."""
    return failure_found(case, CODE, "critical", "checkpoint_pool")
