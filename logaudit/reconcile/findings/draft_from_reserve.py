"""The draft model's weights and KV cache come out of the reserve."""

from __future__ import annotations

from logaudit.reconcile import measures as m
from logaudit.reconcile.case import Case, Found

CODE = "draft_from_reserve"
SEVERITIES = ("info", "notice")


LARGE_SHARE = 0.25


def find(case: Case) -> Found | None:
    """Fires when a draft took memory that the formula did not count; a notice from a quarter of the reserve on."""
    if not case.ledgers or case.fraction is None or m.draft_is_paid(case):
        return None
    ledger = case.ledgers[0]
    counted = m.draft_weights_are_counted(case)
    kinds = ("draft-kv", "draft-graphs") if counted else ("draft-weights", "draft-kv", "draft-graphs")
    items = [item for item in ledger.items if item.kind in kinds]
    total = sum(item.gib.value for item in items)
    reserve = ledger.before_load.value * (1 - case.fraction.interval.value)
    if not any(item.kind in {"draft-weights", "draft-kv"} for item in items) or total <= 0 or reserve <= 0:
        return None
    numbers = {
        "weights": None if counted else ledger.total("draft-weights").value,
        "kv": ledger.total("draft-kv").value,
        "graphs": ledger.total("draft-graphs").value,
        "total": total,
        "reserve": reserve,
        "share": total / reserve * 100,
    }
    severity = "notice" if total / reserve > LARGE_SHARE else "info"
    return Found(CODE, severity, numbers, tuple(item.evidence[-1] for item in items if item.evidence))
