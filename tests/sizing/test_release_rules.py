"""Rules of the cell that differ between neighbouring releases, worked out by hand from the shapes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from logaudit.interval import Interval
from logaudit.sglang.model_config import ModelConfig, from_json, load
from logaudit.sizing import PrintedPool, SizingInputs, StageReadings, expect, with_changes
from logaudit.sizing.arguments import Arguments
from logaudit.sizing.cell import kv_cell, stored_latent_dim
from logaudit.sizing.kv_dtype import KvDtype, named
from logaudit.sizing.parallel import Layout, layout

LLAMA_JSON: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "num_hidden_layers": 32,
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
}
LLAMA = from_json(LLAMA_JSON)
LATENT_JSON: dict[str, Any] = {
    "architectures": ["DeepseekV3ForCausalLM"],
    "model_type": "deepseek_v3",
    "num_hidden_layers": 61,
    "hidden_size": 7168,
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
    "max_position_embeddings": 163840,
    "torch_dtype": "bfloat16",
}
LATENT = from_json(LATENT_JSON)
SPARSE = from_json(
    {
        **LATENT_JSON,
        "architectures": ["DeepseekV32ForCausalLM"],
        "model_type": "deepseek_v32",
        "index_head_dim": 128,
        "index_n_heads": 64,
        "index_topk": 2048,
    }
)


def cell(config: ModelConfig, dtype: str, release: str, *, device: str = "cuda", **args: object) -> int:
    given = Arguments(args, known=True, release=Version(release))
    layers = range(config.num_hidden_layers)
    return kv_cell(config, layers, kv(dtype), one_rank(given), given, Version(release), device=device).bytes


def one_rank(args: Arguments) -> Layout:
    return layout(args)


def kv(name: str) -> KvDtype:
    found = named(name)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("release", "dtype", "expected"),
    [
        # One byte for each of 8 heads x (128 + 128) x 32 layers.
        ("0.5.5.post2", "fp4_e2m1", 65536),
        # Half of it, and a byte for every 16 values: 65536 / 16.
        ("0.5.5.post3", "fp4_e2m1", 32768 + 4096),
        ("0.5.6", "fp4_e2m1", 32768 + 4096),
        ("0.5.15", "fp4_e2m1", 32768 + 4096),
        # One layer's keys and values in FP8 to read them from: 8 x 128 x 2.
        ("0.5.16", "nvfp4", 32768 + 4096 + 2048),
        ("0.5.20", "nvfp4", 32768 + 4096 + 2048),
        ("0.5.21", "nvfp4", 32768 + 4096),
    ],
)
def test_fp4_heads(release: str, dtype: str, expected: int) -> None:
    assert cell(LLAMA, dtype, release) == expected


def test_how_many_scales_fp4_keeps_is_open_only_from_0_5_21() -> None:
    def spread(release: str) -> int:
        args = Arguments({}, known=True, release=Version(release))
        return kv_cell(LLAMA, range(32), kv("nvfp4"), one_rank(args), args, Version(release)).uncertain_bytes

    # Another set of scales, 4096, and a workspace of two bytes for 8 x 128 x 2 values.
    assert (spread("0.5.20"), spread("0.5.21")) == (0, 4096 + 4096)


@pytest.mark.parametrize(
    ("release", "expected"),
    # 576 bytes in 61 layers; then half of them and 36 scales a layer.
    [("0.5.4.post2", 576 * 61), ("0.5.4.post3", 288 * 61 + 36 * 61)],
)
def test_fp4_latent_vectors(release: str, expected: int) -> None:
    assert cell(LATENT, "fp4_e2m1", release) == expected


def test_on_an_npu_the_indexer_counts_its_bf16_keys_from_0_5_20() -> None:
    latent = 576 * 2 * 61
    assert cell(SPARSE, "bfloat16", "0.5.19", device="npu") == latent + 132 * 61
    assert cell(SPARSE, "bfloat16", "0.5.20", device="npu") == latent + 128 * 2 * 61
    assert cell(SPARSE, "bfloat16", "0.5.20", device="cuda") == latent + 132 * 61


@pytest.mark.parametrize(
    ("release", "args", "expected"),
    [
        # 512 values, 4 scales of 4 bytes, 64 rope values of 2 bytes.
        ("0.5.19", {"dsa_prefill_backend": "flashmla_sparse", "dsa_decode_backend": "flashmla_kv"}, 656),
        ("0.5.19", {"dsa_prefill_backend": "flashmla_sparse", "dsa_decode_backend": "trtllm"}, 576),
        ("0.5.20", {"dsa_prefill_backend": "flashmla_sparse", "dsa_decode_backend": "trtllm"}, 576),
        (
            "0.5.19",
            {
                "dsa_prefill_backend": "flashmla_sparse",
                "dsa_decode_backend": "trtllm",
                "disaggregation_mode": "prefill",
            },
            576,
        ),
        (
            "0.5.20",
            {
                "dsa_prefill_backend": "flashmla_sparse",
                "dsa_decode_backend": "trtllm",
                "disaggregation_mode": "prefill",
            },
            656,
        ),
        ("0.5.13", {"dsa_prefill_backend": "flashmla_sparse", "dsa_decode_backend": "aiter"}, 656),
        ("0.5.14", {"dsa_prefill_backend": "flashmla_sparse", "dsa_decode_backend": "aiter"}, 576),
    ],
)
def test_the_backend_decides_how_fp8_latent_vectors_are_kept(
    release: str, args: dict[str, object], expected: int
) -> None:
    given = Arguments(args, known=True, release=Version(release))
    assert stored_latent_dim(SPARSE, kv("fp8_e4m3"), given) == expected


def test_the_index_of_minimax_m3_follows_the_cache_only_where_attention_multiplies_in_fp8() -> None:
    config = from_json(
        {
            "architectures": ["MiniMaxM3SparseForCausalLM"],
            "model_type": "minimax_m3",
            "num_hidden_layers": 3,
            "hidden_size": 4096,
            "num_attention_heads": 32,
            "num_key_value_heads": 4,
            "head_dim": 128,
            "max_position_embeddings": 131072,
            "torch_dtype": "bfloat16",
            "sparse_attention_config": {
                "sparse_attention_freq": [0, 1, 1],
                "sparse_disable_index_value": [0, 0, 1],
                "sparse_index_dim": 128,
            },
        }
    )
    # 3 layers x 2 x 4 heads x 128 bytes; one index layer keeps keys and values, one keys: 3 x 128 values.
    main = 3 * 2 * 4 * 128
    assert cell(config, "fp8_e4m3", "0.5.20", attention_backend="trtllm_mha") == main + 384 * 2
    assert cell(config, "fp8_e4m3", "0.5.21", attention_backend="trtllm_mha") == main + 384
    assert cell(config, "fp8_e4m3", "0.5.21", attention_backend="fa4") == main + 384 * 2
    assert cell(config, "bfloat16", "0.5.21", attention_backend="trtllm_mha") == main * 2 + 384 * 2


def launch(release: str, **keys: Any) -> SizingInputs:
    """80 GiB free before loading, 65 after, fraction 0.9."""
    reading = StageReadings(0, 0, None, Interval.exact(80), 1, Interval.exact(65), 2)
    inputs = SizingInputs(
        release=Version(release),
        args={"tp_size": 1, "page_size": 1},
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


DRAFT = from_json({**LLAMA_JSON, "num_hidden_layers": 5, "num_key_value_heads": 4})
"""Five layers of 4 heads: 4 x 256 x 5 x 2 = 10240 bytes per token."""
CELL = 8 * 256 * 32 * 2


@pytest.mark.parametrize(
    ("release", "algorithm", "expected"),
    [
        ("0.5.10", "DFLASH", CELL),
        # By layers of the target, rounded up.
        ("0.5.11", "DFLASH", CELL * 37 // 32),
        ("0.5.17", "DFLASH", CELL * 37 // 32),
        ("0.5.18", "DFLASH", CELL + 10240),
        ("0.5.15", "DSPARK", CELL),
        ("0.5.16", "DSPARK", CELL * 37 // 32),
        ("0.5.23", "DSPARK", CELL + 10240),
    ],
)
def test_a_block_draft_is_paid_for_by_the_target(release: str, algorithm: str, expected: int) -> None:
    args = {"tp_size": 1, "page_size": 1, "speculative_algorithm": algorithm, "max_running_requests": 32}
    answer = expect(launch(release, args=args, draft_config=DRAFT)).bytes_per_token
    assert answer is not None
    assert answer.value == expected


def test_a_block_draft_without_its_config_is_missing() -> None:
    args = {"tp_size": 1, "page_size": 1, "speculative_algorithm": "DFLASH", "max_running_requests": 32}
    answer = expect(launch("0.5.18", args=args))
    assert answer.tokens is None
    assert any("draft" in missing for missing in answer.missing)


def test_a_printed_block_draft_tells_its_bytes() -> None:
    args = {"tp_size": 1, "page_size": 1, "speculative_algorithm": "DFLASH", "max_running_requests": 32}
    tokens = 400_000
    pools = tuple(
        PrintedPool("kv", tokens, Interval.exact((tokens + 1) * each / 2**30), 3, "torch.bfloat16", draft=draft)
        for each, draft in ((CELL, False), (10240, True))
    )
    answer = expect(launch("0.5.18", args=args, config=None, architecture="LlamaForCausalLM", pools=pools))
    assert answer.bytes_per_token is not None
    assert answer.bytes_per_token.value == pytest.approx(CELL + 10240)


@pytest.mark.parametrize(
    ("release", "requests"),
    [("0.4.3.post2", 2048), ("0.4.3.post3", 32), ("0.4.4.post3", 32), ("0.4.4.post4", 48), ("0.5.12", 48)],
)
def test_speculation_brings_its_own_number_of_requests(release: str, requests: int) -> None:
    args = {"tp_size": 1, "page_size": 1, "speculative_algorithm": "EAGLE"}
    answer = expect(launch(release, args=args, args_known=False)).max_running_requests
    assert answer is not None
    # Without a default, 512 x tokens / context, at least 2048 (and one row more in 0.4.3).
    assert answer.value == pytest.approx(requests, abs=1)


def test_a_complete_dump_or_a_flag_has_the_last_word_on_requests() -> None:
    args = {"tp_size": 1, "page_size": 1, "speculative_algorithm": "EAGLE", "max_running_requests": 7}
    flagged = expect(launch("0.5.12", args=args, args_known=False)).max_running_requests
    assert flagged is not None
    assert flagged.value == 7
    silent = expect(launch("0.5.12", args={"tp_size": 1, "page_size": 1, "speculative_algorithm": "EAGLE"}))
    assert silent.max_running_requests is not None
    assert silent.max_running_requests.value == 2048


def test_what_speculation_would_change() -> None:
    changed = with_changes(launch("0.5.12"), {"speculative_algorithm": "EAGLE"})
    answer = expect(changed.inputs).max_running_requests
    assert answer is not None
    assert answer.value == 48


def test_compressed_pools_of_another_layout_cost_what_the_log_says() -> None:
    config = load(Path(__file__).parents[2] / "fixtures" / "models" / "deepseek-v4-flash.json")
    args = {"tp_size": 1, "page_size": 256, "swa_full_tokens_ratio": 0.1}
    inputs = launch("0.5.20", args=args, config=config, kv_dtype="torch.float8_e4m3fn")
    priced = expect(inputs).bytes_per_token
    assert priced is not None
    same = expect(replace(inputs, dsv4_bytes_per_token=Interval.printed(f"{priced.value:.2f}")))
    assert same.bytes_per_token == priced
    printed = Interval.printed("1234.50")
    other = expect(replace(inputs, dsv4_bytes_per_token=printed, dsv4_fixed_gib=Interval.exact(1)))
    assert other.bytes_per_token == printed
    assert any("the log's are taken" in said for said in other.assumptions)
    # 57 GiB, 1 of them for the state of fixed size, in whole pages of 256.
    assert other.tokens is not None
    assert other.tokens.low <= 56 * 2**30 // 1234.5 // 256 * 256 <= other.tokens.high


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"enable_dsa_cache_layer_split": True, "attn_cp_size": 4}, "context-parallel"),
        ({"quantization": "minimax_m3_nvfp4"}, "NVFP4"),
    ],
)
def test_what_the_formula_does_not_know_is_said(args: dict[str, object], said: str) -> None:
    answer = expect(launch("0.5.23", args={"tp_size": 4, "page_size": 1, **args}))
    assert answer.tokens is None
    assert any(said in missing for missing in answer.missing)
