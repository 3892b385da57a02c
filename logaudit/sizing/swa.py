"""Models with sliding-window layers: how the budget is split between the full and the window pool."""

from __future__ import annotations

from dataclasses import dataclass, field

from packaging.version import Version

from logaudit.interval import GIB, Interval
from logaudit.sizing.arguments import Arguments, alloc_len_per_decode, speculation
from logaudit.sizing.limits import ceil_page, floor_page, profiled_tokens, whole
from logaudit.sizing.model import Term
from logaudit.sizing.parallel import Layout

_BY_BYTES_SINCE = Version("0.5.9")
_FULL_FIRST_SINCE = Version("0.5.10")
_DIRECT_SINCE = Version("0.5.11")
_PAGES_SINCE = Version("0.5.7")
_REQUEST_CAP_SINCE = Version("0.5.14")
_EVICTION_INTERVAL = 128


@dataclass(frozen=True, slots=True)
class Costs:
    """Bytes per token of the two kinds of layers on one rank."""

    full: Interval
    """One full-attention token over all full-attention layers."""
    window: Interval
    """One sliding-window token over all sliding-window layers."""
    profiled: Interval
    """One token as profiling counted it, before the split (until 0.5.10)."""
    spread: tuple[Interval, Interval]
    """Numerator and denominator of full tokens per profiled token (until 0.5.10): layers, from 0.5.9 bytes."""
    draft: Interval = field(default_factory=lambda: Interval.exact(0))
    """What the draft adds to one full-attention token."""


@dataclass(frozen=True, slots=True)
class Split:
    """Tokens of the two pools."""

    full: Interval
    window: Interval
    term: Term
    uncapped: Interval
    """Full tokens without the user's cap."""


def ratio(args: Arguments) -> float:
    """swa_full_tokens_ratio: window tokens per full token."""
    return args.number("swa_full_tokens_ratio", 0.8)


