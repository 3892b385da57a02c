"""Other arguments for the same launch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from packaging.version import Version

from logaudit.interval import GIB, Interval
from logaudit.sglang.model_config import from_json
from logaudit.sizing import PrintedPool, SizingInputs, StageReadings, expect, fraction_for_tokens, with_changes

LLAMA = from_json(
    {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "num_hidden_layers": 32,
        "hidden_size": 4096,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "max_position_embeddings": 131072,
        "torch_dtype": "bfloat16",
    }
)
CELL = 8 * (128 + 128) * 32 * 2
"""131072 bytes per token of bf16."""


def launch(**keys: Any) -> SizingInputs:
    """80 GiB free before loading, 65 after, fraction 0.9: 65 - 8 = 57 GiB for the cache."""
    reading = StageReadings(0, 0, None, Interval.exact(80), 1, Interval.exact(65), 2)
    inputs = SizingInputs(
        release=Version("0.5.12"),
        args={"tp_size": 1, "kv_cache_dtype": "auto", "page_size": 1},
        args_known=True,
        mem_fraction_static=Interval.exact(0.9),
        fraction_origin="server_args",
        readings=(reading,),
        all_ranks_print=True,
        config=LLAMA,
        context_length=131072,
        kv_dtype="torch.bfloat16",
    )
    return replace(inputs, **keys)


def printed_only() -> SizingInputs:
    tokens = 57 * GIB // CELL
    gib = (tokens + 1) * CELL / GIB
    pool = PrintedPool("kv", tokens, Interval.printed(f"{gib:.2f}"), 3, "torch.bfloat16")
    return launch(config=None, architecture="LlamaForCausalLM", pools=(pool,))


def tokens_of(inputs: SizingInputs) -> Interval:
    answer = expect(inputs).tokens
    assert answer is not None
    return answer


def test_today() -> None:
    assert tokens_of(launch()).value == pytest.approx(57 * GIB / CELL, abs=1)


def test_another_fraction() -> None:
    changed = with_changes(launch(), {"mem_fraction_static": 0.95})
    assert tokens_of(changed.inputs).value == pytest.approx((65 - 80 * 0.05) * GIB / CELL, abs=1)
    assert changed.missing == ()


@pytest.mark.parametrize("inputs", [launch(), printed_only()], ids=["config", "log"])
def test_fp8_doubles_the_tokens(inputs: SizingInputs) -> None:
    changed = with_changes(inputs, {"kv_cache_dtype": "fp8_e4m3"})
    assert changed.missing == ()
    assert tokens_of(changed.inputs).value == pytest.approx(2 * 57 * GIB / CELL, rel=2e-4)


def test_a_cap_and_pages() -> None:
    changed = with_changes(launch(), {"max_total_tokens": 100_001, "page_size": 64})
    assert tokens_of(changed.inputs) == Interval(99_968, 99_968, 99_968)


def test_two_ranks_halve_the_weights_and_the_heads() -> None:
    # 7.5 GiB of weights on each, 4 of 8 heads: (72.5 - 8) GiB at half the bytes.
    changed = with_changes(launch(), {"tp_size": 2})
    assert tokens_of(changed.inputs).value == pytest.approx((80 - 7.5 - 8) * GIB / (CELL / 2), rel=1e-5)
    assert any("weights" in text for text in changed.assumptions)


def test_ranks_need_a_config() -> None:
    assert with_changes(printed_only(), {"tp_size": 2}).missing


def test_requests_follow_the_context() -> None:
    # 512 x 466944 tokens / 32768 = 7296, kept within 4096; 512 x 466944 / 131072 = 1824 is lifted to 2048.
    assert expect(launch()).max_running_requests == Interval(2048, 2048, 2048)
    shorter = expect(with_changes(launch(), {"context_length": 32768}).inputs).max_running_requests
    assert shorter == Interval(4096, 4096, 4096)
    asked = expect(with_changes(launch(), {"max_running_requests": 64}).inputs).max_running_requests
    assert asked == Interval(64, 64, 64)


def test_another_release() -> None:
    older = with_changes(launch(), {}, release=Version("0.4.6"))
    # 0.4.6 gives the request table one row more.
    assert expect(older.inputs).max_running_requests == Interval(2049, 2049, 2049)
    assert older.assumptions


def test_fraction_for_a_number_of_tokens() -> None:
    found = fraction_for_tokens(launch(), 400_000)
    assert found is not None
    # 65 - 80 x (1 - f) = 400000 x 131072 / 2^30
    assert found.value == pytest.approx(1 - (65 - 400_000 * CELL / GIB) / 80, abs=1e-6)
    assert fraction_for_tokens(launch(), 600_000) is None
