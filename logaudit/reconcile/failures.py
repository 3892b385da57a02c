"""What to do about a failed start: raise or lower the fraction, by how much, or why no fraction helps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from logaudit.extract.extractor import Record
from logaudit.interval import GIB, Interval
from logaudit.reconcile import measures as m
from logaudit.reconcile.case import Case, Found
from logaudit.reconcile.naive import card_size_gb
from logaudit.reconcile.traffic import last_minutes
from logaudit.sizing import smallest_fraction
from logaudit.sizing.arguments import speculation
from logaudit.sizing.hybrid import slots_per_request
from logaudit.sizing.swa import ratio as window_ratio

Direction = Literal["raise", "lower", "neither"]
Reason = Literal[
    "no_kv_room",
    "state_takes_all",
    "mamba_too_small",
    "swa_too_small",
    "swa_cap_too_large",
    "checkpoint_pool",
    "unified_too_small",
    "unbalanced",
    "oom_load",
    "oom_pools",
    "oom_capture",
    "oom_serving",
    "kv_exhausted",
    "host_memory",
    "killed",
    "not_memory",
    "unknown",
]

MARGIN_GIB = 1.0
"""Left over what a refused allocation lacked, where no rule says how much more will be asked for."""
LEAST_LEFT_GIB = 1.0
"""A fraction that leaves less than this for graphs and activations is taken not to work."""
FEWER_REQUESTS = 0.75
"""Share of the requests that ran when the KV cache was full, which a corrected launch allows."""
HOST_SHARE = 0.9
"""Share of the free host memory that a suggested host cache takes."""


@dataclass(frozen=True, slots=True)
class TokenFraction:
    """The fraction that a number of tokens needs."""

    tokens: int
    what: str
    fraction: float
    left_gib: float
    """What it leaves free for graphs and activations."""


@dataclass(frozen=True, slots=True)
class Advice:
    """Raise, lower or leave the fraction, with the numbers that say so."""

    reason: Reason
    direction: Direction
    record: Record | None
    fraction: float | None = None
    """The one that the start ran with."""
    before_gib: float | None = None
    after_gib: float | None = None
    asked_gib: float | None = None
    """What was asked for; of a sizing that failed the reserve, of the host cache decimal GB."""
    there_gib: float | None = None
    """What was there."""
    smallest: float | None = None
    """The fraction above which anything is left: 1 - after / before, plus what the pools need at least."""
    automatic: float | None = None
    """What the release's own rule gives on this card."""
    card_gib: float | None = None
    card_guessed: bool = False
    suggested: float | None = None
    basis: Literal["", "rule", "half", "least"] = ""
    """Why this one: the release's own rule, half of what is free, the least that starts."""
    for_tokens: tuple[TokenFraction, ...] = ()
    impossible: bool = False
    """No fraction can work."""
    others_gib: float | None = None
    """What other processes hold of the GPU, as the out-of-memory text has it."""
    per_rank_times: int | None = None
    """Ranks that each ask the host for as much."""
    detail: Mapping[str, float | int | str] = field(default_factory=dict)
    changes: Mapping[str, object] = field(default_factory=dict)
    """Arguments that a corrected launch would have."""


def advise(case: Case) -> Advice | None:
    """The advice for a crashed case; None for one that did not crash."""
    failure = case.launch.failure
    if failure is None or case.launch.outcome != "crashed":
        return None
    record = m.failing_record(case)
    base = _base(case, record)
    if failure.kind == "unbalanced":
        return _unbalanced(base, record)
    if failure.kind == "host_memory":
        return _host(case, base, record)
    if failure.kind == "not_memory":
        return replace(base, reason="not_memory")
    if record is None or failure.kind == "unknown":
        return base
    handler = _HANDLERS.get(record.kind)
    return base if handler is None else handler(case, base, record)


