"""The start failed because the recurrent state of all request slots takes the whole budget."""

from __future__ import annotations

from logaudit.reconcile.case import Case, Found
from logaudit.reconcile.failures import failure_found

CODE = "failure_state_takes_all"
SEVERITIES = ("critical",)


def find(case: Case) -> Found | None:
    """Fires when the budget is positive and the state pool of a hybrid model leaves nothing for the KV cache."""
    return failure_found(case, CODE, "critical", "state_takes_all")
