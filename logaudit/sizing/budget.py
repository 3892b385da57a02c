"""The static budget: what --mem-fraction-static leaves of the free memory after the weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from packaging.version import Version

from logaudit.interval import Interval
from logaudit.sizing.model import Input, SizingInputs, StageReadings, Term
from logaudit.sizing.parallel import Layout

_FLOAT32_HALF_STEP = 2.0**-24
_POINT = 1e-9
_USUAL_RESERVES_MIB = (100, 1124)
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
        return Budget(None, pre, post, missing=tuple(missing))
    assumptions = []
    if not inputs.all_ranks_print and layout.tp > 1:
        assumptions.append(
            "only rank 0's readings are printed by this release: the other ranks are taken to read the same"
        )
    elif layout.world > 1 and len({(r.pp, r.tp) for r in readings}) < layout.world and len(readings) < layout.world:
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
