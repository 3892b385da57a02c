"""What the draft model's KV cache adds to the price of a token."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from packaging.version import Version

from logaudit.sglang.model_config import ModelConfig
from logaudit.sizing.arguments import Arguments, is_eagle_like, speculation
from logaudit.sizing.cell import Cell, indexer_bytes
from logaudit.sizing.kv_dtype import named
from logaudit.sizing.model import Input, SizingInputs
from logaudit.sizing.parallel import Layout

COUNTED_SINCE = Version("0.5.14")
SPLIT_POOL_COUNTED_SINCE = Version("0.5.15")
BLOCK_DRAFT_PRICED_SINCE = Version("0.5.18")
_BLOCK_DRAFT_SINCE = {"DFLASH": Version("0.5.11"), "DSPARK": Version("0.5.16")}
_BLOCK_DRAFT_PER_CONTEXT_RANK_SINCE = Version("0.5.17")
_BLOCK_DRAFT_BY_ATTENTION_SINCE = Version("0.5.22")
_OWN_INDEXER_SINCE = Version("0.5.18")
_ROUNDED_APART_SINCE = Version("0.5.22")
_WITHOUT_PATH_SINCE = Version("0.5.20")
_BUNDLED = ("NextN", "MTP")
_ONE_PREDICTION_LAYER = (
    "DeepseekV4",
    "Exaone",
    "Glm5Next",
    "HYV3",
    "HYV4",
    "InternS2",
    "MiMoV2",
    "NemotronH",
    "Qwen3Moe",
    "Qwen3Next",
    "Qwen3_5",
    "Qwen4Exp",
)
"""Beginnings of the architectures whose bundled draft is always loaded with one layer (_config_draft_model)."""


def is_bundled(inputs: SizingInputs, args: Arguments) -> bool:
    """Whether the draft is the target checkpoint's own prediction head, with layers like the target's."""
    path = args.text("speculative_draft_model_path")
    same = path is not None and path == args.text("model_path")
    return same or (inputs.draft_architecture or "").endswith(_BUNDLED)


def counted_layers(inputs: SizingInputs, args: Arguments) -> tuple[int, Input] | None:
    """Layers of the draft that the target's formula pays for, None when it pays for none.

    From 0.5.14, for EAGLE-like algorithms, when `speculative_draft_model_path` is set after resolution (ModelRunner,
    spec_aux_hidden_state); from 0.5.20 also without a path when the target's own config names its prediction layers.
    The count comes from the draft's config, else one layer is assumed.
    """
    if inputs.release < COUNTED_SINCE or not is_eagle_like(speculation(args)):
        return None
    path = args.text("speculative_draft_model_path")
    if not path:
        own = inputs.config.num_nextn_predict_layers if inputs.config is not None else None
        if inputs.release < _WITHOUT_PATH_SINCE or not own:
            return None
        return own, Input("draft layers", str(own), "model_config")
    if inputs.draft_config is not None:
        layers = inputs.draft_config.draft_layers()
        return layers, Input("draft layers", str(layers), "model_config")
    if is_bundled(inputs, args) and inputs.config is not None:
        one = inputs.config.architecture.startswith(_ONE_PREDICTION_LAYER)
        layers = 1 if one else inputs.config.num_nextn_predict_layers or 1
        return layers, Input("draft layers", str(layers), "model_config")
    return 1, Input("draft layers", "1", "assumed")


def is_block_draft(args: Arguments, release: Version) -> bool:
    """Whether a DFLASH or DSPARK draft has a pool of its own that the target's formula pays for."""
    since = _BLOCK_DRAFT_SINCE.get(speculation(args) or "")
    return since is not None and release >= since


def block_draft_bytes(inputs: SizingInputs, args: Arguments, layout: Layout) -> int | None:
    """Bytes per token of a block draft from its own shapes, from 0.5.18 (dflash_draft_cell_size_per_token).

    Its heads are shared out over all tensor-parallel ranks until 0.5.21, over those of attention from 0.5.22; each rank
    of decode context parallelism keeps all of it. None without the draft's config, or where its type is not known.
    """
    draft = inputs.draft_config
    if draft is None:
        return None
    asked = args.text("speculative_draft_kv_cache_dtype") or "auto"
    name = asked if asked != "auto" else args.text("kv_cache_dtype") or "auto"
    if args.text("speculative_draft_attention_backend") == "fa4" or name == "auto":
        name = draft.dtype
    dtype = named(name)
    if dtype is None:
        return None
    ranks = layout.attn_tp if args.release >= _BLOCK_DRAFT_BY_ATTENTION_SINCE else layout.tp
    heads = max(1, draft.num_kv_heads // ranks)
    each = heads * (draft.head_dim + draft.v_head_dim) * draft.num_hidden_layers * dtype.element_bytes
    return each * layout.dcp


def with_block_draft(target: Cell, inputs: SizingInputs, args: Arguments, count: int, layout: Layout) -> Cell | None:
    """The target's cell with a block draft's: its own bytes from 0.5.18, before by layers and rounded up.

    Source: DefaultPoolConfigurator.__init__, scale_kv_cell_size_per_token_for_dflash. None without the draft's config.
    """
    draft, release = inputs.draft_config, args.release
    if draft is None or count == 0:
        return None if draft is None else target
    if release >= BLOCK_DRAFT_PRICED_SINCE:
        own = block_draft_bytes(inputs, args, layout)
        if own is None:
            return None
        total, text = target.bytes + own, f"{target.bytes} + {own} of the draft"
    else:
        layers = draft.num_hidden_layers * (layout.dcp if release >= _BLOCK_DRAFT_PER_CONTEXT_RANK_SINCE else 1)
        total = -(-target.bytes * (count + layers) // count)
        text = f"{target.bytes} x ({count} + {layers} draft layers) / {count}"
    return replace(
        target, bytes=total, text=f"{text} = {total}", source="scale_kv_cell_size_per_token_for_dflash, 0.5.11+"
    )


def with_draft(
    target: Cell,
    layers: int,
    config: ModelConfig,
    target_layers: Collection[int],
    layout: Layout,
    release: Version,
    *,
    own_indexer: int | None = None,
) -> Cell:
    """The target's cell with the draft's layers priced like the target's (DefaultPoolConfigurator.__init__).

    `own_indexer`: bytes of the draft's indexer where they are not those of a GPU.
    """
    count = len(target_layers)
    if layers <= 0 or count == 0:
        return target
    if config.is_dsa and release >= _OWN_INDEXER_SINCE:
        dcp = layout.dcp if release >= _ROUNDED_APART_SINCE else 1
        latent = int((target.bytes - target.indexer_bytes) * layers / count) * dcp
        indexer = (
            indexer_bytes(config, range(layers), release, every_layer=True) if own_indexer is None else own_indexer
        )
        total = target.bytes + latent + indexer * dcp
    elif release >= _ROUNDED_APART_SINCE:
        total = target.bytes + int(target.bytes * layers / count)
    else:
        total = int(target.bytes * (1 + layers / count))
    return Cell(
        total,
        f"{target.bytes} + {layers} draft of {count} layers = {total}",
        "DefaultPoolConfigurator, 0.5.14+",
        target.indexer_bytes,
        target.pool_bytes,
    )
