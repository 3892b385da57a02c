"""The host's memory does not hold the hierarchical cache."""

from __future__ import annotations

from logaudit.reconcile.case import Case, Found
from logaudit.reconcile.failures import failure_found

CODE = "failure_host_memory"
SEVERITIES = ("critical",)


def find(case: Case) -> Found | None:
    """Fires when SGLang says that the host has too little memory."""
    return failure_found(case, CODE, "critical", "host_memory")