def request_cap(args: Arguments, layout: Layout, window: int, page_size: int) -> int:
    """Window tokens that the scheduler can hold at most for the requested requests (compute_swa_request_cap)."""
    drafts = (args.whole("speculative_num_draft_tokens") or 1) if speculation(args) is not None else 1
    trailing = window + _EVICTION_INTERVAL * drafts + page_size
    overlap = not args.flag("disable_overlap_schedule")
    if speculation(args) is None:
        decode = page_size
    elif overlap:
        decode = 2 * alloc_len_per_decode(args, page_size)
    else:
        decode = alloc_len_per_decode(args, page_size)
    requests = max(1, (args.whole("max_running_requests") or 1) // layout.attn_dp)
    if args.text("disaggregation_mode") == "decode":
        extra = args.whole("disaggregation_decode_extra_slots") or 0
        return (trailing + decode) * requests + (window + page_size) * extra
    chunks = 2 if overlap else 1
    return (trailing + decode) * requests + chunks * (args.whole("chunked_prefill_size") or 0) + page_size


def is_request_capped(args: Arguments, release: Version, window: int | None, *, full_layers: bool) -> bool:
    """Whether the window pool is sized for the requests (SWAChunkCap-, from 0.5.22 SWARequestCapPoolConfigurator)."""
    chunk = args.whole("chunked_prefill_size")
    decode = args.text("disaggregation_mode") == "decode"
    return (
        release >= _REQUEST_CAP_SINCE
        and args.flag("disable_radix_cache")
        and args.given("max_running_requests")
        and (decode or (chunk is not None and chunk > 0))
        and window is not None
        and full_layers
    )


def _scaled(tokens: Interval, spread: tuple[Interval, Interval]) -> Interval:
    top, bottom = spread
    if top.width == bottom.width == 0:
        return whole(Interval(*(t * top.value / bottom.value for t in (tokens.value, tokens.low, tokens.high))))
    factor = top / bottom
    return whole(Interval(tokens.value * factor.value, tokens.low * factor.low, tokens.high * factor.high))


def split_early(
    tokens: Interval, uncapped: Interval, costs: Costs, args: Arguments, release: Version, page_size: int
) -> Split:
    """0.4.9.post6 to 0.5.10: profiled tokens of equal layers are re-divided by the ratio.

    full = tokens x cost of a token as the split sees it / (full + ratio x window). From 0.5.7 both counts are whole
    pages; until 0.5.9 the window pool is derived from the full count before it is rounded, in 0.5.10 after.
    """
    r = ratio(args)
    factor = costs.spread[0].value / costs.spread[1].value

    def full_of(count: Interval) -> Interval:
        scaled = _scaled(count, costs.spread)
        return floor_page(scaled, page_size) if release >= _PAGES_SINCE else scaled

    unrounded = _scaled(tokens, costs.spread)
    full = full_of(tokens)
    base = full if release >= _FULL_FIRST_SINCE else unrounded
    window = whole(base * r)
    if release >= _PAGES_SINCE:
        window = floor_page(window, page_size)
    term = Term(
        "sliding window split",
        f"{tokens.value:.0f} x {factor:.4f} = {full.value:.0f} full, x {r:g} = {window.value:.0f} window tokens",
        tokens=full,
        inputs=(args.input("swa_full_tokens_ratio", f"{r:g}"),),
        source="set_num_token_hybrid, set_num_tokens_hybrid_swa, 0.4.9.post6 to 0.5.10",
    )
    return Split(full, window, term, full_of(uncapped))


def split_llama4(
    tokens: Interval, uncapped: Interval, args: Arguments, chunk: int, context: int, page_size: int
) -> Split:
    """0.4.9 to 0.5.7, Llama 4 with --hybrid-kvcache-ratio: divided by the ratio (set_num_token_hybrid)."""
    h = args.number("hybrid_kvcache_ratio", 0.0)
    t = (1 - h) + h * chunk / context

    def one(count: float) -> tuple[float, float]:
        window = 4 * count * t // (3 * t + 1)
        full = 4 * count - 12 * count * t // (3 * t + 1)
        return float(int(full // page_size * page_size)), float(int(window // page_size * page_size))

    at = [one(count) for count in (tokens.value, tokens.low, tokens.high)]
    full = Interval(*(pair[0] for pair in at))
    window = Interval(*(pair[1] for pair in at))
    term = Term(
        "hybrid KV cache split",
        f"ratio {h:g}, chunk {chunk} of {context}: {full.value:.0f} full, {window.value:.0f} chunked tokens",
        tokens=full,
        inputs=(args.input("hybrid_kvcache_ratio", f"{h:g}"),),
        source="set_num_token_hybrid, 0.4.9 to 0.5.7",
    )
    return Split(full, window, term, Interval(*(one(c)[0] for c in (uncapped.value, uncapped.low, uncapped.high))))


def direct_tokens(budget: Interval, costs: Costs, args: Arguments, release: Version, page_size: int) -> Interval:
    """0.5.11+: full tokens straight from the bytes, budget // (full + ratio x window), in whole pages."""
    cell = costs.full + costs.window * ratio(args) + costs.draft
    return floor_page(profiled_tokens(budget, cell, release), page_size)


def direct_window(full: Interval, args: Arguments, page_size: int) -> Interval:
    """Window tokens of the direct form: whole pages of ratio x full."""
    return floor_page(whole(full * ratio(args)), page_size)


def capped_tokens(budget: Interval, costs: Costs, window_tokens: int, release: Version, page_size: int) -> Interval:
    """Full tokens after a window pool of fixed size is taken off."""
    fixed = costs.window * float(window_tokens) / GIB
    return floor_page(profiled_tokens(budget - fixed, costs.full + costs.draft, release), page_size)


def cap_in_pages(args: Arguments, layout: Layout, window: int, page_size: int) -> int:
    """The request cap in whole pages."""
    return ceil_page(request_cap(args, layout, window, page_size), page_size)


def direct_term(full: Interval, window: Interval, args: Arguments, *, cap: bool) -> Term:
    """How the two pools were found."""
    r = ratio(args)
    text = (
        f"window pool for the requested requests: {window.value:.0f} tokens, the rest {full.value:.0f} full tokens"
        if cap
        else f"{full.value:.0f} full tokens, x {r:g} = {window.value:.0f} window tokens"
    )
    source = "SWARequestCapPoolConfigurator, 0.5.14+" if cap else "HybridSWAPoolConfigurator, 0.5.11+"
    return Term(
        "sliding window split",
        text,
        tokens=full,
        inputs=(args.input("swa_full_tokens_ratio", f"{r:g}", default=not args.given("swa_full_tokens_ratio")),),
        source=source,
    )
