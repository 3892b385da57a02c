"""Bytes per token and per state slot read off the pools that the log printed, where no model config is given."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from packaging.version import Version

from logaudit.interval import GIB, Interval
from logaudit.sizing.kv_dtype import KvDtype
from logaudit.sizing.model import PrintedPool, SizingInputs

_INDEXER_PRINTED_SINCE = Version("0.5.3.post1")
_SCALED_LATENT_COUNTED_SINCE = Version("0.5.17")
_FP4_SCALES = 1.125
_FP4_HEADS_COUNTED_SINCE = Version("0.5.5.post3")
_NPU_INDEXER_COUNTED_SINCE = Version("0.5.20")
_DSA_LATENT, _DSA_STORED, _DSA_INDEXER = 576, 656, 132
_NPU_STORED = 2 * (_DSA_LATENT + 128)


def per_row(pool: PrintedPool, page_size: int) -> Interval | None:
    """Bytes of one row: the printed size over its tokens and the padding page; None where either is not printed."""
    if pool.gib is None or pool.tokens is None or pool.tokens <= 0:
        return None
    return pool.gib * float(GIB) / float(pool.tokens + page_size)


def find(pools: Iterable[PrintedPool], names: Iterable[str], *, draft: bool = False) -> list[PrintedPool]:
    """Printed pools of these names, in the order printed."""
    wanted = set(names)
    return [p for p in pools if p.name in wanted and p.draft is draft]


def labelled(pools: tuple[PrintedPool, ...]) -> tuple[PrintedPool, ...]:
    """Names two unlabelled pools of one worker and stage: until 0.5.16 the window pool is printed first."""
    result = list(pools)
    for draft in (False, True):
        for stage in {p.pp for p in pools}:
            alike = [i for i, p in enumerate(pools) if p.draft is draft and p.pp == stage and p.name == "kv"]
            if len(alike) == 2:
                result[alike[0]] = replace(pools[alike[0]], name="swa")
                result[alike[1]] = replace(pools[alike[1]], name="full")
    return tuple(result)


def kv_names() -> tuple[str, ...]:
    """Names of a pool that holds every KV layer."""
    return ("kv", "full", "Full")


def formula_factor(inputs: SizingInputs, dtype: KvDtype | None, *, sparse: bool) -> tuple[float, str] | None:
    """What the formula counts per byte that the pool prints, with the reason; None where that cannot be told.

    Sparse attention with FP8 stores 656 + 132 bytes per layer and token while the formula counted 576 + 132 until
    0.5.16; FP4 pools print their values without the scales that the formula counts.
    """
    if dtype is not None and dtype.scheme == "fp4" and keys_differ(inputs):
        return 1.0, ""
    if dtype is not None and (dtype.scheme == "mxfp8" or dtype.scales_by_backend):
        return None
    if dtype is not None and dtype.scheme == "fp4":
        if inputs.release < _FP4_HEADS_COUNTED_SINCE and not any(pool.mla for pool in inputs.pools):
            return None
        if _prints_scales(inputs):
            return 1.0, ""
        return _FP4_SCALES, "the FP4 pool prints no scales, of which the formula counts one byte for 16 values"
    if not sparse:
        return 1.0, ""
    if dtype is None:
        return None
    if inputs.device == "npu":
        if dtype.element_bytes != 2 or inputs.release < _INDEXER_PRINTED_SINCE:
            return None
        if inputs.release >= _NPU_INDEXER_COUNTED_SINCE:
            return 1.0, ""
        counted, stored = 2 * _DSA_LATENT + _DSA_INDEXER, _NPU_STORED
        return counted / stored, (
            f"on NPU the indexer keeps bf16 keys: {stored} bytes are stored per layer, the formula counts {counted}"
        )
    if inputs.release < _INDEXER_PRINTED_SINCE:
        return (1.0, "") if not dtype.is_fp8 else None
    if dtype.is_fp8 and inputs.release < _SCALED_LATENT_COUNTED_SINCE:
        counted, stored = _DSA_LATENT + _DSA_INDEXER, _DSA_STORED + _DSA_INDEXER
        return counted / stored, f"the pool stores {stored} bytes per layer, the formula counts {counted}"
    return 1.0, ""


def keys_differ(inputs: SizingInputs) -> bool:
    """Whether an FP4 pool of a model with keys as wide as values prints them with different sizes.

    Builds beside the releases keep keys in a wider type than values under one name: the pool's own sizes then say
    what a token takes, whatever the type is called.
    """
    config = inputs.config
    if config is not None and (config.mla or config.head_dim != config.v_head_dim):
        return False
    for pool in find(inputs.pools, ("kv",)):
        if pool.keys_gib is not None and pool.gib is not None:
            values = pool.gib - pool.keys_gib
            return values.high < pool.keys_gib.low or values.low > pool.keys_gib.high
    return False


def shows_bf16_indexer(inputs: SizingInputs, page_size: int) -> bool:
    """Whether an NPU draft of one layer prints latent vectors with bf16 indexer keys beside them.

    Its row is then 1408 bytes, where a dense latent vector takes 1152: only sparse attention stores so much.
    """
    drafts = find(inputs.pools, ("kv",), draft=True)
    if inputs.device != "npu" or len(drafts) != 1 or not drafts[0].mla:
        return False
    row = per_row(drafts[0], page_size)
    return row is not None and row.holds(_NPU_STORED) and not row.holds(2 * _DSA_LATENT)


def _prints_scales(inputs: SizingInputs) -> bool:
    """Whether a build prints its FP4 pool with the scales: the pool cannot have taken an eighth more than it prints."""
    printed = [pool.gib for pool in inputs.pools if not pool.draft and pool.gib is not None]
    if inputs.pools_taken_gib is None or not printed:
        return False
    return inputs.pools_taken_gib.high < sum(printed[1:], printed[0]).low * _FP4_SCALES


def block_draft_per_token(inputs: SizingInputs, page_size: int) -> Interval | None:
    """Bytes per token of a block draft's own pool, as printed; None unless exactly one is printed with its size."""
    drafts = find(inputs.pools, ("kv",), draft=True)
    return per_row(drafts[0], page_size) if len(drafts) == 1 else None


def draft_per_token(inputs: SizingInputs, target: Interval, page_size: int, *, bundled: bool) -> Interval | None:
    """Bytes per token of the draft's layers as the formula prices them, from the printed draft pool.

    The formula prices them like the target's layers. A bundled draft has such layers; another one tells only where
    the target's row is a whole multiple of its own. None otherwise.
    """
    drafts = find(inputs.pools, ("kv", "full", "Full", "swa", "SWA"), draft=True)
    if len(drafts) != 1:
        return None
    row = per_row(drafts[0], page_size)
    if row is None or row.low <= 0:
        return None
    if bundled:
        return row
    times = target / row
    multiple = round(times.value)
    if multiple < 1 or not times.holds(multiple) or times.width >= 1:
        return None
    return target / float(multiple)
