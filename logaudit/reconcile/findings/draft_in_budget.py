"""The draft model is paid for out of the KV budget."""

from __future__ import annotations

from logaudit.interval import GIB
from logaudit.reconcile import measures as m
from logaudit.reconcile.case import Case, Found

CODE = "draft_in_budget"
SEVERITIES = ("info",)


def find(case: Case) -> Found | None:
    """Fires when the release counts a draft's weights and KV cache before it sizes the target's pool."""
    if not case.ledgers or not m.draft_is_paid(case):
        return None
    ledger = case.ledgers[0]
    weights, kv = ledger.total("draft-weights").value, ledger.total("draft-kv").value
    if weights <= 0 and kv <= 0:
        return None
    per = m.bytes_per_token(case)
    tokens = None if per is None else (weights + kv) * GIB / per
    lines = [item.evidence[-1] for item in ledger.items if item.kind.startswith("draft-") and item.evidence]
    return Found(CODE, "info", {"weights": weights, "kv": kv, "tokens": tokens}, tuple(lines))
