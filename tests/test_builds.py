"""Builds between and beside the releases: each wording arrives in the document, and is checked as far as it can be."""

from __future__ import annotations

from functools import cache

import pytest

from logaudit.auditing import document_of, read_source
from logaudit.reconcile.inputs import Given
from logaudit.report.document import LaunchDoc
from logaudit.sglang.model_config import load
from logaudit.sources import open_sources
from tests.conftest import ROOT

BUILDS = ROOT / "fixtures" / "builds"
GIB = 1 << 30


@cache
def launches(name: str, config: str | None = None) -> tuple[LaunchDoc, ...]:
    sources = [read_source(source) for source in open_sources([str(BUILDS / name)])]
    given = Given() if config is None else Given(config=load(ROOT / "fixtures" / "models" / config))
    return tuple(document_of(sources, given).launches)


def only(name: str, config: str | None = None) -> LaunchDoc:
    [launch] = launches(name, config)
    return launch


def tokens(launch: LaunchDoc) -> int | None:
    return launch.capacity.max_total_num_tokens if launch.capacity else None


def test_a_profile_line_gives_both_readings_of_the_budget() -> None:
    """71.32 - 139.60 x 0.30 = 29.44 GiB, over 15955.85 B = 1,981,151, in pages of 256: 7738 x 256 = 1,980,928."""
    launch = only("dsv4-profiled-tp2.log")
    row = next(row for row in launch.ranks if row.rank.tp == 1)
    assert (row.before_load_gib, row.after_load_gib) == (139.60, 71.32)
    assert row.weights_gib == pytest.approx(68.28)
    assert row.pool_end_gib == 41.05
    assert tokens(launch) == 1_980_928
    assert launch.mem_fraction_static is not None
    assert launch.mem_fraction_static.value == 0.7
    assert launch.model.attention == "dsv4"
    assert launch.reconciliation.status == "explained"
    assert {pool.name: pool.tokens for pool in row.pools} == {
        "full": 1_980_928,
        "swa": 197_888,
        "c4": 495_232,
        "c128": 15_476,
    }


def test_the_ledger_of_a_profile_line_adds_up() -> None:
    ledger = only("dsv4-profiled-tp2.log").ledger[0]
    assert ledger.items[0].kind == "weights"
    assert ledger.items[0].gib.value == pytest.approx(68.28)
    assert sum(item.gib.value for item in ledger.items) == pytest.approx(139.60)


def test_the_older_spelling_of_the_compressed_pools_is_the_same_figure() -> None:
    """65.08 - 178.20 x 0.20 = 29.44 GiB."""
    launch = only("swkv-tp1.log")
    assert tokens(launch) == 1_980_928
    assert launch.expected is not None
    assert launch.expected.bytes_per_token is not None
    assert launch.expected.bytes_per_token.value == 15955.85
    assert launch.reconciliation.status == "explained"


def test_the_calculation_line_alone_gives_the_tokens() -> None:
    """One GPU's log names no pool and has no pool sizes: the line that computed the tokens is what there is."""
    [row] = only("swkv-tp1.log").ranks
    assert row.kv_tokens == 1_980_928
    assert [(pool.name, pool.tokens, pool.line) for pool in row.pools] == [("full", 1_980_928, 4)]


def test_a_budget_line_stands_in_for_missing_readings() -> None:
    """17.67 GiB over 36 layers x 4 heads x 128 x 2 x 2 B = 73728 B: 257,338, in pages of 128: 257,280."""
    launch = only("budget-line-npu-tp2.log")
    assert tokens(launch) == 257_280
    assert launch.expected is not None
    budget = launch.expected.kv_budget_gib
    assert budget is not None
    assert (budget.low, budget.value, budget.high) == pytest.approx((17.665, 17.67, 17.675))
    assert launch.reconciliation.status == "explained"
    assert launch.ranks[0].before_load_gib is None


def test_a_bare_count_is_the_capacity() -> None:
    launch = only("bench-bare-count.log")
    assert tokens(launch) == 424_468
    assert launch.outcome == "initialised"
    assert launch.reconciliation.status == "explained"


