"""The start failed because the unified memory pool does not hold one request."""

from __future__ import annotations

from logaudit.reconcile.case import Case, Found
from logaudit.reconcile.failures import failure_found

CODE = "failure_unified_too_small"
SEVERITIES = ("critical",)


def find(case: Case) -> Found | None:
    """Fires when SGLang says that the unified pool is too small."""
    return failure_found(case, CODE, "critical", "unified_too_small")
