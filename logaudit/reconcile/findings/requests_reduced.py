"""SGLang lowered the number of running requests that was asked for."""

from __future__ import annotations

from logaudit.reconcile import measures as m
from logaudit.reconcile.case import Case, Found

CODE = "requests_reduced"
SEVERITIES = ("notice",)


def find(case: Case) -> Found | None:
    """Fires on SGLang's own line."""
    lines = [r for r in m.records(case, "max_reqs_reduced") if m.count_of(r, "asked_requests") is not None]
    if not lines:
        return None
    asked, given = m.count_of(lines[0], "asked_requests"), m.count_of(lines[0], "requests")
    if asked is None or given is None or given >= asked:
        return None
    return Found(CODE, "notice", {"asked": asked, "given": given}, (lines[0].line,))
