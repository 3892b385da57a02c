"""A process was killed from outside, as a rule for want of host memory."""

from __future__ import annotations

from logaudit.reconcile.case import Case, Found
from logaudit.reconcile.failures import failure_found

CODE = "failure_killed"
SEVERITIES = ("critical",)


def find(case: Case) -> Found | None:
    """Fires when the kernel, a container or a cluster killed a process."""
    return failure_found(case, CODE, "critical", "killed")
