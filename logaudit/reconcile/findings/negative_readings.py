"""A free-memory reading is negative or zero."""

from __future__ import annotations

from logaudit.interval import Interval
from logaudit.reconcile.case import Case, Found

CODE = "negative_readings"
SEVERITIES = ("warning",)


FREE_FIELDS = ("avail_gib", "used_gib")


def find(case: Case) -> Found | None:
    """Fires on a negative figure anywhere, or on a free-memory reading of zero."""
    found = []
    for record in case.launch.records:
        for name in FREE_FIELDS:
            value = record.fields.get(name)
            if isinstance(value, Interval) and (value.high < 0 or (name == "avail_gib" and value.value <= 0)):
                found.append((value.value, record.line))
    if not found:
        return None
    numbers = {"count": len(found), "lowest": min(value for value, _ in found)}
    return Found(CODE, "warning", numbers, tuple(line for _, line in found[:3]))
