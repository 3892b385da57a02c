"""The start failed because the fraction leaves nothing for the KV cache."""

from __future__ import annotations

from logaudit.reconcile.case import Case, Found
from logaudit.reconcile.failures import failure_found

CODE = "failure_no_kv_room"
SEVERITIES = ("critical",)


def find(case: Case) -> Found | None:
    """Fires when SGLang refused to size the pools for want of memory."""
    return failure_found(case, CODE, "critical", "no_kv_room")
