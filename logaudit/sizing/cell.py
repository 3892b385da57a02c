"""Bytes that one token takes in the KV cache of one rank, from the model's shapes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from packaging.version import Version

from logaudit.sglang.model_config import ModelConfig
from logaudit.sizing.arguments import Arguments
from logaudit.sizing.kv_dtype import KvDtype
from logaudit.sizing.parallel import Layout

_OWN_VALUE_SIZE_SINCE = Version("0.5.7")
_INDEXER_COUNTED_SINCE = Version("0.5.3.post1")
_FP4_LATENT_COUNTED_SINCE = Version("0.5.4.post3")
_FP4_HEADS_COUNTED_SINCE = Version("0.5.5.post3")
_FP4_WORKSPACE_SINCE = Version("0.5.16")
_FP4_BY_BACKEND_SINCE = Version("0.5.21")
_SPARSE_INDEX_BY_KERNEL_SINCE = Version("0.5.21")
_NPU_INDEXER_COUNTED_SINCE = Version("0.5.20")
_NPU_SHARED_INDEXER_LEFT_OUT_SINCE = Version("0.5.23")
_AITER_LATENT_PLAIN_SINCE = Version("0.5.14")
_LATENT_BY_PHASE_SINCE = Version("0.5.20")
_SCALED_LATENT_COUNTED_SINCE = Version("0.5.17")
_SHARED_INDEXER_LEFT_OUT_SINCE = Version("0.5.18")
_CONTEXT_PARALLEL_COUNTED_SINCE = Version("0.5.18")
_CONTEXT_PARALLEL_INDEXER_SINCE = Version("0.5.22")
_FP8_BLOCK = 128
_RAW_LATENT_BACKENDS = {"trtllm"}


@dataclass(frozen=True, slots=True)
class Cell:
    """Bytes per token of some layers on one rank, with its parts for the report."""

    bytes: int
    text: str
    source: str
    indexer_bytes: int = 0
    """The sparse-attention indexer's share."""
    pool_bytes: int | None = None
    """What the pool really stores per token where that is not what the formula counts."""
    uncertain_bytes: int = 0
    """How much more it can be where the attention backends decide (FP4 recipes from 0.5.21)."""


