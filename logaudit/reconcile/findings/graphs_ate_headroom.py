"""Graph capture took much of what was free after the pools."""

from __future__ import annotations

from logaudit.reconcile import measures as m
from logaudit.reconcile.case import Case, Found

CODE = "graphs_ate_headroom"
SEVERITIES = ("notice", "warning")


SHARE = 0.4
LEAST_GIB = 1.0


def find(case: Case) -> Found | None:
    """Fires when graphs took over 40 % of what was free after the pools; a warning when under 1 GiB is left."""
    if not case.ledgers or not m.served(case):
        return None
    ledger = case.ledgers[0]
    graphs, free = ledger.total("graphs", "draft-graphs"), ledger.free
    if free is None or graphs.value < LEAST_GIB or graphs.value < SHARE * (graphs.value + max(0.0, free.value)):
        return None
    batch, name = m.largest_graph_batch(case), m.graph_argument(case)
    fewer = None if batch is None or batch < 8 else batch // 4
    low = free.value < LEAST_GIB
    numbers = {
        "graphs": graphs.value,
        "left": free.value,
        "share": graphs.value / (graphs.value + max(0.0, free.value)) * 100,
        "batch": batch,
        "fewer": fewer,
        "flag": m.flag(name),
    }
    lines = [item.evidence[-1] for item in ledger.items if item.kind in {"graphs", "draft-graphs"} and item.evidence]
    changes = {name: fewer} if low and fewer is not None else {}
    return Found(CODE, "warning" if low else "notice", numbers, tuple(lines), changes)
