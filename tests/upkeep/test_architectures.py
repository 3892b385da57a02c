"""The project's lists of special models against those that the releases themselves name."""

from __future__ import annotations

from packaging.version import Version

from logaudit.sglang import architectures
from upkeep.store import Store

LISTED_SINCE = Version("0.5.8")
"""First release with `is_hybrid_swa_model`."""
TREATMENTS = Store().treatments


def test_window_pools_begin_where_the_sources_name_the_model() -> None:
    named = {t.model: ranges.runs[0][0] for t, ranges in TREATMENTS.items() if t.trait == "is_hybrid_swa_model"}
    assert len(named) > 20
    assert [m for m, since in named.items() if not architectures.splits_sliding_window([m], since)] == []
    before = {m: max(r for r in Store().releases if r < since) for m, since in named.items() if since > LISTED_SINCE}
    assert [m for m, release in before.items() if architectures.splits_sliding_window([m], release)] == []


def test_latent_attention_is_what_the_sources_call_so() -> None:
    named = {t.model for t in TREATMENTS if t.trait == "attention_arch = MLA"}
    assert len(named) > 20
    assert named == architectures.MLA | architectures.MLA_IF_LATENT
