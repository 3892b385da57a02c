"""Which architectures SGLang treats in a special way when it sizes its pools, and since which release."""

from __future__ import annotations

from collections.abc import Iterable

from packaging.version import Version

MLA = frozenset(
    {
        "BailingMoeV2_5ForCausalLM",
        "BailingMoeV3ForCausalLM",
        "BailingMoeV3VLForConditionalGeneration",
        "DeepseekV2ForCausalLM",
        "DeepseekV32ForCausalLM",
        "DeepseekV3ForCausalLM",
        "DeepseekV3ForCausalLMNextN",
        "DeepseekVL2ForCausalLM",
        "Dots3NoteForCausalLM",
        "Dots3NoteForCausalLMNextN",
        "DotsVLMForCausalLM",
        "Eagle3DeepseekV2ForCausalLM",
        "GigaChat35ForCausalLM",
        "GigaChat35ForCausalLMNextN",
        "Glm4MoeLiteForCausalLM",
        "Glm4MoeLiteForCausalLMNextN",
        "Glm5NextForConditionalGeneration",
        "Glm5NextForConditionalGenerationNextN",
        "GlmMoeDsaForCausalLM",
        "GlmMoeDsaForCausalLMNextN",
        "HYV4ForCausalLM",
        "HYV4ForCausalLMNextN",
        "KimiK25ForConditionalGeneration",
        "KimiK3ForConditionalGeneration",
        "KimiK3LinearForCausalLM",
        "KimiLinearForCausalLM",
        "KimiVLForConditionalGeneration",
        "LongcatFlashForCausalLM",
        "LongcatFlashForCausalLMNextN",
        "MiniCPM3ForCausalLM",
        "MistralLarge3ForCausalLM",
        "MistralLarge3ForCausalLMEagle",
        "SarvamMLAForCausalLM",
    }
)
"""Architectures whose KV cache is one latent vector per token and layer (ModelConfig._derive_model_shapes)."""

MLA_IF_LATENT = frozenset({"PixtralForConditionalGeneration", "BailingMoeForCausalLMNextN"})
"""MLA when their config has a `kv_lora_rank`, grouped-query attention otherwise."""

DSA = frozenset(
    {
        "DeepseekV3ForCausalLM",
        "DeepseekV32ForCausalLM",
        "DeepseekV3ForCausalLMNextN",
        "Dots3NoteForCausalLM",
        "Dots3NoteForCausalLMNextN",
        "Glm5NextForConditionalGeneration",
        "Glm5NextForConditionalGenerationNextN",
        "GlmMoeDsaForCausalLM",
        "GlmMoeDsaForCausalLMNextN",
        "HYV4ForCausalLM",
        "HYV4ForCausalLMNextN",
        "LongcatFlashForCausalLM",
        "LongcatFlashForCausalLMNextN",
        "MistralLarge3ForCausalLM",
        "PixtralForConditionalGeneration",
    }
)
"""Sparse attention with an indexer when the config has `index_topk` (is_deepseek_dsa, until 0.5.12 is_deepseek_nsa)."""

DSV4 = frozenset({"DeepseekV4ForCausalLM", "DeepseekV4ForCausalLMNextN", "DeepseekV4ForCausalLMDSpark"})
"""Compressed attention with its own pool configurator."""

RECURRENT_PREFIXES = (
    "BailingMoeLinear",
    "BailingMoeV2_5",
    "BailingMoeV3",
    "FalconH1",
    "GraniteMoeHybrid",
    "JetNemotron",
    "JetVLM",
    "KimiLinear",
    "Lfm2",
    "NemotronH",
    "Qwen3Next",
    "Qwen3_5",
)
"""Beginnings of the names of hybrid models with recurrent layers (mambaish_config)."""

