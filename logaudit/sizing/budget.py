"""The static budget: what --mem-fraction-static leaves of the free memory after the weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import overload

from packaging.version import Version

from logaudit.interval import Interval
from logaudit.sizing.model import Input, SizingInputs, StageReadings, Term
from logaudit.sizing.parallel import Layout

_FLOAT32_HALF_STEP = 2.0**-24
_POINT = 1e-9
_USUAL_RESERVES_MIB = (100, 1124)
_CHANGED_GIB, _CHANGED_SHARE = 0.05, 0.005
_WORLD_MINIMUM_SINCE = Version("0.4.6.post4")


@dataclass(frozen=True, slots=True)
class Budget:
    """GiB that the state pools and the KV pool share, and how it came about."""

    rest: Interval | None
    pre: Interval | None = None
    post: Interval | None = None
    terms: tuple[Term, ...] = ()
    missing: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    slack: Interval | None = field(default=None)


def _replica(readings: Sequence[StageReadings], layout: Layout) -> list[StageReadings]:
    """The readings of the first replica: all, unless plain data parallelism runs several servers side by side."""
    if layout.replicas == 1:
        return list(readings)
    first = min((r.dp for r in readings if r.dp is not None), default=None)
    return [r for r in readings if r.dp is None or r.dp == first]


def _minimum(
    readings: list[StageReadings], name: str, *, rounded: bool
) -> tuple[Interval, StageReadings] | tuple[None, None]:
    """The minimum over ranks and the rank it is read from, widened by the reduction's float32 where there is one."""
    found = [(value, r) for r in readings if (value := getattr(r, name)) is not None]
    if not found:
        return None, None
    low = Interval.minimum(*(value for value, _ in found))
    if rounded:
        low = Interval(
            low.value, low.low - abs(low.low) * _FLOAT32_HALF_STEP, low.high + abs(low.high) * _FLOAT32_HALF_STEP
        )
    return low, min(found, key=lambda pair: pair[0].value)[1]


def _rank(reading: StageReadings) -> str:
    names = (("PP", reading.pp), ("DP", reading.dp), ("TP", reading.tp))
    return " ".join(f"{name}{number}" for name, number in names if number is not None) or "the only rank"


def _exact_reserve(printed: Interval) -> Interval:
    """The multimodal reserve behind its two decimals: whole MiB, by default 100, with GPU feature transport 1124."""
    return next((Interval.exact(mib / 1024) for mib in _USUAL_RESERVES_MIB if printed.holds(mib / 1024)), printed)


@overload
def _as_printed(inputs: SizingInputs, computed: Interval) -> tuple[Interval, tuple[Term, ...], tuple[str, ...]]: ...
@overload
def _as_printed(inputs: SizingInputs, computed: None) -> tuple[Interval | None, tuple[Term, ...], tuple[str, ...]]: ...
def _as_printed(
    inputs: SizingInputs, computed: Interval | None
) -> tuple[Interval | None, tuple[Term, ...], tuple[str, ...]]:
    """The budget in the light of the build's own line, with its term and what must be said of it.

    The line holds for every rank of the server, also for those whose readings are not in the log, and it is the very
    figure that was divided: free memory can change between the last reading and the sizing. Where the two differ by
    more than that, the readings stay, so that the difference shows. A hybrid model's line can speak of what its state
    pool left.
    """
    printed = inputs.printed_budget_gib
    if printed is None:
        return computed, (), ()
    term = Term(
        "printed budget",
        f"the log prints {printed.value:.2f} GiB",
        gib=printed,
        inputs=(Input("budget", f"{printed.value:.2f} GiB", "log", inputs.printed_budget_line),),
        source="printed by builds beside the releases",
    )
    if computed is None:
        return (
            printed,
            (term,),
            ("the budget is the one that the log prints, not all readings behind it are there",),
        )
    if not inputs.all_ranks_print:
        return printed, (term,), ("the budget is the one that the log prints, for all ranks",)
    apart = max(printed.low - computed.high, computed.low - printed.high)
    if apart <= 0:
        return printed, (term,), ()
    if any(pool.name == "mamba" for pool in inputs.pools) and printed.high < computed.low:
        return computed, (), ()
    if apart <= max(_CHANGED_GIB, _CHANGED_SHARE * abs(printed.value)):
        said = f"the log's own budget is used: free memory changed by {printed.value - computed.value:+.2f} GiB after"
        return printed, (term,), (f"{said} the last reading",)
    said = f"the log prints a budget of {printed.value:.2f} GiB, its readings give {computed.value:.2f}"
    return computed, (term,), (said,)


