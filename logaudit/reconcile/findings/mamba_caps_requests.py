"""The recurrent-state slots limit how many requests run at once."""

from __future__ import annotations

from logaudit.reconcile import measures as m
from logaudit.reconcile.case import Case, Found
from logaudit.sizing.hybrid import slots_per_request

CODE = "mamba_caps_requests"
SEVERITIES = ("notice",)


def find(case: Case) -> Found | None:
    """Fires when max_running_requests is the slots divided by the slots that one request can hold."""
    capped = [r for r in m.records(case, "max_reqs_reduced") if m.count_of(r, "slots_per_request") is not None]
    running, args, row = m.requests(case), m.arguments(case), case.row
    if args is None or row is None or case.release is None or running is None:
        return None
    slots = row["mamba_slots"]
    each = m.count_of(capped[0], "slots_per_request") if capped else slots_per_request(args, case.release)
    if not slots or not each or running != slots // each:
        return None
    asked = m.number(case, "max_running_requests")
    if asked is not None and asked <= running and not capped:
        return None
    numbers = {"slots": slots, "each": each, "running": running, "asked": asked}
    lines = [r.line for r in capped[:1]] or [s.line for s in case.launch.schedulers[:1]]
    return Found(CODE, "notice", numbers, tuple(lines))