def test_address_space_of_kvcached_is_not_memory() -> None:
    """14.36 - 14.61 x 0.15 = 12.17 GiB: the physical limit, 2 x 6.08; the address space is 2 x 11.48."""
    launch = only("kvcached-tp1.log")
    [row] = launch.ranks
    assert tokens(launch) == 354_433
    assert row.kv_gib == pytest.approx(12.16)
    assert launch.expected is not None
    assert launch.expected.bytes_per_token is not None
    each = launch.expected.bytes_per_token
    assert each.low <= 12 * 12 * 64 * 2 * 2 <= each.high
    assert launch.reconciliation.status == "explained"
    assert launch.unrecognised == []


def test_sglang_jax_shows_its_tokens_and_that_its_rules_are_its_own() -> None:
    launch = only("jax-tpu.log")
    assert tokens(launch) == 142_336
    assert launch.ranks[0].kv_tokens == 142_336
    assert launch.expected is not None
    assert any(term.name == "printed budget" and term.gib and term.gib.value == 19.5 for term in launch.expected.terms)
    assert launch.reconciliation.status == "not_checkable"
    assert "the sizing rules of sglang-jax, which are its own" in launch.reconciliation.missing


def test_stages_of_sglang_omni_are_starts_of_their_own() -> None:
    first, second = launches("omni-two-stages.log")
    assert (tokens(first), tokens(second)) == (210_000, 130_000)
    assert (first.lines.first, second.lines.first) == (1, 9)
    for launch, share in ((first, "0.45"), (second, "0.3")):
        assert launch.reconciliation.status == "not_checkable"
        assert f"share ({share}) is one of the whole card" in launch.reconciliation.missing[0]


def test_a_pool_without_sizes_keeps_its_tokens() -> None:
    launch = only("pool-without-sizes.log")
    assert launch.ranks[0].kv_tokens == 424_468
    assert launch.ranks[0].kv_gib is None
    assert launch.ranks[0].kv_dtype == "torch.bfloat16"
    assert launch.reconciliation.status == "not_checkable"
    assert only("pool-without-sizes.log", "llama31-8b.json").reconciliation.status == "explained"


@pytest.mark.parametrize("config", [None, "qwen25-7b.json"])
def test_keys_wider_than_values_are_counted_as_printed(config: str | None) -> None:
    """FP8 keys and FP4 values with a scale for 16: 4 heads x 128 x 28 layers x (1 + 9/16) = 22400 B."""
    launch = only("fp4-k-fp8-v-fp4.log", config)
    [row] = launch.ranks
    assert (row.k_gib, row.v_gib) == (39.01, 21.95)
    assert launch.expected is not None
    assert launch.expected.bytes_per_token is not None
    assert launch.expected.bytes_per_token.low <= 22400 <= launch.expected.bytes_per_token.high
    assert launch.reconciliation.status == "explained"


@pytest.mark.parametrize("name", ["swa-window-first.log", "swa-full-first.log"])
def test_a_pair_of_unlabelled_pools_is_told_apart_in_either_order(name: str) -> None:
    launch = only(name)
    [row] = launch.ranks
    assert {(pool.name, pool.tokens, pool.gib) for pool in row.pools} == {
        ("full", 347_825, 7.96),
        ("swa", 278_260, 6.36),
    }
    assert launch.capacity is not None
    assert (launch.capacity.full_tokens, launch.capacity.swa_tokens) == (347_825, 278_260)
    assert launch.reconciliation.status == "explained"


def test_ranks_that_size_their_own_pools_are_the_cause_of_the_gap() -> None:
    """71.16 - 69.16 = 2.00 GiB of 65536 B a token: 32,768 tokens more on TP0 than the minimum gives."""
    launch = only("uneven-ranks-tp2.log")
    assert {row.kv_tokens for row in launch.ranks} == {972_472, 939_704}
    [cause] = launch.reconciliation.causes
    assert cause.code == "uneven_ranks"
    assert cause.gib is not None
    assert cause.gib.low <= 2.0 <= cause.gib.high
    assert launch.reconciliation.status == "explained_with_residual"
    assert launch.capacity is not None
    assert launch.capacity.per_rank


def test_an_unknown_wording_is_listed_with_its_number() -> None:
    launch = only("unknown-wording.log")
    assert [(unknown.line, unknown.text) for unknown in launch.unrecognised] == [
        (5, "Paged KV arena reserved: blocks=26536, arena memory=51.82 GB")
    ]
    assert launch.reconciliation.status == "explained"
