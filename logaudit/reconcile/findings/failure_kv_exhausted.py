"""The KV cache, not the GPU, ran out while serving."""

from __future__ import annotations

from logaudit.reconcile.case import Case, Found
from logaudit.reconcile.failures import failure_found

CODE = "failure_kv_exhausted"
SEVERITIES = ("critical",)


def find(case: Case) -> Found | None:
    """Fires when the scheduler found no KV tokens for a batch."""
    return failure_found(case, CODE, "critical", "kv_exhausted")
