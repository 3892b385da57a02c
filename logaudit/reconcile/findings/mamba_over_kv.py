"""The recurrent state takes more memory than the KV cache."""

from __future__ import annotations

from logaudit.reconcile import measures as m
from logaudit.reconcile.case import Case, Found

CODE = "mamba_over_kv"
SEVERITIES = ("notice",)


def find(case: Case) -> Found | None:
    """Fires when the ledger shows more state than KV cache."""
    if not case.ledgers:
        return None
    ledger = case.ledgers[0]
    state, kv = ledger.total("state").value, ledger.total("kv").value
    if state <= 0 or kv <= 0 or state <= kv:
        return None
    args, row = m.arguments(case), case.row
    numbers = {
        "state": state,
        "kv": kv,
        "slots": None if row is None else row["mamba_slots"],
        "ratio": 0.9 if args is None else args.number("mamba_full_memory_ratio", 0.9),
        "fixed": m.number(case, "max_mamba_cache_size"),
    }
    lines = [item.evidence[0] for item in ledger.items if item.kind in {"state", "kv"} and item.evidence]
    return Found(CODE, "notice", numbers, tuple(lines))
