"""The formula against SGLang's own code: every case of the oracle, with and without a model config."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from packaging.version import Version

from logaudit.interval import GIB, Interval
from logaudit.sizing import Expectation, expect
from tests.conftest import shared_files
from tests.sizing.sizing_oracle import Case, read

CASES = shared_files("oracle/*.json")


@functools.cache
def _answer(name: str, *, with_config: bool = True) -> Expectation:
    return expect(_case(name).inputs(with_config=with_config))


def _case(name: str) -> Case:
    return read(next(path for path in CASES if path.stem == name))


def _failures(check: Callable[[Case], bool]) -> list[str]:
    """Names of the cases for which the check does not hold."""
    return [path.stem for path in CASES if not check(read(path))]


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


def _holds(answer: Interval | None, truth: float | None) -> bool:
    if truth is None:
        return True
    return answer is not None and answer.low <= truth <= answer.high and answer.low <= answer.value <= answer.high


@pytest.mark.parametrize("name", [path.stem for path in CASES] or ["absent"])
def test_bounds_hold_what_sglang_computed(name: str, shared_dir: Path) -> None:
    case, answer = _case(name), _answer(name)
    if case.crashed:
        assert answer.tokens is not None
        assert answer.tokens.high <= 0
        return
    rank = case.rank()
    assert answer.missing == ()
    assert _holds(answer.tokens, rank["max_total_num_tokens"])
    assert _holds(answer.full_tokens, rank["full_tokens"])
    assert _holds(answer.swa_tokens, rank["swa_tokens"])
    assert _holds(answer.max_running_requests, rank["max_running_requests"])
    assert _holds(answer.mamba_slots, case.inputs().printed_mamba_slots)


def test_token_bounds_are_no_wider_than_rounding(shared_dir: Path) -> None:
    def narrow(case: Case) -> bool:
        answer = _answer(case.name)
        if case.crashed or answer.tokens is None:
            return case.crashed
        page = case.rank()["page_size"] or 1
        width = _readings_width_gib(case) * GIB / _bytes_per_token(case) * 1.001
        window = answer.swa_tokens is None or answer.swa_tokens.width <= answer.tokens.width + 2 * page + 1
        return window and answer.tokens.width <= width + 2 * page + 2

    assert _failures(narrow) == []


def test_request_and_slot_bounds_are_no_wider_than_rounding(shared_dir: Path) -> None:
    def narrow(case: Case) -> bool:
        answer, context = _answer(case.name), case.inputs().context_length
        if case.crashed or answer.max_running_requests is None or context is None:
            return case.crashed
        if answer.mamba_slots is not None and answer.mamba_gib is not None:
            per_slot = answer.mamba_gib.low / answer.mamba_slots.value
            return answer.mamba_slots.width <= _readings_width_gib(case) / per_slot + 2
        tokens = _readings_width_gib(case) * GIB / _bytes_per_token(case)
        return answer.max_running_requests.width <= tokens * 1.001 * 512 / context + 2

    assert _failures(narrow) == []


def test_log_alone_gives_the_truth_or_says_what_is_missing(shared_dir: Path) -> None:
    def right(case: Case) -> bool:
        answer = _answer(case.name, with_config=False)
        if answer.tokens is None:
            return bool(answer.missing)
        rank = case.rank()
        return (
            answer.bytes_from_log
            and _holds(answer.full_tokens, rank["full_tokens"])
            and _holds(answer.tokens, rank["max_total_num_tokens"])
            and _holds(answer.swa_tokens, rank["swa_tokens"])
            and _holds(answer.max_running_requests, rank["max_running_requests"])
        )

    assert _failures(right) == []


def test_log_alone_is_enough_for_plain_models(shared_dir: Path) -> None:
    plain = [
        path.stem
        for path in CASES
        if re.search(r"__(llama8b-(default|capbig|page64)|dsv3-tp2$|kimik25-tp2|qwen3moe30|gptoss-tp2)", path.stem)
        and Version(path.stem.split("__")[0]) >= Version("0.4.9")
    ]
    assert len(plain) > 50
    assert [name for name in plain if _answer(name, with_config=False).tokens is None] == []


@pytest.mark.parametrize("side", [-1, 1])
def test_a_count_beyond_the_bounds_is_outside(side: int, shared_dir: Path) -> None:
    def outside(case: Case) -> bool:
        answer = _answer(case.name)
        if case.crashed or answer.tokens is None:
            return case.crashed
        page = case.rank()["page_size"] or 1
        beyond = 2.1 * _readings_width_gib(case) * GIB / _bytes_per_token(case) + 4 * page + 4
        return not answer.tokens.holds(case.rank()["max_total_num_tokens"] + side * beyond)

    assert _failures(outside) == []


@pytest.mark.parametrize("factor", [0.98, 1.02])
def test_perturbed_pool_sizes_show(factor: float, shared_dir: Path) -> None:
    """Without a config they move the expectation away, unless the user's cap decides alone; with one they are named."""

    def shows(case: Case) -> bool:
        inputs = case.inputs(with_config=False)
        pools = tuple(
            replace(p, gib=p.gib * factor, state_gib=p.state_gib and p.state_gib * factor)
            for p in inputs.pools
            if not p.draft and p.gib is not None
        )
        by_pools = case.data["server_args"]["max_total_tokens"] is None and inputs.dsv4_bytes_per_token is None
        if by_pools and _answer(case.name, with_config=False).tokens is not None:
            moved = expect(replace(inputs, pools=pools, printed_mamba_slots=None))
            if moved.tokens is not None and moved.tokens.holds(case.rank()["max_total_num_tokens"]):
                return False
        checked = expect(replace(case.inputs(), pools=pools))
        return len(checked.inconsistent) == len(checked.pools_gib)

    assert _failures(shows) == []


