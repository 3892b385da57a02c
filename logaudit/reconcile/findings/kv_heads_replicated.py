"""There are more tensor-parallel ranks than KV heads, so ranks hold copies."""

from __future__ import annotations

from logaudit.reconcile import measures as m
from logaudit.reconcile.case import Case, Found

CODE = "kv_heads_replicated"
SEVERITIES = ("notice",)


def find(case: Case) -> Found | None:
    """Fires when the model config has fewer KV heads than attention ranks."""
    config, layout = case.given.config, m.groups(case)
    if config is None or layout is None or config.mla or config.is_dsv4 or config.num_kv_heads <= 0:
        return None
    copies = layout.attn_tp // config.num_kv_heads
    if copies < 2:
        return None
    numbers = {"heads": config.num_kv_heads, "ranks": layout.attn_tp, "copies": copies, "dp": layout.attn_dp * copies}
    return Found(CODE, "notice", numbers, m.args_lines(case))