def _base(case: Case, record: Record | None) -> Advice:
    """The figures that every reason shares."""
    start, end = m.before(case), m.after(case)
    fraction = None if case.fraction is None else case.fraction.interval.value
    card: float | None = None
    guessed = False
    automatic: float | None = None
    if start is not None and start.value > 0:
        card, guessed = card_size_gb(start.value, m.card_gib(case))
        rule = m.automatic(case, card)
        automatic = None if rule is None or not 0 < rule.value < 1 else rule.value
    return Advice(
        reason="unknown",
        direction="neither",
        record=record,
        fraction=fraction,
        before_gib=None if start is None else start.value,
        after_gib=None if end is None else end.value,
        automatic=automatic,
        card_gib=card,
        card_guessed=guessed,
    )


def _sizing(case: Case, base: Advice, record: Record) -> Advice:
    """SGLang refused to size the pools."""
    if m.gib_of(record, "need_gib") is not None:
        return _checkpoint_pool(base, record)
    if m.gib_of(record, "swa_gib") is not None:
        return _swa_cap(case, base, record)
    if m.count_of(record, "swa_tokens") is not None:
        return _swa_small(case, base, record)
    if m.count_of(record, "mamba_slots") is not None or m.gib_of(record, "rest_gib") is not None:
        return _mamba_small(case, base, record)
    return _no_room(case, base)


def _raised(case: Case, base: Advice, needed_gib: float = 0.0) -> Advice:
    """The advice to raise the fraction until `needed_gib` of pools fit."""
    start, end = m.before(case), m.after(case)
    if start is None or end is None or start.low <= 0:
        return replace(base, direction="raise")
    smallest = smallest_fraction(start, end - needed_gib)
    if smallest is None:
        return replace(base, direction="raise")
    value = smallest.value
    most = end.value - needed_gib
    if most < LEAST_LEFT_GIB or value >= 1:
        return replace(base, direction="neither", smallest=value, impossible=True)
    suggested, basis = _comfortable(base.automatic, value, most, start.value)
    if base.fraction is not None and suggested <= base.fraction:
        return replace(base, direction="neither", smallest=value)
    return replace(
        base,
        direction="raise",
        smallest=value,
        suggested=suggested,
        basis=basis,
        for_tokens=_for_tokens(case, start, end),
        changes={"mem_fraction_static": suggested},
    )


def _comfortable(
    automatic: float | None, smallest: float, free_gib: float, before_gib: float
) -> tuple[float, Literal["rule", "half"]]:
    """A fraction that starts and leaves room: the release's own, else one that gives the pools half of what is free."""
    if automatic is not None and automatic > smallest:
        return m.down(automatic), "rule"
    return m.up(1 - free_gib / 2 / before_gib), "half"


def _for_tokens(case: Case, start: Interval, end: Interval) -> tuple[TokenFraction, ...]:
    """The fraction that one full-length request needs, and the tokens of the last good start."""
    per = m.bytes_per_token(case)
    if per is None:
        return ()
    wanted: list[tuple[int, str]] = []
    if (length := m.context_length(case)) is not None:
        wanted.append((length, "one request of full length"))
    if case.previous is not None and (tokens := case.previous.comparison.actual_tokens) is not None:
        wanted.append((tokens, "as many as the last good start held"))
    found = []
    for tokens, what in wanted:
        size = tokens * per / GIB
        fraction = 1 - (end.value - size) / start.value
        found.append(TokenFraction(tokens, what, m.up(fraction), end.value - size))
    return tuple(found)


def _no_room(case: Case, base: Advice) -> Advice:
    """Not enough memory / Loaded weights leave no GPU memory: the reserve is larger than what is left."""
    room = m.budget(case)
    state = None if case.expectation is None else case.expectation.mamba_gib
    if room is not None and room.low > 0 and _is_hybrid(case):
        return _state_takes_all(case, base, room, state)
    reserve = None
    if base.before_gib is not None and base.fraction is not None:
        reserve = base.before_gib * (1 - base.fraction)
    return replace(_raised(case, base), reason="no_kv_room", asked_gib=reserve, there_gib=base.after_gib)


def _is_hybrid(case: Case) -> bool:
    return case.expectation is not None and case.expectation.attention == "hybrid"


