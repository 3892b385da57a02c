"""The cache holds whole pages only."""

from __future__ import annotations

from logaudit.interval import GIB
from logaudit.reconcile import measures as m
from logaudit.reconcile.case import Case, Found

CODE = "page_rounding"
SEVERITIES = ("info",)


def find(case: Case) -> Found | None:
    """Fires when pages are larger than one token."""
    page = None if case.expectation is None else case.expectation.page_size
    per, actual = m.bytes_per_token(case), case.comparison.actual_tokens
    if page is None or page <= 1 or per is None or actual is None:
        return None
    numbers = {"page": page, "mib": page * per / GIB * 1024, "actual": actual, "pages": actual // page}
    return Found(CODE, "info", numbers, m.args_lines(case))
