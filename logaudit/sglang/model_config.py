"""A model's `config.json` read the way SGLang reads it: the shapes on which the KV cache depends."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from logaudit.errors import ConfigError
from logaudit.sglang import architectures as archs
from logaudit.sglang.linear_state import LinearState, linear_state

Json = Mapping[str, Any]

_TEXT_KEYS = ("thinker_config", "llm_config", "language_config", "text_config")
_CONTEXT_KEYS = (
    "max_sequence_length",
    "seq_length",
    "max_seq_len",
    "model_max_length",
    "max_position_embeddings",
)
_KV_HEAD_KEYS = ("n_head_kv", "num_kv_heads", "num_key_value_heads", "multi_query_group_num", "num_attention_groups")
_LARGEST_CONFIG_BYTES = 16 << 20
_MOST_LAYERS = 10_000
"""Layers are listed one by one; no model comes near."""

_CLASS_DEFAULTS: dict[str, dict[str, Any]] = {
    "gemma": {"head_dim": 256, "num_key_value_heads": 16},
    "gemma2": {"head_dim": 256, "num_key_value_heads": 4, "sliding_window": 4096},
    "gemma3_text": {
        "head_dim": 256,
        "hidden_size": 2304,
        "num_attention_heads": 8,
        "num_hidden_layers": 26,
        "num_key_value_heads": 4,
        "sliding_window": 4096,
        "max_position_embeddings": 131072,
    },
    "mistral": {"num_key_value_heads": 8},
    "mixtral": {"num_key_value_heads": 8},
    "gpt_oss": {"head_dim": 64, "num_key_value_heads": 8, "sliding_window": 128},
    "qwen3_moe": {"num_key_value_heads": 4},
    "qwen3_next": {
        "head_dim": 256,
        "num_key_value_heads": 2,
        "full_attention_interval": 4,
        "linear_conv_kernel_dim": 4,
        "linear_key_head_dim": 128,
        "linear_value_head_dim": 128,
        "linear_num_key_heads": 16,
        "linear_num_value_heads": 32,
    },
}
"""What the configuration classes fill in where a file leaves a key out, by `model_type`."""

_KIMI_TOWER = {"num_hidden_layers": 27, "hidden_size": 1152}


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """The shapes of a model as SGLang derives them (ModelConfig._derive_model_shapes), before any division by ranks."""

    architectures: tuple[str, ...]
    model_type: str
    num_hidden_layers: int
    num_attention_layers: int
    """Layers that hold KV: twice the hidden layers for LongCat-Flash, times the loops of a looped model."""
    num_attention_heads: int
    num_kv_heads: int
    hidden_size: int
    head_dim: int
    v_head_dim: int
    swa_num_kv_heads: int
    swa_head_dim: int
    swa_v_head_dim: int
    mla: bool = False
    kv_lora_rank: int = 0
    qk_rope_head_dim: int = 0
    qk_nope_head_dim: int = 0
    swa_kv_lora_rank: int = 0
    swa_qk_rope_head_dim: int = 0
    index_head_dim: int | None = None
    """Head size of the sparse-attention indexer; None without one."""
    index_kpool: int = 1
    index_skipped_layers: frozenset[int] = frozenset()
    """Layers that reuse the previous layer's choice and keep no indexer keys where the release leaves them out."""
    sliding_window: int | None = None
    """Tokens of the window as the config says."""
    swa_layers: tuple[int, ...] = ()
    full_layers: tuple[int, ...] = ()
    swa_opted_in: bool = False
    """The config's own `is_hybrid_swa`."""
    attention_chunk_size: int | None = None
    linear: LinearState | None = None
    compress_ratios: tuple[int, ...] = ()
    num_nextn_predict_layers: int | None = None
    context_length: int = 2048
    dtype: str = "bfloat16"
    quant_method: str | None = None
    kv_cache_quant_algo: str | None = None
    multimodal: bool = False
    has_vision_config: bool = False
    vision_layers: int | None = None
    """`num_hidden_layers` of the vision tower, where its config has that name."""
    vision_hidden_size: int | None = None
    minimax_sparse: Mapping[str, Any] | None = None
    """The `sparse_attention_config` of MiniMax-M3."""
    name: str = ""
    """File or text it was read from, for messages."""
    notes: tuple[str, ...] = field(default=())
    """What had to be assumed in reading it."""

    @property
    def architecture(self) -> str:
        """The first architecture, which SGLang's own rules look at."""
        return self.architectures[0] if self.architectures else ""

    @property
    def is_dsa(self) -> bool:
        """Sparse attention with an indexer over a latent cache."""
        return self.index_head_dim is not None and self.mla

    @property
    def is_dsv4(self) -> bool:
        """DeepSeek-V4's compressed attention."""
        return any(name in archs.DSV4 for name in self.architectures)

    @property
    def kv_layers(self) -> tuple[int, ...]:
        """Ids of the layers that hold KV: all of them, or a hybrid model's full-attention layers."""
        if self.linear is not None:
            return self.linear.attention_layers
        return tuple(range(self.num_attention_layers))

    def draft_layers(self) -> int:
        """Layers of the KV cache when this config is loaded as a draft (spec_aux_hidden_state, eagle_draft_num_layers).

        The bundled multi-token-prediction head counts its `num_nextn_predict_layers`, a model of its own its layers.
        """
        if self.num_nextn_predict_layers is not None:
            return self.num_nextn_predict_layers
        return max(self.num_hidden_layers, self.num_attention_layers)


