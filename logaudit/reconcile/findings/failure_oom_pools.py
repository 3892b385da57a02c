"""The GPU ran out of memory while pools or the draft model were allocated."""

from __future__ import annotations

from logaudit.reconcile.case import Case, Found
from logaudit.reconcile.failures import failure_found

CODE = "failure_oom_pools"
SEVERITIES = ("critical",)


def find(case: Case) -> Found | None:
    """Fires on an out-of-memory error between the weights and the graphs, or while the draft was loaded."""
    return failure_found(case, CODE, "critical", "oom_pools")