def static_budget(inputs: SizingInputs, layout: Layout) -> Budget:
    """min(free after weights) - min(free before weights) x (1 - fraction), less the multimodal reserve, in GiB.

    Source: profile_max_num_token (until 0.5.9), _profile_available_bytes (from 0.5.10); the minimum is over the tensor
    group until 0.4.6, over all ranks of the replica from 0.4.7, and travels as float32.
    """
    release = inputs.release
    readings = _replica(inputs.readings, layout)
    grouped = layout.world if release >= _WORLD_MINIMUM_SINCE else layout.tp
    pre, pre_rank = _minimum(readings, "before_load", rounded=grouped > 1)
    post, post_rank = _minimum(readings, "after_load", rounded=grouped > 1)
    fraction = inputs.mem_fraction_static
    missing = []
    if pre is None:
        missing.append("free memory before loading (`Load weight begin`)")
    if post is None:
        missing.append("free memory after loading (`Load weight end`)")
    if fraction is None:
        missing.append("mem_fraction_static")
    if pre is None or post is None or fraction is None or pre_rank is None or post_rank is None:
        rest, term, said = _as_printed(inputs, None)
        return Budget(rest, pre, post, term, missing=() if rest is not None else tuple(missing), assumptions=said)
    assumptions = []
    told = inputs.printed_budget_gib is not None
    if not told and not inputs.all_ranks_print and layout.tp > 1:
        assumptions.append(
            "only rank 0's readings are printed by this release: the other ranks are taken to read the same"
        )
    elif (
        not told
        and layout.world > 1
        and len({(r.pp, r.tp) for r in readings}) < layout.world
        and len(readings) < layout.world
    ):
        assumptions.append(f"readings of {len(readings)} of {layout.world} ranks: the others are taken to be no lower")
    source = "profile_max_num_token" if release < Version("0.5.10") else "_profile_available_bytes"
    slack = pre * (1 - fraction)
    rest = post - slack
    shown = [
        Input("free before loading", f"{pre.value:.2f} GiB", "log", pre_rank.before_line),
        Input("free after loading", f"{post.value:.2f} GiB", "log", post_rank.after_line),
        Input("mem_fraction_static", f"{fraction.value:g}", inputs.fraction_origin),
    ]
    if layout.world > 1:
        shown.append(Input("lowest before / after", f"{_rank(pre_rank)} / {_rank(post_rank)}", "log"))
    terms = [
        Term(
            "reserve",
            f"{pre.value:.2f} x (1 - {fraction.value:g})",
            gib=slack,
            inputs=(shown[0], shown[2]),
            source=source,
        ),
        Term(
            "static budget",
            f"{post.value:.2f} - {pre.value:.2f} x (1 - {fraction.value:g})",
            gib=rest,
            inputs=tuple(shown),
            source=source,
        ),
    ]
    rest, term, said = _as_printed(inputs, rest)
    terms.extend(term)
    assumptions.extend(said)
    if inputs.mm_reserve_gib is not None:
        kept = _exact_reserve(inputs.mm_reserve_gib)
        rest = rest - kept
        terms.append(
            Term(
                "multimodal reserve",
                f"- {kept.value:.4f}",
                gib=kept,
                inputs=(Input("multimodal reserve", f"{inputs.mm_reserve_gib.value:.2f} GiB", "log"),),
                source="mm_runtime_reservation_gb, 0.5.18+",
            )
        )
    if inputs.page_shard_scratch_gib is not None:
        rest = rest - inputs.page_shard_scratch_gib
        terms.append(
            Term(
                "page shard scratch",
                f"- {inputs.page_shard_scratch_gib.value:.2f}",
                gib=inputs.page_shard_scratch_gib,
                inputs=(Input("page shard scratch", f"{inputs.page_shard_scratch_gib.value:.2f} GiB", "log"),),
                source="compute_page_shard_scratch_bytes, 0.5.22+",
            )
        )
    rest = Interval(rest.value, rest.low - _POINT, rest.high + _POINT)
    return Budget(rest, pre, post, tuple(terms), assumptions=tuple(assumptions), slack=slack)
