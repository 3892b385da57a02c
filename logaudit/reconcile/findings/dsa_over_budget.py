"""The sparse-attention pool stores more per token than the formula counted."""

from __future__ import annotations

from logaudit.interval import GIB
from logaudit.reconcile import measures as m
from logaudit.reconcile.case import Case, Found

CODE = "dsa_over_budget"
SEVERITIES = ("notice",)


NOTABLE_SHARE = 0.02


def find(case: Case) -> Found | None:
    """Fires when the printed pool is larger than its tokens by the formula's own price (FP8 until 0.5.16)."""
    expectation, actual, kv = case.expectation, case.comparison.actual_tokens, case.kv_gib
    if expectation is None or expectation.attention != "dsa" or actual is None or kv is None:
        return None
    if expectation.bytes_per_token is None or kv.value <= 0 or m.draft_is_paid(case):
        return None
    counted = expectation.bytes_per_token.value
    over = kv.value - (actual + (expectation.page_size or 1)) * counted / GIB
    if over < NOTABLE_SHARE * kv.value:
        return None
    stored = kv.value * GIB / (actual + (expectation.page_size or 1))
    numbers = {"over": over, "kv": kv.value, "counted": counted, "stored": stored, "share": over / kv.value * 100}
    row = case.row
    lines = [row["pool_line"]] if row is not None and row["pool_line"] is not None else []
    return Found(CODE, "notice", numbers, tuple(lines))
