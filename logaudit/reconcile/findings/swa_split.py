"""The budget is split between full-attention and sliding-window layers."""

from __future__ import annotations

from logaudit.reconcile import measures as m
from logaudit.reconcile.case import Case, Found

CODE = "swa_split"
SEVERITIES = ("info",)


def find(case: Case) -> Found | None:
    """Fires when the log shows both pools."""
    row = case.row
    if row is None or case.expectation is None or case.expectation.attention not in {"swa", "dsv4"}:
        return None
    full, window = row["full_tokens"], row["swa_tokens"]
    if not full or not window:
        return None
    args = m.arguments(case)
    config = case.given.config
    default = 0.1 if case.expectation.attention == "dsv4" else 0.8
    ratio = default if args is None else args.number("swa_full_tokens_ratio", default)
    numbers = {
        "full": full,
        "window": window,
        "ratio": window / full,
        "flag": ratio,
        "follows": abs(window / full - ratio) < 0.02,
        "size": None if config is None else config.sliding_window,
        "layers": None if config is None or not config.swa_layers else len(config.swa_layers),
        "full_layers": None if config is None else len(config.full_layers),
    }
    lines = [row["pool_line"]] if row["pool_line"] is not None else []
    return Found(CODE, "info", numbers, tuple(lines))
