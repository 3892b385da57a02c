"""What the reserve was used for, and what of it is left."""

from __future__ import annotations

from logaudit.reconcile import measures as m
from logaudit.reconcile.case import Case, Found

CODE = "reserve_consumed"
SEVERITIES = ("info",)


DRAFT = frozenset({"draft-weights", "draft-kv"})
CONSUMERS = DRAFT | {"graphs", "draft-graphs", "other", "rest"}


def find(case: Case) -> Found | None:
    """Fires when a server came up and its ledger shows what was taken after the KV pool."""
    if not case.ledgers or case.fraction is None or not m.started(case):
        return None
    ledger = case.ledgers[0]
    pools = [index for index, item in enumerate(ledger.items) if item.kind in {"kv", "state"}]
    if not pools or ledger.free is None:
        return None
    paid = m.draft_is_paid(case)
    taken = [
        item
        for item in ledger.items[pools[0] + 1 :]
        if item.kind in CONSUMERS and item.gib.value > 0 and not (paid and item.kind in DRAFT)
    ]
    sums: dict[str, float] = {}
    for item in taken:
        sums[item.item] = sums.get(item.item, 0.0) + item.gib.value
    if not sums:
        return None
    reserve = ledger.before_load.value * (1 - case.fraction.interval.value)
    numbers = {
        "reserve": reserve,
        "parts": sorted(sums.items(), key=lambda part: -part[1]),
        "taken": sum(sums.values()),
        "left": ledger.free.value,
    }
    lines = {line for item in taken for line in item.evidence[-1:]}
    return Found(CODE, "info", numbers, tuple(sorted(lines)))
