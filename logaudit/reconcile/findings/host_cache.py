"""The hierarchical cache takes host memory, once for each rank."""

from __future__ import annotations

from logaudit.reconcile import measures as m
from logaudit.reconcile.case import Case, Found

CODE = "host_cache"
SEVERITIES = ("info", "warning")


def find(case: Case) -> Found | None:
    """Fires when host pools are announced; a warning when all ranks ask for more than the host is said to have."""
    pools = [r for r in m.records(case, "host_pool") if m.gib_of(r, "host_gb") is not None]
    if not pools:
        return None
    per_rank: dict[tuple[int | None, ...], float] = {}
    for record in pools:
        key = (record.rank.tp, record.rank.pp, record.rank.dp)
        size = m.gib_of(record, "host_gb")
        per_rank[key] = per_rank.get(key, 0.0) + (0.0 if size is None else size.value)
    layout = m.groups(case)
    ranks = max(len(per_rank), 1 if layout is None else layout.world * layout.replicas)
    each = max(per_rank.values())
    total = sum(per_rank.values()) if len(per_rank) >= ranks else each * ranks
    heads = [v for r in m.records(case, "hicache_autosize") if (v := m.gib_of(r, "host_free_gib")) is not None]
    there = min((v.value * 2**30 / 1e9 for v in heads), default=None)
    small = m.records(case, "host_pool_small")
    numbers = {
        "each": each,
        "each_gib": each * 1e9 / 2**30,
        "ranks": ranks,
        "total": total,
        "there": there,
        "small": bool(small),
    }
    short = (there is not None and total > there) or bool(small)
    lines = [r.line for r in (*pools[:1], *small[:1])]
    return Found(CODE, "warning" if short else "info", numbers, tuple(lines))
