"""The model has sliding-window layers, and this start keeps full caches for them."""

from __future__ import annotations

from logaudit.reconcile import measures as m
from logaudit.reconcile.case import Case, Found

CODE = "swa_layers_full"
SEVERITIES = ("notice",)


def find(case: Case) -> Found | None:
    """Fires when the model config has window layers and the cache is sized as if it had none."""
    config = case.given.config
    if config is None or case.expectation is None or case.expectation.attention != "mha":
        return None
    if not config.swa_layers or not config.sliding_window or not config.full_layers:
        return None
    numbers = {
        "layers": len(config.swa_layers),
        "all": config.num_attention_layers,
        "window": config.sliding_window,
        "switched_off": case.launch.args.get("disable_hybrid_swa_memory") is True,
        "release": str(case.release),
    }
    return Found(CODE, "notice", numbers, m.args_lines(case))