def load(path: str | Path) -> ModelConfig:
    """The config in a file, or in `config.json` of a folder; raises ConfigError in one line."""
    place = Path(path)
    if place.is_dir():
        place = place / "config.json"
    where = str(place)
    try:
        with place.open("rb") as file:
            text = file.read(_LARGEST_CONFIG_BYTES + 1)
        if len(text) > _LARGEST_CONFIG_BYTES:
            raise ConfigError(
                "the file is too large for a model config", where=where, do="give the model's config.json"
            )
    except FileNotFoundError:
        raise ConfigError("no such model config", where=where, do="give a config.json or the folder it is in") from None
    except OSError as problem:
        raise ConfigError(f"the model config cannot be read: {problem.strerror or problem}", where=where) from None
    quant = place.parent / "hf_quant_config.json"
    return loads(text, where=where, quantization=_sidecar(quant))


def loads(text: bytes | str, *, where: str = "model config", quantization: Json | None = None) -> ModelConfig:
    """The config in JSON text; raises ConfigError."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise ConfigError("not valid JSON", where=where, do="give the model's config.json") from None
    if not isinstance(data, dict):
        raise ConfigError("the JSON is not an object", where=where, do="give the model's config.json")
    return from_json(data, where=where, quantization=quantization)


def from_json(data: Json, *, where: str = "model config", quantization: Json | None = None) -> ModelConfig:
    """The config in a parsed `config.json`; `quantization` is `hf_quant_config.json` beside it. Raises ConfigError."""
    try:
        return _read(data, where, quantization)
    except ConfigError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, ZeroDivisionError, IndexError) as problem:
        raise ConfigError(f"a value has not the form that was expected ({_brief(problem)})", where=where) from None


def _brief(problem: Exception) -> str:
    text = f"{type(problem).__name__}: {problem}".replace("\n", " ")
    return text if len(text) <= 120 else text[:117] + "..."


def _sidecar(path: Path) -> Json | None:
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST_CONFIG_BYTES:
            return None
        data = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


class _Keys:
    """Looks a key up in the text config, then in its class's defaults."""

    def __init__(self, text: Json, where: str) -> None:
        self.text = text
        self.where = where
        self.defaults = _CLASS_DEFAULTS.get(str(text.get("model_type", "")), {})

    def get(self, key: str, default: Any = None) -> Any:
        value = self.text.get(key)
        return self.defaults.get(key, default) if value is None else value

    def whole(self, key: str, default: int | None = None) -> int | None:
        value = self.get(key, default)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value != math.floor(value):
            raise ConfigError(f"`{key}` is not a whole number: {str(value)[:40]!r}", where=self.where)
        if value > (_MOST_LAYERS if "layer" in key else 1 << 40):
            raise ConfigError(f"`{key}` is out of range: {str(value)[:40]}", where=self.where)
        return int(value)

    def need(self, *keys: str) -> int:
        for key in keys:
            value = self.whole(key)
            if value is not None:
                if value < 0 or value > 1 << 40:
                    raise ConfigError(f"`{key}` is out of range: {value}", where=self.where)
                return value
        raise ConfigError(
            f"`{keys[0]}` is missing",
            where=self.where,
            do="give the config.json of a language model that SGLang serves",
        )


