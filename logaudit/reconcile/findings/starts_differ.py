"""What changed since the last good start in the same log."""

from __future__ import annotations

from logaudit.reconcile import measures as m
from logaudit.reconcile.case import Case, Found
from logaudit.reconcile.compare_starts import differences

CODE = "starts_differ"
SEVERITIES = ("info", "warning")


def find(case: Case) -> Found | None:
    """Fires when an earlier start in the same source was good; a warning when this one crashed."""
    found = differences(case)
    if found is None:
        return None
    crashed = case.launch.outcome == "crashed"
    if not found.changes and not crashed:
        return None
    earlier = found.earlier.launch
    numbers = {
        "changes": [(change.name, change.before, change.now) for change in found.changes],
        "others": found.other_arguments,
        "first": earlier.first_line,
        "last": earlier.last_line,
        "crashed": crashed,
        "known": bool(case.launch.args and earlier.args),
    }
    lines = [*m.args_lines(found.earlier), *m.args_lines(case)] or [earlier.first_line]
    return Found(CODE, "warning" if crashed else "info", numbers, tuple(lines))