def _state_takes_all(case: Case, base: Advice, room: Interval, state: Interval | None) -> Advice:
    """The fraction leaves a budget, and the recurrent state of all request slots takes it before any KV is counted."""
    slots = m.number(case, "max_mamba_cache_size") or m.number(case, "max_running_requests") or 512
    detail: dict[str, float | int | str] = {"slots": slots, "room_gib": room.value}
    changes: dict[str, object] = {}
    found = replace(base, reason="state_takes_all", there_gib=room.value)
    if state is not None and state.value > 0:
        each = state.value / slots
        fits = int(room.value * 0.9 / 1.9 / each)
        detail |= {"each_gib": each, "fits": fits}
        found = replace(found, asked_gib=state.value, smallest=_with_pools(case, state.value))
        if fits > 0:
            changes["max_mamba_cache_size"] = fits
            if (m.number(case, "max_running_requests") or slots) > fits:
                changes["max_running_requests"] = fits
    return replace(found, direction="neither", detail=detail, changes=changes)


def _with_pools(case: Case, needed_gib: float) -> float | None:
    start, end = m.before(case), m.after(case)
    if start is None or end is None:
        return None
    found = smallest_fraction(start, end - needed_gib)
    return None if found is None else found.value


def _mamba_small(case: Case, base: Advice, record: Record) -> Advice:
    """The state pool holds no slot, or fewer than one request takes."""
    args = m.arguments(case)
    slots = m.count_of(record, "mamba_slots") or 0
    each = m.gib_of(record, "per_request_gib")
    rest = m.gib_of(record, "rest_gib")
    share = 0.9 if args is None else args.number("mamba_full_memory_ratio", 0.9)
    needed = 1 if args is None or case.release is None else slots_per_request(args, case.release)
    if args is not None and speculation(args) is not None:
        needed += args.whole("speculative_num_draft_tokens") or 0
    detail: dict[str, float | int | str] = {"slots": slots, "needed": needed, "share": share}
    found = replace(base, reason="mamba_too_small", direction="raise", detail=detail)
    room = rest if rest is not None else m.budget(case)
    if each is None or room is None or base.before_gib is None or base.fraction is None or share <= 0:
        return found
    wanted = (needed + 1) * each.value * (1 + share) / share
    lacking = wanted - room.value
    detail["each_gib"] = each.value
    found = replace(found, asked_gib=wanted, there_gib=room.value, detail=detail)
    smallest = base.fraction + lacking / base.before_gib
    end = base.after_gib
    if smallest >= 1 or (end is not None and end - wanted < LEAST_LEFT_GIB):
        return replace(found, direction="neither", smallest=smallest, impossible=True)
    chosen = _at_least(found, smallest)
    return replace(chosen, smallest=smallest, changes={"mem_fraction_static": chosen.suggested})


def _at_least(base: Advice, smallest: float) -> Advice:
    """The release's own fraction where it is enough, else the least that is."""
    least, rule = m.up(smallest), m.down(base.automatic or 0.0)
    return replace(base, suggested=max(least, rule), basis="rule" if rule > least else "least")


def _swa_small(case: Case, base: Advice, record: Record) -> Advice:
    """The sliding-window pool is smaller than the window of one request."""
    tokens = m.count_of(record, "swa_tokens") or 0
    args = m.arguments(case)
    ratio = 0.8 if args is None else window_ratio(args)
    detail: dict[str, float | int | str] = {"tokens": tokens, "ratio": ratio}
    window = None if case.given.config is None else case.given.config.sliding_window
    changes: dict[str, object] = {}
    if window is not None:
        page = (case.inputs.page_size if case.inputs is not None else None) or 1
        detail["window"] = window + page
        if tokens > 0 and ratio > 0 and (better := round(ratio * (window + page + 1) / tokens + 0.005, 2)) <= 1:
            detail["better_ratio"] = better
            changes["swa_full_tokens_ratio"] = better
    found = _raised(case, base)
    return replace(found, reason="swa_too_small", detail=detail, changes=changes or found.changes)