def test_every_printed_pool_takes_what_the_config_says(shared_dir: Path) -> None:
    def fits(case: Case) -> bool:
        answer = _answer(case.name)
        known = case.release < Version("0.4.9") or case.crashed or "dsv4" in case.name
        return not answer.inconsistent and (known or bool(answer.pools_gib))

    assert _failures(fits) == []


def test_request_table_is_as_large_as_sglang_made_it(shared_dir: Path) -> None:
    def fits(case: Case) -> bool:
        answer, table = _answer(case.name), case.rank()["request_table"]
        if table is None or answer.request_table_rows is None:
            return table is None
        rows, columns = table
        padding = 1 if case.release >= Version("0.5.12") else 0
        low = (rows - answer.request_table_rows.width) * columns * 4 / GIB
        high = (rows + answer.request_table_rows.width + padding) * columns * 4 / GIB
        size = answer.unprinted_gib["request table"].value
        return answer.request_table_rows.holds(rows) and low <= size <= high

    assert _failures(fits) == []


_WHAT_IF = (
    "args",
    "model",
    "sglang_version",
    "gpu_total_gib",
    "before_load_gib",
    "after_load_gib",
    "draft_weights_gib",
)


def _pairs() -> list[tuple[Case, Case]]:
    """Cases that differ in their flags alone: same release, model and simulated memory."""
    cases = [case for case in map(read, CASES) if not case.crashed]
    return [
        (one, other)
        for one, other in itertools.permutations(cases, 2)
        if all(one.data[key] == other.data[key] for key in _WHAT_IF[1:]) and one.data["args"] != other.data["args"]
    ]


def test_what_if_from_one_case_to_another_lands_inside(shared_dir: Path) -> None:
    """The readings of one launch with the arguments of another give what the other computed."""
    pairs = _pairs()
    wrong = []
    for one, other in pairs:
        target = other.inputs()
        changed = replace(
            one.inputs(),
            args=target.args,
            mem_fraction_static=target.mem_fraction_static,
            kv_dtype=None if target.args["kv_cache_dtype"] != one.arguments["kv_cache_dtype"] else target.kv_dtype,
            page_size=target.page_size,
            context_length=target.context_length,
            printed_mamba_slots=None,
            pools=(),
        )
        answer, rank = expect(changed), other.rank()
        if not (
            _holds(answer.tokens, rank["max_total_num_tokens"])
            and _holds(answer.swa_tokens, rank["swa_tokens"])
            and _holds(answer.max_running_requests, rank["max_running_requests"])
        ):
            wrong.append((one.name, other.name))
    assert len(pairs) > 100
    assert wrong == []


def test_sparse_attention_overdraws_its_reserve(shared_dir: Path) -> None:
    """FP8 pools of DeepSeek-V3.2 store (656 + 132) x 61 bytes a token; until 0.5.16 (576 + 132) x 61 are counted."""
    before = _answer("0.5.9__dsv32-tp2-fp8")
    assert before.bytes_per_token == Interval.exact(708 * 61)
    assert before.pool_bytes_per_token == Interval.exact(788 * 61)
    over = next(term.gib for term in before.terms if term.name == "pool over its budget")
    tokens = _case("0.5.9__dsv32-tp2-fp8").rank()["max_total_num_tokens"]
    assert over is not None
    assert over.low <= tokens * 80 * 61 / GIB <= over.high
    assert _answer("0.5.17__dsv32-tp2-fp8").pool_bytes_per_token is None
