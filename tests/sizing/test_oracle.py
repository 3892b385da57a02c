"""The formula against SGLang's own code: every case of the oracle, with and without a model config."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import shared_files
from packaging.version import Version
from sizing_oracle import Case, read

from logaudit.interval import GIB, Interval
from logaudit.sizing import Expectation, expect

CASES = shared_files("oracle/*.json")


def _cases() -> list[Path]:
    return CASES or [Path("absent")]


@pytest.fixture(params=_cases(), ids=lambda path: path.stem)
def case(request: pytest.FixtureRequest, shared_dir: Path) -> Case:
    return read(request.param)


def _bytes_per_token(case: Case) -> float:
    """Bytes per token of the count named max_total_num_tokens, from the pools that SGLang allocated."""
    printed = re.search(r"bytes_per_full_token=([\d.]+)", case.log)
    if printed:
        return float(printed.group(1))
    rank = case.rank()
    pools, page = rank["pools"], rank["page_size"] or 1
    parts = [pools[name] for name in ("full", "swa") if name in pools] or [pools["kv"]]
    if "swa" in pools and case.release >= Version("0.5.14") and case.arguments["disable_radix_cache"]:
        # The window pool has a size of its own then, and the rest of the budget is full tokens.
        parts = [pools["full"]]
    if any(part["gib"] is None for part in parts):
        config, args = case.config, case.arguments
        element = 1 if "fp8" in args["kv_cache_dtype"] else 2
        if config.mla:
            return float((config.kv_lora_rank + config.qk_rope_head_dim) * config.num_hidden_layers * element)
        heads = max(1, config.num_kv_heads // args["tp_size"])
        return float(2 * heads * config.head_dim * config.num_hidden_layers * element)
    size = sum(part["gib"] * GIB * part["size"] / (part["size"] + page) for part in parts)
    stored = size / rank["max_total_num_tokens"]
    # Sparse attention with FP8 stores 788 bytes where the formula counted 708 until 0.5.16.
    return stored * 708 / 788 if "fp8" in str(case.arguments.get("kv_cache_dtype")) and "dsv32" in case.name else stored


def _readings_width_gib(case: Case) -> float:
    """How far apart two budgets can lie that print the same readings: 0.01 each, the first times the reserved share."""
    fraction = case.rank()["mem_fraction_static"] or case.arguments["mem_fraction_static"]
    ranks = len(case.data["ranks"])
    float32 = 4 * 180 * 2.0**-24 if ranks > 1 else 0
    return 0.01 + 0.01 * (1 - fraction) + float32 + 1e-7


def _assert_holds(answer: Interval | None, truth: float | None, what: str) -> None:
    if truth is None:
        return
    assert answer is not None, what
    assert answer.low <= truth <= answer.high, f"{what}: {truth} outside [{answer.low}, {answer.high}]"
    assert answer.low <= answer.value <= answer.high, what


def test_bounds_hold_what_sglang_computed(case: Case) -> None:
    answer = expect(case.inputs())
    if case.crashed:
        assert answer.tokens is not None
        assert answer.tokens.high <= 0
        return
    rank = case.rank()
    assert answer.missing == ()
    _assert_holds(answer.tokens, rank["max_total_num_tokens"], "tokens")
    _assert_holds(answer.full_tokens, rank["full_tokens"], "full tokens")
    _assert_holds(answer.swa_tokens, rank["swa_tokens"], "window tokens")
    _assert_holds(answer.max_running_requests, rank["max_running_requests"], "requests")
    _assert_holds(answer.mamba_slots, case.inputs().printed_mamba_slots, "state slots")


def test_bounds_are_no_wider_than_rounding(case: Case) -> None:
    answer = expect(case.inputs())
    if case.crashed or answer.tokens is None:
        return
    page = case.rank()["page_size"] or 1
    width = _readings_width_gib(case) * GIB / _bytes_per_token(case)
    steps = 2 * max(page, 1) + 2
    assert answer.tokens.width <= width * 1.001 + steps
    if answer.swa_tokens is not None:
        assert answer.swa_tokens.width <= answer.tokens.width + 2 * page + 1
    context = case.inputs().context_length
    if answer.max_running_requests is not None and context and answer.mamba_slots is None:
        assert answer.max_running_requests.width <= width * 1.001 * 512 / context + 2
    if answer.mamba_slots is not None and answer.mamba_gib is not None and answer.mamba_slots.value:
        per_slot = answer.mamba_gib.low / answer.mamba_slots.value
        assert answer.mamba_slots.width <= _readings_width_gib(case) / per_slot + 2


def test_log_alone_gives_the_truth_or_says_what_is_missing(case: Case) -> None:
    answer = expect(case.inputs(with_config=False))
    if answer.tokens is None:
        assert answer.missing
        return
    assert answer.bytes_from_log
    rank = case.rank()
    _assert_holds(answer.tokens, rank["max_total_num_tokens"], "tokens")
    _assert_holds(answer.swa_tokens, rank["swa_tokens"], "window tokens")
    _assert_holds(answer.max_running_requests, rank["max_running_requests"], "requests")


def test_log_alone_is_enough_for_plain_models(shared_dir: Path) -> None:
    plain = [
        path
        for path in CASES
        if re.search(r"__(llama8b-(default|capbig|page64)|dsv3-tp2$|kimik25-tp2|qwen3moe30|gptoss-tp2)", path.stem)
        and Version(path.stem.split("__")[0]) >= Version("0.4.9")
    ]
    assert len(plain) > 50
    unanswered = [path.stem for path in plain if expect(read(path).inputs(with_config=False)).tokens is None]
    assert unanswered == []


@pytest.mark.parametrize("side", [-1, 1])
def test_a_count_beyond_the_bounds_is_outside(case: Case, side: int) -> None:
    answer = expect(case.inputs())
    if case.crashed or answer.tokens is None:
        return
    page = case.rank()["page_size"] or 1
    beyond = 2.1 * _readings_width_gib(case) * GIB / _bytes_per_token(case) + 4 * page + 4
    assert not answer.tokens.holds(case.rank()["max_total_num_tokens"] + side * beyond)


@pytest.mark.parametrize("factor", [0.98, 1.02])
def test_perturbed_pool_sizes_show(case: Case, factor: float) -> None:
    """Without a config they move the expectation away, unless the user's cap decides alone; with one they are named."""
    inputs = case.inputs(with_config=False)
    pools = tuple(replace(p, gib=p.gib * factor) for p in inputs.pools if not p.draft and p.gib is not None)
    answer = expect(inputs)
    if answer.tokens is not None and case.data["server_args"]["max_total_tokens"] is None:
        moved: Expectation = expect(replace(inputs, pools=pools, printed_mamba_slots=None))
        assert moved.tokens is None or not moved.tokens.holds(case.rank()["max_total_num_tokens"])
    checked = expect(replace(case.inputs(), pools=pools))
    assert len(checked.inconsistent) == len(checked.pools_gib)


def test_every_printed_pool_takes_what_the_config_says(case: Case) -> None:
    answer = expect(case.inputs())
    assert answer.inconsistent == ()
    if case.release >= Version("0.4.9") and not case.crashed and "dsv4" not in case.name:
        assert answer.pools_gib


def test_request_table_is_as_large_as_sglang_made_it(case: Case) -> None:
    answer = expect(case.inputs())
    table = case.rank()["request_table"]
    if table is None or answer.request_table_rows is None:
        return
    rows, columns = table
    assert answer.request_table_rows.holds(rows)
    padding = 1 if case.release >= Version("0.5.12") else 0
    low = (rows - answer.request_table_rows.width) * columns * 4 / GIB
    high = (rows + answer.request_table_rows.width + padding) * columns * 4 / GIB
    assert low <= answer.unprinted_gib["request table"].value <= high