def _swa_cap(case: Case, base: Advice, record: Record) -> Advice:
    """The window pool that the requests need leaves nothing for the full pool."""
    asked, there = m.gib_of(record, "swa_gib"), m.gib_of(record, "avail_gib")
    running = m.number(case, "max_running_requests")
    detail: dict[str, float | int | str] = {"tokens": m.count_of(record, "swa_tokens") or 0}
    found = replace(base, reason="swa_cap_too_large", direction="raise")
    if asked is None or there is None:
        return replace(found, detail=detail)
    found = replace(found, asked_gib=asked.value, there_gib=there.value)
    changes: dict[str, object] = {}
    if running is not None and asked.value > 0:
        fewer = int(running * there.value / asked.value / 2)
        if fewer > 0:
            detail |= {"requests": running, "fewer": fewer}
            changes["max_running_requests"] = fewer
    if base.fraction is not None and base.before_gib:
        smallest = base.fraction + (asked.value - there.value) / base.before_gib
        most = (base.after_gib or base.before_gib) - asked.value
        found = replace(found, smallest=smallest)
        if smallest >= 1 or most < LEAST_LEFT_GIB:
            found = replace(found, direction="neither", impossible=True)
        else:
            found = _at_least(found, smallest)
            changes = changes or {"mem_fraction_static": found.suggested}
    return replace(found, detail=detail, changes=changes)


def _checkpoint_pool(base: Advice, record: Record) -> Advice:
    """The int8 checkpoint pool is taken from the reserve: lower the fraction."""
    asked, there = m.gib_of(record, "need_gib"), m.gib_of(record, "avail_gib")
    found = replace(base, reason="checkpoint_pool", direction="lower")
    if asked is None or there is None:
        return found
    found = replace(found, asked_gib=asked.value, there_gib=there.value)
    return _lowered(found, asked.value - there.value)


def _unified(case: Case, base: Advice, record: Record) -> Advice:
    """The unified pool does not hold one request."""
    total = m.count_of(record, "total_bytes")
    there = None if total is None else total / GIB
    return replace(_raised(case, base), reason="unified_too_small", there_gib=there)


def _lowered(base: Advice, lacking_gib: float) -> Advice:
    """The advice to lower the fraction so that `lacking_gib` and a margin more stay free."""
    if base.fraction is None or not base.before_gib:
        return base
    wanted = base.fraction - (max(0.0, lacking_gib) + MARGIN_GIB) / base.before_gib
    if base.automatic is not None and base.automatic < base.fraction:
        wanted = min(wanted, base.automatic)
    suggested = m.down(wanted)
    if base.after_gib is not None:
        smallest = 1 - base.after_gib / base.before_gib
        if suggested <= smallest:
            return replace(base, direction="neither", smallest=smallest, impossible=True)
        base = replace(base, smallest=smallest)
    if suggested <= 0:
        return replace(base, direction="neither", impossible=True)
    return replace(base, direction="lower", suggested=suggested, changes={"mem_fraction_static": suggested})


_MILESTONES = frozenset(
    {"load_weight_begin", "load_weight_end", "memory_pool_end", "capture_begin", "capture_end", "kv_cache_allocated"}
)


def _last_step(case: Case, record: Record) -> str | None:
    """The last milestone that the failing rank (or, where none is named, any) printed before the failure."""
    key = case.launch.failure.rank if case.launch.failure is not None else None
    found = [
        r
        for r in case.launch.records
        if r.kind in _MILESTONES and r.line < record.line and (key is None or r.rank.tp in {None, key.tp})
    ]
    return found[-1].kind if found else None


