"""DeepSeek-V4's compressed-attention pools: bytes per full token and the state of fixed size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from packaging.version import Version

from logaudit.interval import GIB, Interval
from logaudit.sglang.model_config import ModelConfig
from logaudit.sizing.arguments import Arguments, speculation
from logaudit.sizing.limits import ceil_page, floor_page
from logaudit.sizing.model import Term
from logaudit.sizing.parallel import Layout
from logaudit.sizing.swa import request_cap

FIRST = Version("0.5.12")
_STAGE_SLICE_SINCE = Version("0.5.13")
_FIXED_STATE_SINCE = Version("0.5.15")
_PAGE_PADDED_SINCE = Version("0.5.21")
_CAP_MODE_SINCE = Version("0.5.21")
_DEFAULT_RATIO = 0.1


@dataclass(frozen=True, slots=True)
class Dsv4Tokens:
    """Tokens of the full and the window pool."""

    full: Interval
    window: Interval
    cell: Interval
    fixed_gib: Interval
    terms: tuple[Term, ...]


def window_ratio(args: Arguments) -> float:
    """swa_full_tokens_ratio, 0.1 for this model unless given."""
    return args.number("swa_full_tokens_ratio", _DEFAULT_RATIO)


def _rings(speculative: bool) -> tuple[int, int]:
    """Rows of the compression state rings for the ratios 4 and 128 (get_compress_state_ring_size)."""
    return (16, 256) if speculative else (8, 128)


def _sizes(config: ModelConfig) -> tuple[int, int, int]:
    """Bytes of a KV slot and of an indexer slot, and the head's elements."""
    head = config.qk_nope_head_dim + config.qk_rope_head_dim
    index = config.index_head_dim or 0
    return config.qk_nope_head_dim + 2 * config.qk_rope_head_dim + 8, index + index // 128 * 4, head


def stage_ratios(config: ModelConfig, layers: Sequence[int], release: Version) -> tuple[int, ...]:
    """Compression ratios of this stage's layers; 0.5.12 counts every entry, the prediction layer's too."""
    if release < _STAGE_SLICE_SINCE:
        return config.compress_ratios
    return tuple(config.compress_ratios[i] for i in layers if i < len(config.compress_ratios))


def bytes_per_token(
    config: ModelConfig, ratios: Sequence[int], args: Arguments, release: Version, page_size: int
) -> tuple[float, float]:
    """Bytes per full token, and bytes per window token, of one rank's layers (DSV4PoolConfigurator)."""
    slot, index, head = _sizes(config)
    speculative = speculation(args) is not None
    ring4, ring128 = _rings(speculative)
    total, four, many = len(ratios), sum(r == 4 for r in ratios), sum(r == 128 for r in ratios)
    r = window_ratio(args)
    state4, state_index, state128 = 4 * head * 4, 4 * (config.index_head_dim or 0) * 4, 2 * head * 4
    padded = release >= _PAGE_PADDED_SINCE
    state_page = page_size if padded else (config.sliding_window or 128)

    def paged(ratio: int) -> float:
        if not padded:
            return slot
        rows = max(page_size // ratio, 1)
        return math.ceil(rows * slot / 576) * 576 / rows

    window = paged(1) * total + ring4 / state_page * (state4 + state_index) * four
    full = 0.25 * paged(4) * four + paged(128) / 128 * many + 0.25 * index * four
    if release < _FIXED_STATE_SINCE:
        window += ring128 / state_page * state128 * many
    inflation = (total + 1) / total if speculative and total else 1.0
    return (r * window + full) * inflation, window * inflation


def fixed_bytes(config: ModelConfig, ratios: Sequence[int], args: Arguments, release: Version, *, requests: int) -> int:
    """Bytes of the ratio-128 state for `requests` requests of one worker; it is kept per request from 0.5.15 on."""
    many = sum(r == 128 for r in ratios)
    if release < _FIXED_STATE_SINCE or not many:
        return 0
    _, _, head = _sizes(config)
    _, ring = _rings(speculation(args) is not None)
    slots = requests + 1
    if args.text("disaggregation_mode") == "decode":
        slots += args.whole("disaggregation_decode_extra_slots") or 0
    rows = ceil_page(slots * ring + ring + 1, 128)
    return rows * 2 * head * 4 * many


def window_cap(config: ModelConfig, args: Arguments, layout: Layout, release: Version, page_size: int) -> int | None:
    """Window tokens of the mode that sizes the window pool for the requests; None where the ratio rules."""
    if release < _CAP_MODE_SINCE or not args.given("max_running_requests"):
        return None
    explicit = args.get("_swa_full_tokens_ratio_explicitly_set")
    if explicit is True or (explicit is None and args.given("swa_full_tokens_ratio")):
        return None
    window = config.sliding_window or 128
    cap = request_cap(args, layout, window, page_size)
    requests = max(1, (args.whole("max_running_requests") or 1) // layout.attn_dp)
    tails = args.whole("swa_prefix_tails")
    if tails is None:
        tails = 0 if args.flag("disable_radix_cache") else 4 * requests
    return ceil_page(cap + tails * (window + page_size), page_size)


def tokens(
    budget: Interval, cell: Interval, fixed_gib: Interval, args: Arguments, page_size: int, source: str
) -> Dsv4Tokens:
    """Full and window tokens of a budget by the ratio."""
    free = budget - fixed_gib

    def count(gib: float, each: float) -> float:
        return float(int(max(0.0, gib) * GIB / each))

    full = floor_page(
        Interval(count(free.value, cell.value), count(free.low, cell.high), count(free.high, cell.low)), page_size
    )
    r = window_ratio(args)
    window = floor_page(Interval(*(float(int(x * r)) for x in (full.value, full.low, full.high))), page_size)
    term = Term(
        "compressed attention pools",
        f"({budget.value:.2f} - {fixed_gib.value:.2f}) GiB / {cell.value:.2f} B = {full.value:.0f} full tokens, "
        f"x {r:g} = {window.value:.0f} window tokens",
        tokens=full,
        inputs=(args.input("swa_full_tokens_ratio", f"{r:g}"),),
        source=source,
    )
    return Dsv4Tokens(full, window, cell, fixed_gib, (term,))
