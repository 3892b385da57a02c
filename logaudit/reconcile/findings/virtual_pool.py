"""A pool is address space; the memory behind it is less."""

from __future__ import annotations

from logaudit.reconcile import measures as m
from logaudit.reconcile.case import Case, Found

CODE = "virtual_pool"
SEVERITIES = ("info",)


def find(case: Case) -> Found | None:
    """Fires when a line announces virtual pools or an upper bound."""
    virtual = [(pool, rank) for rank in case.launch.ranks for pool in rank.workers[0].pools if pool.virtual]
    arenas = m.records(case, "vmm_arena")
    if not virtual and not arenas:
        return None
    physical = [
        p for rank in case.launch.ranks[:1] for p in rank.workers[0].pools if not p.virtual and p.gib is not None
    ]
    sized = [pool.gib.value for pool, _ in virtual if pool.gib is not None]
    reserved = [v.value for r in arenas if (v := m.gib_of(r, "reserved_gib")) is not None]
    numbers = {
        "virtual": max(sized or reserved, default=None),
        "physical": sum(p.gib.value for p in physical if p.gib is not None) if physical else None,
    }
    lines = [pool.line for pool, _ in virtual[:1]] + [r.line for r in arenas[:1]] + [p.line for p in physical[:1]]
    return Found(CODE, "info", numbers, tuple(lines))