def _device(case: Case, base: Advice, record: Record) -> Advice:
    """CUDA (HIP, NPU …) out of memory: at load, when the pools were allocated, at capture or while serving."""
    failure = case.launch.failure
    phase = "" if failure is None else failure.phase
    asked, there = m.gib_of(record, "asked_gib"), m.gib_of(record, "free_gib")
    total, own = m.gib_of(record, "total_gib"), m.gib_of(record, "process_gib")
    others = None
    if total is not None and own is not None and there is not None:
        others = max(0.0, total.value - own.value - there.value)
    found = replace(
        base,
        asked_gib=None if asked is None else asked.value,
        there_gib=None if there is None else there.value,
        others_gib=others,
    )
    lacking = 0.0 if asked is None else asked.value - (0.0 if there is None else there.value)
    if phase in {"launch", "distributed", "load"}:
        return replace(found, reason="oom_load", direction="neither")
    if phase in {"serving", "warmup"}:
        found = replace(_lowered(found, lacking), reason="oom_serving")
        return _with_smaller_chunk(case, found)
    if phase == "capture" and _last_step(case, record) != "load_weight_begin":
        return _with_fewer_graphs(case, replace(_lowered(found, lacking), reason="oom_capture"))
    draft = int(_last_step(case, record) == "load_weight_begin")
    return replace(_lowered(found, lacking), reason="oom_pools", detail={"draft": draft})


