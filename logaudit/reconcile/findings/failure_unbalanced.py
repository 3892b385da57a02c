"""The start failed because one GPU had much less free memory than the others."""

from __future__ import annotations

from logaudit.reconcile.case import Case, Found
from logaudit.reconcile.failures import failure_found

CODE = "failure_unbalanced"
SEVERITIES = ("critical",)


def find(case: Case) -> Found | None:
    """Fires when SGLang's balance check ended the start."""
    return failure_found(case, CODE, "critical", "unbalanced")
