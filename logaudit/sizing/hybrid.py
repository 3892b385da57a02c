"""Recurrent state of hybrid models, taken off the budget before the KV pool."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from packaging.version import Version

from logaudit.interval import GIB, Interval
from logaudit.sglang.linear_state import LinearState
from logaudit.sizing.arguments import Arguments, speculation
from logaudit.sizing.model import Input, SizingInputs, Term
from logaudit.sizing.parallel import Layout, stage_layers

_FIXED_SLOTS_UNTIL = Version("0.5.3.post2")
_RATIO_OF_ALL_UNTIL = Version("0.5.7")
_RADIX_KEPT_SINCE = Version("0.5.6.post1")
_RADIX_OFF_DEFAULT_UNTIL = Version("0.5.9")
_JOINT_SINCE = Version("0.5.13")
_PADDING_SLOT_SINCE = Version("0.5.17")
_STAGE_SHARE_SINCE = Version("0.5.17")
_DTYPE_FROM_CONFIG_SINCE = Version("0.5.9")
_SSM_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
_MANY_SLOTS = 512
_TINY = 1e-9


@dataclass(frozen=True, slots=True)
class StatePool:
    """Slots of the state pool, what they cost, and what is left for the KV pool (GiB)."""

    slots: Interval
    gib: Interval
    left: Interval
    terms: tuple[Term, ...]
    per_request: int
    """Slots that one request occupies: the divisor of the cap on running requests."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """Slots as a function of the budget, and their cost as a function of the slots."""

    count: Callable[[float], float]
    """Slots for a budget in GiB."""
    cost: Callable[[float, float], float]
    """Bytes taken off, for a slot count and the state bytes of one request."""
    text: str
    source: str
    by_budget: bool


def state_bytes(
    state: LinearState, args: Arguments, layout: Layout, release: Version, num_layers: int
) -> tuple[int, str]:
    """Bytes of one request's state on one rank, and how they were found.

    mamba_cache_per_req counts all recurrent layers; from 0.5.17 only the share of the largest pipeline stage.
    """
    asked = args.text("mamba_ssm_dtype")
    own = state.ssm_dtype if release >= _DTYPE_FROM_CONFIG_SINCE and isinstance(state.ssm_dtype, str) else None
    dtype = asked if asked in _SSM_BYTES else own if own in _SSM_BYTES else "float32"
    size = state.bytes_per_request(layout.attn_tp, ssm_bytes=_SSM_BYTES[dtype])
    text = f"{len(state.layers)} recurrent layers, {dtype} state, divided by {layout.attn_tp}"
    if layout.pp > 1 and release >= _STAGE_SHARE_SINCE and state.layers:
        recurrent = set(state.layers)
        largest = max(len(recurrent.intersection(stage)) for stage in stage_layers(num_layers, layout.pp, release))
        size = int(size * (largest / len(state.layers)))
        text += f", {largest} of them in the largest stage"
    return size, text


def switches_radix_cache_off(inputs: SizingInputs, release: Version) -> bool:
    """Whether the model runner turns the radix cache off for this model after the arguments were printed.

    ModelRunner.initialize: every hybrid model from 0.5.2 to 0.5.3.post1, Mamba2 models (Nemotron-H, …) to 0.5.6.
    """
    if release >= _RADIX_KEPT_SINCE:
        return False
    if release < _FIXED_SLOTS_UNTIL:
        return True
    state = inputs.config.linear if inputs.config is not None else None
    if state is not None:
        return state.kind == "mamba2"
    return (inputs.architecture or "").startswith(("NemotronH", "FalconH1", "GraniteMoeHybrid"))


def slots_per_request(args: Arguments, release: Version) -> int:
    """State slots that one running request can hold (_calculate_mamba_ratio)."""
    radix_off = args.flag("disable_radix_cache")
    if release < _FIXED_SLOTS_UNTIL or radix_off:
        return 1
    if release < _RATIO_OF_ALL_UNTIL:
        return 3
    strategy = args.text("mamba_radix_cache_strategy") or args.text("mamba_scheduler_strategy") or ""
    buffered = strategy.startswith("extra_buffer")
    speculative = speculation(args) is not None
    if release < Version("0.5.8"):
        return 4 if buffered and speculative else 5
    if not buffered:
        return 3
    if release < Version("0.5.10"):
        return 4 if speculative else 5
    if args.flag("disable_overlap_schedule"):
        return 4
    return 4 if strategy == "extra_buffer_lazy" else 5


def _plan(args: Arguments, layout: Layout, release: Version, per: int | Interval) -> _Plan:
    """The release's rule for the number of slots; `per` is bytes per request (nominal value used inside)."""
    each = float(per.value) if isinstance(per, Interval) else float(per)
    cap = args.whole("max_mamba_cache_size")
    running = args.whole("max_running_requests")
    radix_off = args.flag("disable_radix_cache")
    dp = layout.attn_dp
    drafts = (args.whole("speculative_num_draft_tokens") or 0) if speculation(args) is not None else 0
    ratio = args.number("mamba_full_memory_ratio", 0.9)
    share = ratio / (1 + ratio)
    split = f"{ratio:g} / (1 + {ratio:g}) of the budget"
    if release < _FIXED_SLOTS_UNTIL:
        fixed = (cap or running or 512) // dp
        return _Plan(lambda _: fixed, lambda n, p: n * p, f"{fixed} slots", "ModelRunner, 0.5.2 to 0.5.3", False)
    if release < _RATIO_OF_ALL_UNTIL:
        drafts = args.whole("speculative_num_draft_tokens") or 0
        if radix_off:
            fixed = (cap if cap is not None else running if running is not None else 512) // dp
            return _Plan(
                lambda _: fixed,
                lambda n, p: n * p * (1 + drafts),
                f"{fixed} slots (radix cache off)",
                "handle_max_mamba_cache, 0.5.3.post2 to 0.5.6",
                False,
            )
        return _Plan(
            lambda gib: int(gib * share * GIB // each // (1 + drafts)) // dp,
            lambda n, p: n * p * (1 + drafts),
            split + (f", each slot {1 + drafts} states" if drafts else ""),
            "handle_max_mamba_cache, 0.5.3.post2 to 0.5.6",
            True,
        )
    per_worker = (running or 0) // dp
    fixed_slots: int | None = None
    if cap is not None:
        fixed_slots = cap // dp
    elif radix_off and running is not None:
        fixed_slots = max(1, running // dp) if release >= Version("0.5.22") else running // dp
    elif radix_off and release < _RADIX_OFF_DEFAULT_UNTIL:
        fixed_slots = 512 // dp
    if release < _JOINT_SINCE:
        reserves = drafts and not (release < Version("0.5.8") and fixed_slots is not None)
        if release < Version("0.5.8"):
            per_worker = running or 0
        scratch = per_worker * drafts if reserves else 0
        return _Plan(
            (lambda _: fixed_slots)
            if fixed_slots is not None
            else (lambda gib: int((gib - scratch * each / GIB) * share * GIB // each)),
            lambda n, p: (n + scratch) * p,
            (f"{fixed_slots} slots" if fixed_slots is not None else split)
            + (f", {scratch} states for draft tokens" if scratch else ""),
            "handle_max_mamba_cache, 0.5.7 to 0.5.12",
            fixed_slots is None,
        )
    pad = 1 if release >= _PADDING_SLOT_SINCE else 0
    divisor = slots_per_request(args, release)
    replay = args.flag("enable_linear_replayssm_spec") or args.flag("enable_gdn_replayssm_spec")
    if replay:
        drafts = 0

    def scratch_states(slots: float) -> float:
        if not drafts:
            return 0
        if cap is None and radix_off and running is not None:
            requests = slots
        else:
            asked = max(1, per_worker) if release >= Version("0.5.22") else per_worker
            requests = min(asked, slots // divisor)
        return (requests + pad) * drafts

    def count(gib: float) -> float:
        if fixed_slots is not None:
            return fixed_slots
        return int((gib * share * GIB - each * pad * (1 + drafts)) // (each * (1 + drafts / divisor)))

    return _Plan(
        count,
        lambda n, p: (n + pad + scratch_states(n)) * p,
        (f"{fixed_slots} slots" if fixed_slots is not None else split)
        + (f", one state per draft token ({drafts}) and running request" if drafts else "")
        + (", one padding slot" if pad else ""),
        "handle_max_mamba_cache, 0.5.13+",
        fixed_slots is None,
    )


def state_pool(
    budget: Interval,
    per: Interval,
    per_text: str,
    args: Arguments,
    layout: Layout,
    release: Version,
    *,
    per_input: Input,
    printed_slots: int | None = None,
) -> StatePool:
    """Takes the state pool off `budget` (GiB).

    The left-over jumps by one slot wherever the slot count does, so it is followed slot count by slot count. A printed
    slot count that lies among the possible ones says which of them holds, and narrows what is left.
    """
    plan = _plan(args, layout, release, per)
    nominal = max(0.0, float(plan.count(budget.value)))
    if plan.by_budget:
        low_plan = _plan(args, layout, release, Interval.exact(per.high))
        high_plan = _plan(args, layout, release, Interval.exact(per.low))
        low = max(0.0, float(low_plan.count(budget.low - _TINY)))
        high = max(0.0, float(high_plan.count(budget.high + _TINY)))
    else:
        low = high = nominal
    slots = Interval(nominal, min(low, nominal), max(high, nominal))
    if printed_slots is not None and slots.holds(printed_slots):
        candidates = [float(printed_slots)]
    elif slots.high - slots.low <= _MANY_SLOTS:
        candidates = [slots.low + i for i in range(int(slots.high - slots.low) + 1)]
    else:
        candidates = []
    left = _left_over(budget, per, plan, slots, candidates)
    states = [plan.cost(n, per.value) for n in (slots.value, slots.low, slots.high)]
    gib = Interval(states[0] / GIB, min(states) * per.low / per.value / GIB, max(states) * per.high / per.value / GIB)
    terms = (
        Term(
            "mamba state",
            f"{slots.value:.0f} slots of {per.value / (1 << 20):.2f} MiB: {plan.text} ({per_text})",
            gib=gib,
            tokens=slots,
            inputs=(
                per_input,
                args.input("mamba_full_memory_ratio", f"{args.number('mamba_full_memory_ratio', 0.9):g}"),
                args.input("max_mamba_cache_size", args.whole("max_mamba_cache_size")),
            ),
            source=plan.source,
        ),
    )
    return StatePool(slots, gib, left, terms, slots_per_request(args, release))


def _left_over(budget: Interval, per: Interval, plan: _Plan, slots: Interval, candidates: list[float]) -> Interval:
    """What the state pool leaves of the budget, over every slot count that the budget's rounding allows."""
    nominal = budget.value - plan.cost(slots.value, per.value) / GIB
    if not candidates:
        low = budget.low - plan.cost(slots.high, per.high) / GIB
        return Interval(nominal, low, budget.high - plan.cost(slots.low, per.low) / GIB)
    lows, highs = [], []
    exact = per.low == per.high
    for count in candidates:
        least, most = budget.low, budget.high
        if (plan.by_budget and exact and len(candidates) > 1) or (plan.by_budget and exact and slots.low != slots.high):
            least = max(least, _edge(plan, count, budget))
            most = min(most, _edge(plan, count + 1, budget))
        if least > most:
            continue
        lows.append(least - plan.cost(count, per.high) / GIB)
        highs.append(most - plan.cost(count, per.low) / GIB)
    if not lows:
        lows, highs = [nominal], [nominal]
    low, high = min(lows), max(highs)
    return Interval(min(max(nominal, low), high), low, high)


def _edge(plan: _Plan, count: float, budget: Interval) -> float:
    """The smallest budget in `budget` at which the plan gives `count` slots, by bisection."""
    low, high = budget.low - _TINY, budget.high + _TINY
    if plan.count(low) >= count:
        return low
    if plan.count(high) < count:
        return high
    for _ in range(60):
        middle = (low + high) / 2
        if plan.count(middle) >= count:
            high = middle
        else:
            low = middle
        if math.isclose(low, high, rel_tol=0, abs_tol=1e-12):
            break
    return high
