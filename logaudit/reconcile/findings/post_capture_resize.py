"""The KV cache was sized again after graph capture."""

from __future__ import annotations

from logaudit.reconcile import measures as m
from logaudit.reconcile.case import Case, Found

CODE = "post_capture_resize"
SEVERITIES = ("info",)


def find(case: Case) -> Found | None:
    """Fires on the lines of post-capture sizing."""
    lines = m.records(case, "post_capture_kv")
    if not lines:
        return None
    tokens = next((n for r in lines if not r.fields.get("draft") and (n := m.count_of(r, "tokens")) is not None), None)
    early = [p.tokens for rank in case.launch.ranks[:1] for p in rank.workers[0].pools if p.virtual and p.tokens]
    numbers = {"tokens": tokens, "early": early[0] if early else None}
    return Found(CODE, "info", numbers, tuple(r.line for r in lines[:3]))
