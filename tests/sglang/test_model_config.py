"""Model configs of the families that SGLang serves, with figures worked out from their published shapes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from logaudit.errors import ConfigError
from logaudit.sglang.architectures import splits_sliding_window
from logaudit.sglang.model_config import from_json, load, loads

BASE: dict[str, Any] = {
    "num_hidden_layers": 32,
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 8192,
    "torch_dtype": "bfloat16",
}


def config(architecture: str, model_type: str = "", **keys: Any) -> dict[str, Any]:
    return {"architectures": [architecture], "model_type": model_type, **BASE, **keys}


def test_head_dim_from_the_hidden_size() -> None:
    read = from_json(config("LlamaForCausalLM", "llama"))
    assert (read.head_dim, read.v_head_dim, read.num_kv_heads) == (128, 128, 8)
    assert read.kv_layers == tuple(range(32))
    assert not read.mla


def test_heads_without_groups_are_kv_heads() -> None:
    data = config("OPTForCausalLM")
    del data["num_key_value_heads"]
    assert from_json(data).num_kv_heads == 32


@pytest.mark.parametrize(
    ("keys", "heads"),
    [
        ({"multi_query": True}, 1),
        ({"multi_query_group_num": 2, "num_key_value_heads": None}, 2),
        ({"num_attention_groups": 1, "num_key_value_heads": None}, 1),
        ({"num_kv_heads": 4}, 4),
    ],
)
def test_other_names_of_kv_heads(keys: dict[str, Any], heads: int) -> None:
    assert from_json(config("SomeForCausalLM", **keys)).num_kv_heads == heads


def test_text_part_of_a_multimodal_config() -> None:
    read = from_json(
        {
            "architectures": ["KimiK25ForConditionalGeneration"],
            "model_type": "kimi_k25",
            "vision_config": {},
            "text_config": {
                **BASE,
                "kv_lora_rank": 512,
                "qk_rope_head_dim": 64,
                "architectures": ["DeepseekV3ForCausalLM"],
            },
        }
    )
    assert read.mla
    assert (read.kv_lora_rank, read.qk_rope_head_dim) == (512, 64)
    assert read.multimodal


def test_thinker_of_an_omni_model() -> None:
    data = {"architectures": ["Qwen3OmniMoeForConditionalGeneration"], "thinker_config": {"text_config": BASE}}
    assert from_json(data).num_hidden_layers == 32


@pytest.mark.parametrize(
    ("architecture", "keys"),
    [
        ("DeepseekV2ForCausalLM", {}),
        ("MiniCPM3ForCausalLM", {}),
        ("KimiLinearForCausalLM", {}),
        ("Glm4MoeLiteForCausalLM", {}),
        ("BailingMoeV2_5ForCausalLM", {}),
        ("MistralLarge3ForCausalLM", {}),
    ],
)
def test_latent_attention(architecture: str, keys: dict[str, Any]) -> None:
    read = from_json(config(architecture, kv_lora_rank=512, qk_rope_head_dim=64, **keys))
    assert read.mla
    assert not read.is_dsa


def test_longcat_has_two_attention_layers_in_each() -> None:
    read = from_json(config("LongcatFlashForCausalLM", kv_lora_rank=512, qk_rope_head_dim=64, num_hidden_layers=28))
    assert read.num_attention_layers == 56


def test_sparse_attention_needs_the_indexer_and_its_architecture() -> None:
    keys = {"kv_lora_rank": 512, "qk_rope_head_dim": 64, "index_topk": 2048, "index_head_dim": 128}
    assert from_json(config("GlmMoeDsaForCausalLM", **keys)).is_dsa
    assert from_json(config("DeepseekV32ForCausalLM", **keys)).index_head_dim == 128
    assert not from_json(config("Glm4MoeLiteForCausalLM", **keys)).is_dsa


def test_layers_that_share_their_indexer() -> None:
    # Every fourth layer has an indexer of its own, and layer 0: the rest reuse the one before.
    keys = {"kv_lora_rank": 512, "qk_rope_head_dim": 64, "index_topk": 2048, "index_head_dim": 128}
    read = from_json(config("GlmMoeDsaForCausalLM", num_hidden_layers=8, index_topk_freq=4, **keys))
    assert read.index_skipped_layers == {2, 3, 4, 6, 7}


@pytest.mark.parametrize(
    ("architecture", "keys", "full"),
    [
        ("GptOssForCausalLM", {"layer_types": ["sliding_attention", "full_attention"] * 16}, tuple(range(1, 32, 2))),
        ("MiMoV2FlashForCausalLM", {"hybrid_layer_pattern": [0, 1, 1, 1] * 8}, tuple(range(0, 32, 4))),
        ("Llama4ForConditionalGeneration", {"attention_chunk_size": 8192}, tuple(range(3, 32, 4))),
        ("Gemma3ForCausalLM", {"sliding_window_pattern": 6}, (5, 11, 17, 23, 29)),
        ("Gemma2ForCausalLM", {}, tuple(range(1, 32, 2))),
    ],
)
def test_full_attention_layers(architecture: str, keys: dict[str, Any], full: tuple[int, ...]) -> None:
    read = from_json(config(architecture, sliding_window=128, **keys))
    assert read.full_layers == full
    assert sorted((*read.full_layers, *read.swa_layers)) == list(range(32))


def test_a_window_with_heads_of_its_own() -> None:
    read = from_json(config("MiMoV2FlashForCausalLM", head_dim=192, v_head_dim=128, swa_num_key_value_heads=4))
    assert (read.swa_num_kv_heads, read.swa_head_dim, read.v_head_dim) == (4, 192, 128)


def test_gated_delta_net_state_by_hand() -> None:
    # Qwen3-Next on 4 ranks: convolution (32 x 128 + 2 x 16 x 128) / 4 x 3 = 6144 elements of 2 bytes,
    # state 8 x 128 x 128 = 131072 elements of 4 bytes, in 24 of 32 layers.
    read = from_json(config("Qwen3NextForCausalLM", "qwen3_next"))
    assert read.linear is not None
    assert len(read.linear.layers) == 24
    assert read.kv_layers == tuple(range(3, 32, 4))
    assert read.linear.bytes_per_request(4) == (6144 * 2 + 131072 * 4) * 24
    assert read.linear.bytes_per_request(4, ssm_bytes=2) == (6144 * 2 + 131072 * 2) * 24


def test_mamba2_state_by_hand() -> None:
    # Nemotron-H: 128 heads of 80, 8 groups of 128: convolution (10240 + 2048) x 3, state 128 x 80 x 128.
    read = from_json(
        config(
            "NemotronHForCausalLM",
            "nemotron_h",
            hybrid_override_pattern="M-M*-M",
            mamba_num_heads=128,
            mamba_head_dim=80,
            n_groups=8,
            ssm_state_size=128,
            conv_kernel=4,
        )
    )
    assert read.num_hidden_layers == 6
    assert read.linear is not None
    assert read.linear.layers == (0, 2, 5)
    assert read.kv_layers == (3,)
    assert read.linear.bytes_per_request(1) == (12288 * 3 * 2 + 128 * 80 * 128 * 4) * 3


def test_groups_that_do_not_divide_are_repeated() -> None:
    # Falcon-H1 with one group on two ranks keeps it twice: convolution (4096 + 2 x 2 x 256) / 2 x 3.
    read = from_json(
        config(
            "FalconH1ForCausalLM",
            "falcon_h1",
            mamba_d_ssm=4096,
            mamba_n_heads=64,
            mamba_d_head=64,
            mamba_d_state=256,
            mamba_n_groups=1,
        )
    )
    assert read.linear is not None
    assert read.linear.elements_per_layer(2) == (2560 * 3, 32 * 64 * 256)
    assert read.kv_layers == tuple(range(32))


def test_kimi_delta_attention_by_hand() -> None:
    # 32 heads of 128 on 2 ranks: three projections of 2048 x 3 for the convolution, state 16 x 128 x 128.
    linear = {"kda_layers": [1, 2, 3], "num_heads": 32, "head_dim": 128, "short_conv_kernel_size": 4}
    read = from_json(
        config(
            "KimiLinearForCausalLM",
            num_hidden_layers=4,
            kv_lora_rank=512,
            qk_rope_head_dim=64,
            linear_attn_config=linear,
        )
    )
    assert read.linear is not None
    assert read.linear.layers == (0, 1, 2)
    assert read.linear.elements_per_layer(2) == (3 * 2048 * 3, 16 * 128 * 128)
    assert read.kv_layers == (3,)


def test_granite_hybrid_and_short_convolutions() -> None:
    granite = from_json(
        config(
            "GraniteMoeHybridForCausalLM",
            "granitemoehybrid",
            layer_types=["mamba"] * 31 + ["attention"],
            mamba_n_heads=128,
        )
    )
    assert granite.kv_layers == (31,)
    lfm = from_json(config("Lfm2ForCausalLM", "lfm2", layer_types=["conv", "conv", "full_attention", "conv"] * 8))
    assert lfm.linear is not None
    # Two elements of history for each of 4096 channels, no recurrent state.
    assert lfm.linear.elements_per_layer(1) == (4096 * 2, 0)


def test_context_length_with_and_without_rope_scaling() -> None:
    assert from_json(config("A", rope_scaling={"factor": 4.0, "type": "linear"})).context_length == 32768
    counted = {"factor": 4.0, "rope_type": "yarn", "original_max_position_embeddings": 2048}
    assert from_json(config("A", rope_scaling=counted)).context_length == 8192


def test_kv_cache_scheme_of_the_checkpoint() -> None:
    quantised = config("A", quantization_config={"quant_method": "modelopt", "kv_cache_quant_algo": "FP8"})
    assert from_json(quantised).kv_cache_quant_algo == "FP8"
    sidecar = {"quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"}}
    assert from_json(config("A"), quantization=sidecar).kv_cache_quant_algo == "FP8"


def test_draft_layers() -> None:
    assert from_json(config("LlamaForCausalLMEagle3", num_hidden_layers=1)).draft_layers() == 1
    assert from_json(config("DeepseekV3ForCausalLM", num_nextn_predict_layers=1)).draft_layers() == 1


def test_which_releases_split_the_pool() -> None:
    gptoss = ("GptOssForCausalLM",)
    assert [splits_sliding_window(gptoss, Version(v)) for v in ("0.4.9", "0.5.4", "0.5.7", "0.5.23")] == [
        False,
        False,
        True,
        True,
    ]
    assert not splits_sliding_window(("Gemma3ForCausalLM",), Version("0.5.23"))
    assert splits_sliding_window(("OwnForCausalLM",), Version("0.5.14"), opted_in=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not valid JSON"),
        ("[1]", "not an object"),
        ("{}", "`num_hidden_layers` is missing"),
        ('{"num_hidden_layers": "many", "hidden_size": 1}', "not a whole number"),
        ('{"num_hidden_layers": -3, "hidden_size": 1}', "out of range"),
        ('{"num_hidden_layers": 1000000000, "hidden_size": 1}', "out of range"),
        ('{"architectures": 5, "num_hidden_layers": 1, "hidden_size": 1}', "not a list of names"),
        ("[" * 100000, "not valid JSON"),
    ],
)
def test_bad_input_is_one_line(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as raised:
        loads(text, where="x.json")
    assert "\n" not in str(raised.value)


def test_file_folder_and_absence(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config("LlamaForCausalLM")))
    assert load(tmp_path) == load(tmp_path / "config.json")
    with pytest.raises(ConfigError, match="no such model config"):
        load(tmp_path / "other")


def test_every_config_of_the_oracle(shared_dir: Path) -> None:
    folders = sorted((shared_dir / "oracle" / "models").iterdir())
    assert len(folders) > 15
    assert all(load(folder).num_kv_heads > 0 for folder in folders)