def _text_config(data: Json) -> Json:
    """The language model's part of a multimodal config (get_hf_text_config), top-level keys behind it."""
    for key in _TEXT_KEYS:
        part = data.get(key)
        if isinstance(part, Mapping) and part:
            inner = part.get("text_config")
            return inner if key == "thinker_config" and isinstance(inner, Mapping) else part
    return data


def _read(data: Json, where: str, quantization: Json | None) -> ModelConfig:
    text = _text_config(data)
    keys = _Keys(text, where)
    names = data.get("architectures") or text.get("architectures") or []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ConfigError("`architectures` is not a list of names", where=where)
    architectures = tuple(names)
    notes: list[str] = []
    model_type = str(data.get("model_type") or text.get("model_type") or "")
    pattern = keys.get("hybrid_override_pattern")
    block_types = keys.get("layers_block_type")
    if isinstance(block_types, list) and model_type.startswith("nemotron_h"):
        layers = len(block_types)
    elif isinstance(pattern, str) and pattern:
        layers = len(pattern)
    else:
        layers = keys.need("num_hidden_layers", "n_layer", "n_layers", "num_layers")
    heads = keys.whole("num_attention_heads") or keys.whole("n_head") or keys.whole("n_heads") or 0
    hidden = keys.need("hidden_size", "n_embd", "d_model")
    head_dim = keys.whole("head_dim") or (keys.whole("attention_head_dim") or (hidden // heads if heads else 0))
    v_head_dim = keys.whole("v_head_dim") or head_dim
    swa_head_dim = keys.whole("swa_head_dim") or head_dim
    latent = keys.whole("kv_lora_rank")
    mla = latent is not None and _uses_latent(architectures, data, text, notes)
    kv_heads = _kv_heads(data, keys, heads)
    other = keys.get("attention_other_setting")
    swa_kv = keys.whole("swa_num_key_value_heads")
    if swa_kv is None:
        swa_kv = (
            int(other["num_attention_groups"])
            if isinstance(other, Mapping) and "num_attention_groups" in other
            else kv_heads
        )
    full, sliding = _window_layers(architectures, keys, layers)
    is_dsa = bool(
        mla and (keys.get("index_topk") is not None) and any(name in archs.DSA for name in _dsa_names(data, text))
    )
    is_dsv4 = any(name in archs.DSV4 for name in architectures)
    nope_only = bool(keys.get("use_mla_nope")) and any(name.startswith("BailingMoeV3") for name in architectures)
    rope = keys.whole("qk_rope_head_dim") or 0
    tower = data.get("vision_config")
    vision = tower if isinstance(tower, Mapping) else {}
    method, kv_quant = _quantization(data, text, quantization)
    return ModelConfig(
        architectures=architectures,
        model_type=model_type,
        num_hidden_layers=layers,
        num_attention_layers=_attention_layers(architectures, keys, layers),
        num_attention_heads=heads,
        num_kv_heads=kv_heads,
        hidden_size=hidden,
        head_dim=head_dim,
        v_head_dim=v_head_dim,
        swa_num_kv_heads=swa_kv,
        swa_head_dim=swa_head_dim,
        swa_v_head_dim=keys.whole("swa_v_head_dim") or (swa_head_dim if keys.whole("swa_head_dim") else v_head_dim),
        mla=mla,
        kv_lora_rank=latent or 0,
        qk_rope_head_dim=0 if nope_only else rope,
        qk_nope_head_dim=keys.whole("qk_nope_head_dim") or (max(0, head_dim - rope) if is_dsv4 else 0),
        swa_kv_lora_rank=keys.whole("swa_kv_lora_rank") or latent or 0,
        swa_qk_rope_head_dim=keys.whole("swa_qk_rope_head_dim") or rope,
        index_head_dim=keys.whole("index_head_dim") if is_dsa or is_dsv4 else None,
        index_kpool=keys.whole("index_kpool") or 1,
        index_skipped_layers=_skipped_index_layers(keys, layers) if is_dsa else frozenset(),
        sliding_window=_window(keys),
        swa_layers=sliding,
        full_layers=full,
        swa_opted_in=bool(keys.get("is_hybrid_swa")),
        attention_chunk_size=keys.whole("attention_chunk_size"),
        linear=linear_state(architectures, data, text, keys.get, layers),
        compress_ratios=tuple(int(r) for r in keys.get("compress_ratios") or ()),
        num_nextn_predict_layers=keys.whole("num_nextn_predict_layers"),
        context_length=_context_length(keys),
        dtype=_dtype(data, text),
        quant_method=method,
        kv_cache_quant_algo=kv_quant,
        multimodal=any(isinstance(data.get(k), Mapping) for k in ("vision_config", "audio_config", "sound_config")),
        has_vision_config=isinstance(tower, Mapping),
        vision_layers=_tower(vision, model_type, "num_hidden_layers"),
        vision_hidden_size=_tower(vision, model_type, "hidden_size"),
        minimax_sparse=_mapping(keys.get("sparse_attention_config")),
        name=where,
        notes=tuple(notes),
    )


def _tower(vision: Json, model_type: str, key: str) -> int | None:
    """A size of the vision tower; Kimi-K2.5's config class names them `vt_…` and has defaults of its own."""
    if model_type == "kimi_k25":
        return _first_whole(vision, key, f"vt_{key}") or _KIMI_TOWER[key]
    return _first_whole(vision, key)


def _mapping(value: Any) -> Mapping[str, Any] | None:
    return value if isinstance(value, Mapping) else None


def _first_whole(data: Json, *names: str) -> int | None:
    for name in names:
        value = data.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None


def _dsa_names(data: Json, text: Json) -> tuple[str, ...]:
    return tuple(name for part in (data, text) for name in part.get("architectures") or ())


def _uses_latent(architectures: tuple[str, ...], data: Json, text: Json, notes: list[str]) -> bool:
    if any(name in archs.DSV4 for name in architectures):
        return False
    if archs.is_mla(architectures):
        return not ("DeepseekVL2ForCausalLM" in architectures and text.get("use_mla") is False)
    inner = tuple(text.get("architectures") or ())
    if architectures and not archs.is_mla(inner):
        if text is data and not any("Deepseek" in name for name in architectures):
            notes.append(f"{architectures[0]} has a kv_lora_rank: taken as multi-head latent attention")
        return True
    return True


def _kv_heads(data: Json, keys: _Keys, heads: int) -> int:
    """ModelConfig.get_total_num_kv_heads."""
    model_type = data.get("model_type")
    falcon = model_type in {"falcon", "RefinedWeb", "RefinedWebModel"} and bool(data.get("new_decoder_architecture"))
    if not falcon and keys.get("multi_query"):
        return 1
    if model_type in {"mpt", "dbrx"}:
        attention = data.get("attn_config")
        return int(attention["kv_n_heads"]) if isinstance(attention, Mapping) and "kv_n_heads" in attention else heads
    blocks = data.get("block_configs")
    if model_type == "nemotron-nas" and isinstance(blocks, list):
        groups = {
            int(block["attention"]["n_heads_in_group"])
            for block in blocks
            if not block.get("attention", {}).get("no_op")
        }
        if len(groups) == 1:
            return heads // groups.pop()
    for key in _KV_HEAD_KEYS:
        value = keys.whole(key)
        if value is not None:
            return value
    return heads


def _attention_layers(architectures: tuple[str, ...], keys: _Keys, layers: int) -> int:
    """ModelConfig.num_attention_layers."""
    if any(name.startswith("LongcatFlash") for name in architectures):
        return layers * 2
    if "IQuestLoopCoderForCausalLM" in architectures:
        return layers * int(keys.get("loop_num", 1))
    if "NanbeigeForCausalLM" in architectures:
        return layers * int(keys.get("num_loops", 1))
    if "WhisperForConditionalGeneration" in architectures:
        return int(keys.get("encoder_layers", 0)) + 2 * int(keys.get("decoder_layers", layers))
    return layers


def _window(keys: _Keys) -> int | None:
    for key in ("sliding_window_size", "sliding_window", "window_size"):
        value = keys.get(key)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0:
            return int(value)
    return None


def _window_layers(architectures: tuple[str, ...], keys: _Keys, layers: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Ids of the full-attention and of the sliding-window layers (get_hybrid_layer_ids)."""
    ids = range(layers)
    if any(name in {"MiMoV2MTP", "Step3p5MTP"} for name in architectures):
        return (), (0,)
    if "UnlimitedOCRForCausalLM" in architectures:
        return (), tuple(ids)
    if any(name.startswith("Llama4") for name in architectures):
        return tuple(i for i in ids if (i + 1) % 4 == 0), tuple(i for i in ids if (i + 1) % 4)
    local = keys.get("local_layer_ids")
    if isinstance(local, list) and any(name.startswith("Inkling") for name in architectures):
        chosen = {int(i) for i in local}
        return tuple(i for i in ids if i not in chosen), tuple(i for i in ids if i in chosen)
    pattern = keys.get("hybrid_layer_pattern")
    if isinstance(pattern, list):
        marked = pattern[:layers]
        return tuple(i for i, x in enumerate(marked) if x == 0), tuple(i for i, x in enumerate(marked) if x == 1)
    types = keys.get("layer_types")
    if isinstance(types, list) and "sliding_attention" in types:
        kinds = types[:layers]
        return (
            tuple(i for i, kind in enumerate(kinds) if kind == "full_attention"),
            tuple(i for i, kind in enumerate(kinds) if kind == "sliding_attention"),
        )
    every = keys.get("sliding_window_pattern") or keys.get("_sliding_window_pattern")
    if isinstance(every, int) and every > 1 and _window(keys):
        return tuple(i for i in ids if (i + 1) % every == 0), tuple(i for i in ids if (i + 1) % every)
    if "Gemma2ForCausalLM" in architectures:
        return tuple(i for i in ids if i % 2), tuple(i for i in ids if i % 2 == 0)
    return tuple(ids), ()


def _skipped_index_layers(keys: _Keys, layers: int) -> frozenset[int]:
    """Layers without indexer keys of their own (dsa_layer_skips_topk)."""
    kinds = keys.get("indexer_types")
    if isinstance(kinds, list):
        return frozenset(i for i, kind in enumerate(kinds[:layers]) if kind == "shared")
    every = keys.whole("cli_factor") or 1
    if every > 1:
        return frozenset(i for i in range(layers) if i % every)
    pattern = keys.get("index_topk_pattern")
    if isinstance(pattern, (str, list)):
        return frozenset(i for i, mark in enumerate(pattern[:layers]) if mark == "S")
    frequency = keys.whole("index_topk_freq") or 1
    offset = keys.whole("index_skip_topk_offset") or 2
    return frozenset(i for i in range(layers) if max(i - offset + 1, 0) % frequency) if frequency > 1 else frozenset()


def _context_length(keys: _Keys) -> int:
    """get_context_length: the first length key, times the RoPE factor where it is not counted in already."""
    scaling = keys.get("rope_scaling")
    factor: float = 1
    if isinstance(scaling, Mapping):
        factor = scaling.get("factor", 1) or 1
        if "original_max_position_embeddings" in scaling or scaling.get("rope_type") == "llama3":
            factor = 1
    for key in _CONTEXT_KEYS:
        value = keys.get(key)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return int(factor * value)
    return 2048


def _dtype(data: Json, text: Json) -> str:
    """Weights' type as `--dtype auto` resolves it: float32 checkpoints become float16 (_get_and_verify_dtype)."""
    for part in (text, data):
        for key in ("torch_dtype", "dtype"):
            value = part.get(key)
            if isinstance(value, str):
                short = value.removeprefix("torch.")
                if short != "float32":
                    return short
                return "bfloat16" if str(text.get("model_type", "")).startswith("gemma") else "float16"
    return "bfloat16" if str(text.get("model_type", "")).startswith("gemma") else "float16"


def _quantization(data: Json, text: Json, sidecar: Json | None) -> tuple[str | None, str | None]:
    """The quantisation method, and the KV cache's own (`kv_cache_quant_algo`, or ModelOpt's scheme)."""
    parts = [p for p in (data.get("quantization_config"), text.get("quantization_config")) if isinstance(p, Mapping)]
    if sidecar is not None:
        inner = sidecar.get("quantization")
        parts.append(inner if isinstance(inner, Mapping) else sidecar)
    method = next((str(p["quant_method"]) for p in parts if p.get("quant_method")), None)
    if method is None:
        method = next((str(p["quant_algo"]).lower() for p in parts if p.get("quant_algo")), None)
    for part in parts:
        inner = part.get("quantization")
        for place in (part, inner if isinstance(inner, Mapping) else {}):
            if isinstance(place.get("kv_cache_quant_algo"), str):
                return method, str(place["kv_cache_quant_algo"]).upper()
            scheme = place.get("kv_cache_scheme")
            if isinstance(scheme, Mapping) and method == "modelopt" and scheme.get("num_bits") == 8:
                return method, "FP8"
    return method, None