def kv_heads_per_rank(total: int, layout: Layout, release: Version, *, draft: bool = False) -> int:
    """KV heads on one rank: at least one, so ranks beyond the heads hold copies (ModelConfig.get_num_kv_heads)."""
    dcp = 1 if draft or release < _CONTEXT_PARALLEL_COUNTED_SINCE else layout.dcp
    return max(1, total // max(1, layout.attn_tp // dcp))


def head_bytes(heads: int, key: int, value: int, dtype: KvDtype, release: Version) -> int:
    """Bytes per token and layer of plain key and value heads; until 0.5.6 values are counted as wide as keys."""
    width = key + (value if release >= _OWN_VALUE_SIZE_SINCE else key)
    return heads * width * dtype.element_bytes


def latent_dim(config: ModelConfig, dtype: KvDtype, args: Arguments, release: Version, *, device: str = "cuda") -> int:
    """Elements of the latent vector that the formula counts per token and layer (calculate_mla_kv_cache_dim)."""
    plain = config.kv_lora_rank + config.qk_rope_head_dim
    if not config.is_dsa or release < _SCALED_LATENT_COUNTED_SINCE:
        return plain
    return stored_latent_dim(config, dtype, args, device=device)


def stored_latent_dim(config: ModelConfig, dtype: KvDtype, args: Arguments, *, device: str = "cuda") -> int:
    """Elements of the latent vector as a sparse-attention pool stores it: FP8 adds block scales, its rope is bf16.

    calculate_mla_kv_cache_dim: the TensorRT-LLM backend keeps plain FP8, ROCm's backends do as well (aiter, which only
    ROCm has, from 0.5.14). From 0.5.20 a side of a disaggregated server asks only for the backend of its own phase.
    """
    plain = config.kv_lora_rank + config.qk_rope_head_dim
    if not (config.is_dsa and dtype.is_fp8 and "e4m3" in dtype.name):
        return plain
    side = args.text("disaggregation_mode") or ""
    phases = ("prefill", "decode")
    asked = (side,) if side in phases and args.release >= _LATENT_BY_PHASE_SINCE else phases
    backends = {phase: {args.text(f"{family}_{phase}_backend") for family in ("dsa", "nsa")} for phase in phases}
    if any(backends[phase] & _RAW_LATENT_BACKENDS for phase in asked) or device in {"hip", "npu"}:
        return plain
    chosen = {b for found in backends.values() for b in found if b}
    if chosen == {"tilelang"} or ("aiter" in chosen and args.release >= _AITER_LATENT_PLAIN_SINCE):
        return plain
    return config.kv_lora_rank + config.kv_lora_rank // _FP8_BLOCK * 4 + config.qk_rope_head_dim * 2


def indexer_bytes(config: ModelConfig, layers: Collection[int], release: Version, *, every_layer: bool = False) -> int:
    """Bytes per token of the indexer's keys and scales over `layers`; from 0.5.18 only layers with an own indexer."""
    size = config.index_head_dim or 0
    each = -(-(size + size // _FP8_BLOCK * 4) // max(1, config.index_kpool))
    if every_layer or release < _SHARED_INDEXER_LEFT_OUT_SINCE:
        return each * len(layers)
    return each * sum(layer not in config.index_skipped_layers for layer in layers)


def npu_indexer_bytes(config: ModelConfig, layers: Collection[int], dtype: KvDtype, release: Version) -> int | None:
    """Bytes per token of the indexer on an Ascend NPU as the formula counts them; None where it counts those of a GPU.

    _compute_dsa_indexer_cell_size from 0.5.20: keys of the cache's own type without scales, of all layers until 0.5.22.
    """
    if release < _NPU_INDEXER_COUNTED_SINCE or (dtype.is_fp8 and "e4m3" in dtype.name):
        return None
    each = (config.index_head_dim or 0) * dtype.element_bytes
    if release < _NPU_SHARED_INDEXER_LEFT_OUT_SINCE:
        return each * len(layers)
    return each * sum(layer not in config.index_skipped_layers for layer in layers)


def kv_cell(
    config: ModelConfig,
    layers: Collection[int],
    dtype: KvDtype,
    layout: Layout,
    args: Arguments,
    release: Version,
    *,
    device: str = "cuda",
) -> Cell:
    """Bytes per token over `layers` on one rank, as the release's own formula counts them.

    Source: profile_max_num_token (until 0.5.7), get_cell_size_per_token (0.5.8 to 0.5.10),
    DefaultPoolConfigurator._compute_cell_size (from 0.5.11). FP4 halves the cell and adds a byte of scale for 16
    values: from 0.5.4.post3 for latent vectors, from 0.5.5.post3 for plain heads; before, a value counts as one byte.
    """
    source = "profile_max_num_token" if release < Version("0.5.8") else "_compute_cell_size"
    if config.mla:
        return _latent_cell(config, layers, dtype, layout, args, release, device, source)
    if config.minimax_sparse is not None and config.architecture.startswith("MiniMaxM3Sparse"):
        return _minimax_sparse_cell(config, layers, dtype, layout, args, release, source)
    count = len(layers)
    heads = kv_heads_per_rank(config.num_kv_heads, layout, release)
    value = config.v_head_dim if release >= _OWN_VALUE_SIZE_SINCE else config.head_dim
    size = head_bytes(heads, config.head_dim, config.v_head_dim, dtype, release) * count
    text = f"{heads} KV heads x ({config.head_dim} + {value}) x {count} layers x {dtype.element_bytes} B"
    uncertain = 0
    if dtype.scheme == "fp4" and release >= _FP4_HEADS_COUNTED_SINCE:
        scales = heads * config.head_dim * count * 2 * dtype.element_bytes // 16
        size = size // 2 + scales
        text = f"{heads} KV heads x 2 x {config.head_dim} x {count} layers x (1/2 + 1/16) B"
        if _FP4_WORKSPACE_SINCE <= release < _FP4_BY_BACKEND_SINCE:
            workspace = heads * config.head_dim * 2 * dtype.element_bytes
            size += workspace
            text += f" + {workspace} B of workspace"
        elif release >= _FP4_BY_BACKEND_SINCE and dtype.scales_by_backend:
            uncertain = scales + heads * config.head_dim * 4
    elif dtype.scheme == "mxfp8":
        size += heads * (config.head_dim + config.v_head_dim) * count // 32
        text += " + 1/32 for scales"
    return Cell(size, f"{text} = {size}", source, uncertain_bytes=uncertain)


def _latent_cell(
    config: ModelConfig,
    layers: Collection[int],
    dtype: KvDtype,
    layout: Layout,
    args: Arguments,
    release: Version,
    device: str,
    source: str,
) -> Cell:
    count = len(layers)
    dim = latent_dim(config, dtype, args, release, device=device)
    size = dim * count * dtype.element_bytes
    text = f"{dim} x {count} layers x {dtype.element_bytes} B"
    if dtype.scheme == "fp4" and release >= _FP4_LATENT_COUNTED_SINCE:
        scales = (config.kv_lora_rank + config.qk_rope_head_dim) // 16 * count * dtype.element_bytes
        size = size // 2 + scales
        text = f"{dim} x {count} layers / 2 + {scales} B of scales"
    indexer = 0
    pool = None
    if config.is_dsa:
        indexer = indexer_bytes(config, layers, release)
        if layout.dcp > 1 and release >= _CONTEXT_PARALLEL_INDEXER_SINCE:
            indexer *= layout.dcp
        kept = indexer
        if device == "npu":
            kept = (config.index_head_dim or 0) * dtype.element_bytes * count
            counted = npu_indexer_bytes(config, layers, dtype, release)
            indexer = indexer if counted is None else counted
        stored = stored_latent_dim(config, dtype, args, device=device) * count * dtype.element_bytes + kept
        if release >= _INDEXER_COUNTED_SINCE:
            size += indexer
            text += f" + {indexer} B of indexer keys"
        pool = stored if stored != size else None
    return Cell(size, f"({text}) = {size}", source, indexer, pool)


def _minimax_sparse_cell(
    config: ModelConfig,
    layers: Collection[int],
    dtype: KvDtype,
    layout: Layout,
    args: Arguments,
    release: Version,
    source: str,
) -> Cell:
    """MiniMax-M3: keys and values of all layers, and one index head for the sparse ones.

    The index keeps the model's type; from 0.5.21 that of an FP8 cache where TensorRT-LLM's attention multiplies in FP8
    (get_minimax_sparse_index_dtype).
    """
    sparse = config.minimax_sparse or {}
    marks = list(sparse.get("sparse_attention_freq") or ())
    no_value = list(sparse.get("sparse_disable_index_value") or ())
    heads = kv_heads_per_rank(config.num_kv_heads, layout, release)
    main = len(layers) * 2 * heads * config.head_dim * dtype.element_bytes
    width = int(sparse.get("sparse_index_dim", 0))
    chosen = [i for i in layers if i < len(marks) and marks[i] != 0]
    keys_only = sum(i < len(no_value) and no_value[i] != 0 for i in chosen)
    in_fp8 = (
        release >= _SPARSE_INDEX_BY_KERNEL_SINCE
        and dtype.is_fp8
        and "e4m3" in dtype.name
        and args.text("attention_backend") == "trtllm_mha"
    )
    index = ((len(chosen) - keys_only) * 2 + keys_only) * width * (1 if in_fp8 else 2)
    return Cell(main + index, f"{main} + {index} B of index heads = {main + index}", source, index)