_SWA_SINCE = {
    "Llama4ForConditionalGeneration": "0.5.7",
    "GptOssForCausalLM": "0.5.7",
    "MiMoV2FlashForCausalLM": "0.5.7",
    "MiMoV2MTP": "0.5.7",
    "Step3p5ForCausalLM": "0.5.9",
    "Step3p5MTP": "0.5.9",
    "DeepseekV4ForCausalLM": "0.5.12",
    "DeepseekV4ForCausalLMNextN": "0.5.12",
    "MiMoV2ForCausalLM": "0.5.11",
    "Gemma4ForCausalLM": "0.5.11",
    "Gemma4ForConditionalGeneration": "0.5.11",
    "LagunaForCausalLM": "0.5.12",
    "Gemma4UnifiedForConditionalGeneration": "0.5.13",
    "Step3p7ForConditionalGeneration": "0.5.13",
    "DeepseekV4ForCausalLMDSpark": "0.5.16",
    "MellumForCausalLM": "0.5.16",
    "InklingForConditionalGeneration": "0.5.16",
    "InklingForConditionalGenerationMTP": "0.5.16",
    "UnlimitedOCRForCausalLM": "0.5.15",
    "GraniteSWAForCausalLM": "0.5.19",
    "GraniteMoeSWAForCausalLM": "0.5.19",
    "MuseGlimmerForCausalLM": "0.5.18",
    "MuseGlimmerForConditionalGeneration": "0.5.18",
    "BeamForCausalLM": "0.5.23",
    "EmbeddingGemma2Model": "0.5.22",
    "DiffusionGemmaForBlockDiffusion": "0.5.21",
    "IQuestQ1ForCausalLM": "0.5.21",
    "IQuestQ1MTP": "0.5.21",
}
_SWA_OPT_IN_SINCE = Version("0.5.13")
_SWA_BY_NAME_SINCE = Version("0.5.7")
_SWA_BY_WINDOW_SINCE = Version("0.4.9.post3")

_WINDOW_READ_BY_MODEL = frozenset(
    {
        "Gemma2ForCausalLM",
        "Gemma3ForCausalLM",
        "Gemma3ForConditionalGeneration",
        "Gemma3nForCausalLM",
        "Gemma3nForConditionalGeneration",
        "GptOssForCausalLM",
        "Olmo2ForCausalLM",
        "Olmo3ForCausalLM",
    }
)
_WINDOW_POOL_SWITCHED_OFF = {
    "Gemma2ForCausalLM": "0.4.10.post2",
    "Gemma3ForCausalLM": "0.5.1",
    "Gemma3ForConditionalGeneration": "0.5.1",
    "Gemma3nForCausalLM": "0.5.1",
    "Gemma3nForConditionalGeneration": "0.5.1",
    "GptOssForCausalLM": "0.5.1",
    "Olmo2ForCausalLM": "0.5.4",
    "Olmo3ForCausalLM": "0.5.3",
}

MULTIMODAL_OFF_BY_DEFAULT = frozenset(
    {
        "Gemma3ForConditionalGeneration",
        "InklingForConditionalGeneration",
        "Llama4ForConditionalGeneration",
        "Step3VLForConditionalGeneration",
    }
)
"""Multimodal architectures that SGLang serves as text models unless --enable-multimodal is given."""


def splits_sliding_window(
    architectures: Iterable[str], release: Version, *, opted_in: bool = False, has_window: bool = True
) -> bool:
    """Whether `release` keeps the sliding-window layers of these architectures in a pool of their own.

    Until 0.5.6 the loaded model's window decides, unless server_args switches the pool off for its architecture; from
    0.5.7 a list of names does (ModelConfig.is_hybrid_swa_model). `opted_in` is the config's own `is_hybrid_swa`.
    """
    names = tuple(architectures)
    if release < _SWA_BY_WINDOW_SINCE:
        return False
    if release < _SWA_BY_NAME_SINCE:
        off = any(
            name in _WINDOW_POOL_SWITCHED_OFF and release >= Version(_WINDOW_POOL_SWITCHED_OFF[name]) for name in names
        )
        return has_window and not off and any(name in _WINDOW_READ_BY_MODEL for name in names)
    for name in names:
        since = _SWA_SINCE.get(name)
        if since is not None and release >= Version(since):
            return has_window if name in {"LagunaForCausalLM", "BeamForCausalLM"} else True
    return opted_in and release >= _SWA_OPT_IN_SINCE


def may_split_sliding_window(architectures: Iterable[str]) -> bool:
    """Whether any release keeps a sliding-window pool for one of these architectures."""
    return any(name in _SWA_SINCE or name in _WINDOW_READ_BY_MODEL for name in architectures)


def is_mla(architectures: Iterable[str], *, has_latent: bool = True) -> bool:
    """Whether SGLang's ModelConfig takes one of these architectures as multi-head latent attention."""
    return any(name in MLA or (has_latent and name in MLA_IF_LATENT) for name in architectures)
