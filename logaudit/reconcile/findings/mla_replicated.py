"""A latent cache is not divided by tensor parallelism: every rank holds every token."""

from __future__ import annotations

from logaudit.reconcile import measures as m
from logaudit.reconcile.case import Case, Found

CODE = "mla_replicated"
SEVERITIES = ("notice",)


def find(case: Case) -> Found | None:
    """Fires for latent attention on several attention ranks."""
    layout, expectation = m.groups(case), case.expectation
    if layout is None or expectation is None or expectation.attention not in {"mla", "dsa", "dsv4"}:
        return None
    actual = case.comparison.actual_tokens
    if layout.attn_tp < 2 or layout.dcp > 1 or actual is None:
        return None
    numbers = {
        "ranks": layout.attn_tp,
        "tokens": actual,
        "gib": None if case.kv_gib is None else case.kv_gib.value,
        "total": None if case.kv_gib is None else case.kv_gib.value * layout.attn_tp,
        "dp": layout.tp,
    }
    return Found(CODE, "notice", numbers, m.args_lines(case))
