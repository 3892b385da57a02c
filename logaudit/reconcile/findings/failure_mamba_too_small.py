"""The start failed because the recurrent-state pool does not hold one request."""

from __future__ import annotations

from logaudit.reconcile.case import Case, Found
from logaudit.reconcile.failures import failure_found

CODE = "failure_mamba_too_small"
SEVERITIES = ("critical",)


def find(case: Case) -> Found | None:
    """Fires when SGLang says that the state cache is too small."""
    return failure_found(case, CODE, "critical", "mamba_too_small")