def _with_fewer_graphs(case: Case, advice: Advice) -> Advice:
    largest = m.largest_graph_batch(case)
    name = m.graph_argument(case)
    if largest is None or largest < 2:
        return replace(advice, detail={"graph_flag": m.flag(name)})
    fewer = max(1, largest // 4)
    detail: dict[str, float | int | str] = {"graph_flag": m.flag(name), "batch": largest, "fewer": fewer}
    changes = {name: fewer} if advice.impossible else advice.changes
    return replace(advice, detail=detail, changes=changes)


def _with_smaller_chunk(case: Case, advice: Advice) -> Advice:
    chunk = m.number(case, "chunked_prefill_size")
    if chunk is None or chunk < 1024:
        return advice
    changes = {"chunked_prefill_size": chunk // 2} if advice.impossible else advice.changes
    return replace(advice, detail={"chunk": chunk, "smaller": chunk // 2}, changes=changes)


def _capture_failed(case: Case, base: Advice, record: Record) -> Advice:
    """A capture that failed for want of memory, where only the wrapped error names it."""
    error = record.fields.get("error")
    if not isinstance(error, str) or "out of memory" not in error:
        return base
    return _with_fewer_graphs(case, replace(_lowered(base, 0.0), reason="oom_capture"))


def _pool_empty(case: Case, base: Advice, record: Record) -> Advice:
    """The KV pool ran out while serving: raise the fraction as far as what is left allows, else run fewer requests."""
    following = [r for r in m.records(case, "runtime_oom_detail") if record.line <= r.line <= record.line + 8]
    parts = (record, *following)
    asked = next((v for r in parts if (v := m.count_of(r, "asked_tokens")) is not None), None)
    there = next((v for r in parts if (v := m.count_of(r, "avail_tokens")) is not None), None)
    detail: dict[str, float | int | str] = {}
    if asked is not None:
        detail["asked_tokens"] = asked
    if there is not None:
        detail["there_tokens"] = there
    if "state" in record.fields:
        detail["state"] = str(record.fields["state"])
        slots = m.count_of(record, "state_slots")
        if slots is not None:
            detail["state_slots"] = slots
    last = last_minutes(case.launch)
    changes: dict[str, object] = {}
    if last is not None and last.most_running is not None and last.most_running >= 2:
        detail |= {"ran": last.most_running, "fewer": max(1, int(last.most_running * FEWER_REQUESTS))}
        changes["max_running_requests"] = detail["fewer"]
    found = replace(base, reason="kv_exhausted", detail=detail, changes=changes)
    free, rule = m.left(case), m.yardstick(case)
    if free is None or rule is None or base.fraction is None or not base.before_gib:
        return found
    spare = free.value - rule.gib
    if spare < 0.25:
        return found
    suggested = m.down(base.fraction + spare / base.before_gib)
    if suggested >= 1 or suggested <= base.fraction:
        return found
    return replace(
        found, direction="raise", suggested=suggested, basis="rule", changes={"mem_fraction_static": suggested}
    )


def _unbalanced(base: Advice, record: Record | None) -> Advice:
    least = None if record is None else m.gib_of(record, "least_gib")
    local = None if record is None else m.gib_of(record, "local_gib")
    return replace(
        base,
        reason="unbalanced",
        asked_gib=None if local is None else local.value * 0.9,
        there_gib=None if least is None else least.value,
        detail={} if local is None else {"local_gib": local.value},
    )


def _host(case: Case, base: Advice, record: Record | None) -> Advice:
    """The host's memory ran out: the fraction has no part in it."""
    if record is None or record.kind != "err_host_memory":
        return replace(base, reason="killed")
    need, free = m.gib_of(record, "need_gb"), m.gib_of(record, "free_gb")
    groups = m.groups(case)
    ranks = 1 if groups is None else groups.world * groups.replicas
    nodes = m.number(case, "nnodes") or 1
    ranks = max(1, ranks // max(1, nodes))
    found = replace(base, reason="host_memory", per_rank_times=ranks)
    if need is None:
        return found
    found = replace(found, asked_gib=need.value)
    if free is None:
        return found
    taken = sum(size.value for r in m.records(case, "host_pool") if (size := m.gib_of(r, "host_gb")) is not None)
    share = HOST_SHARE * (free.value + taken) / (need.value * ranks) if need.value > 0 else 0.0
    changes = _host_changes(case, need.value * share, share)
    detail: dict[str, float | int | str] = {"fits_gb": need.value * share}
    return replace(found, there_gib=free.value, changes=changes, detail=detail)


def _host_changes(case: Case, fits_gb: float, share: float) -> dict[str, object]:
    """A smaller host cache, or none where it would be smaller than the device's."""
    size = m.number(case, "hicache_size") or 0
    if size > 0:
        return {"hicache_size": int(fits_gb)} if fits_gb >= 1 else {"enable_hierarchical_cache": False}
    asked = case.launch.args.get("hicache_ratio")
    ratio = float(asked) if isinstance(asked, int | float) and not isinstance(asked, bool) else 2.0
    smaller = int(ratio * share * 10) / 10
    return {"hicache_ratio": smaller} if smaller > 1 else {"enable_hierarchical_cache": False}


_HANDLERS: Mapping[str, Callable[[Case, Advice, Record], Advice]] = {
    "err_not_enough_memory": _sizing,
    "err_unified_pool": _unified,
    "err_unified_feasibility": _unified,
    "oom_device": _device,
    "err_capture_failed": _capture_failed,
    "err_runtime_oom": _pool_empty,
}
"""Kind of the failing record -> what it means for the fraction."""


def failure_found(case: Case, code: str, severity: str, reason: Reason) -> Found | None:
    """The finding of one reason of failure, with the advice's numbers; None for another reason."""
    advice = advise(case)
    if advice is None or advice.reason != reason:
        return None
    record, failure = advice.record, case.launch.failure
    lost = None
    if advice.direction == "lower" and advice.suggested is not None and advice.fraction is not None:
        lost = m.tokens_of((advice.fraction - advice.suggested) * (advice.before_gib or 0.0), case)
    free = m.left(case)
    numbers: dict[str, object] = {
        "direction": advice.direction,
        "fraction": advice.fraction,
        "before": advice.before_gib,
        "after": advice.after_gib,
        "asked": advice.asked_gib,
        "there": advice.there_gib,
        "smallest": advice.smallest,
        "automatic": advice.automatic,
        "card": advice.card_gib,
        "card_guessed": advice.card_guessed,
        "suggested": advice.suggested,
        "basis": advice.basis,
        "for_tokens": advice.for_tokens,
        "impossible": advice.impossible,
        "others": advice.others_gib,
        "ranks": advice.per_rank_times,
        "detail": advice.detail,
        "changes": advice.changes,
        "tokens_lost": lost,
        "left": None if free is None else free.value,
        "kind": "" if record is None else record.kind,
        "port": None if record is None else record.fields.get("port"),
    }
    lines = [] if failure is None else [failure.line]
    if reason in {"no_kv_room", "oom_load", "state_takes_all"}:
        lines += [r.before_line for r in m.readings(case)[:1] if r.before_line is not None]
        lines += [r.after_line for r in m.readings(case)[:1] if r.after_line is not None]
    return Found(code, severity, numbers, tuple(dict.fromkeys(lines)), advice.changes)
