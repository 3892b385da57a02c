"""Records become launches: one per server start, with its ranks, its workers and its outcome."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise

from logaudit.extract.extractor import Record
from logaudit.launches.keys import key_of
from logaudit.launches.model import ArgsOrigin, Launch, RankKey, Reading, Scheduler
from logaudit.launches.nodes import join_nodes
from logaudit.launches.outcome import DEATHS, outcome_of
from logaudit.launches.ranks import gib, read_ranks, spread_unnamed, whole
from logaudit.launches.segment import Segment, segments
from logaudit.launches.untangle import untangled
from logaudit.sglang.server_args import ParsedArgs
from logaudit.sglang.versions import thinned

__all__ = ["join_nodes", "read_launches"]

LAUNCHER_KINDS = frozenset(
    {
        "adjust_chunked_prefill_dp",
        "adjust_mem_fraction",
        "adjust_page_size",
        "adjust_kv_cache_dtype",
        "adjust_max_running_requests",
        "adjust_swa_ratio",
        "adjust_graph_sizes",
        "context_parallel_opt",
        "hybrid_swa_disabled",
        "radix_cache_disabled",
        "shm_cleanup",
        "mm_pool_reserve",
        "gpu_mem_fallback",
        "launch_command",
        "server_args_short",
        "stage_startup",
    }
)
"""Kinds that the launcher prints before its dump."""

TRAFFIC_KINDS = frozenset(
    {
        "batch_stats",
        "retracted",
        "err_runtime_oom",
        "runtime_oom_detail",
        "retract_aborted",
        "eviction_short",
        "request_refused",
        "staging_short",
        "embedding_pool_short",
    }
)
TRAFFIC_KEPT = 400
"""How many of the last traffic records of a launch are kept."""


def read_launches(records: Iterable[Record], *, source: int = 0, wrappers: Sequence[str] = ()) -> tuple[Launch, ...]:
    """The launches of one source, in order of their first lines, not yet joined over nodes nor numbered (`join_nodes`).

    Records of several streams (containers, pods) and of the two sides of a disaggregated server are kept apart.
    """
    families = _families(list(records))
    found = [
        _launch(segment, source, tuple(wrappers))
        for family in families
        for segment in untangled(segments(_in_order(family), DEATHS, LAUNCHER_KINDS))
        if _is_launch(segment)
    ]
    return tuple(sorted(found, key=lambda launch: launch.first_line))


def _side(record: Record) -> str:
    return record.rank.extra if "disagg" in record.rank.extra.lower() else ""


def _families(records: Sequence[Record]) -> list[list[Record]]:
    """Records by stream and, where a stream holds both sides of a disaggregated server, by side."""
    sides: dict[str, set[str]] = {}
    for record in records:
        if side := _side(record):
            sides.setdefault(record.stream, set()).add(side)
    families: dict[tuple[str, str], list[Record]] = {}
    last: dict[str, str] = {}
    for record in records:
        side = ""
        if len(sides.get(record.stream, ())) > 1:
            # What has no prefix (the end of a traceback) belongs to the line before it.
            side = _side(record) if record.time is not None else _side(record) or last.get(record.stream, "")
            last[record.stream] = side
        families.setdefault((record.stream, side), []).append(record)
    return list(families.values())


def _is_launch(segment: Segment) -> bool:
    """Whether the records speak of a server start at all, not of traffic or a stray line."""
    return (
        bool(segment.dumps)
        or segment.started
        or any(record.kind not in TRAFFIC_KINDS | {"uvicorn_ready", "traceback_step"} for record in segment.records)
    )


def _in_order(records: Sequence[Record]) -> list[Record]:
    """Records in order of time where their lines were shuffled, else as given.

    A few steps back in time are logs that follow each other in one file, or ranks that print a little late: only
    where many neighbours stand the wrong way round were lines shuffled.
    """
    known = [record.time for record in records if record.time is not None]
    backwards = sum(1 for a, b in pairwise(known) if a > b)
    return _by_time(records) if backwards > SHUFFLED_SHARE * len(known) else list(records)


SHUFFLED_SHARE = 0.1
"""Share of neighbours in the wrong order above which lines were shuffled."""


def _by_time(records: Sequence[Record]) -> list[Record]:
    """A stable sort by time; a record without one stays behind the record before it."""
    known = [record.time for record in records if record.time is not None]
    if not known or all(a <= b for a, b in pairwise(known)):
        return list(records)
    filled: list[datetime] = []
    last = known[0]
    for record in records:
        last = record.time if record.time is not None else last
        filled.append(last)
    return [record for _, record in sorted(zip(filled, records, strict=True), key=lambda pair: pair[0])]


def _scheduler(record: Record) -> Scheduler | None:
    tokens = whole(record, "tokens")
    if tokens is None:
        return None
    available = gib(record, "avail_gib")
    return Scheduler(
        rank=key_of(record),
        line=record.line,
        max_total_num_tokens=tokens,
        max_running_requests=whole(record, "max_running_requests"),
        context_length=whole(record, "context_tokens"),
        chunked_prefill_size=whole(record, "chunked_prefill_tokens"),
        available=None if available is None else Reading(available, record.line, record.order),
    )


def _schedulers(records: Sequence[Record]) -> tuple[Scheduler, ...]:
    """One per rank that printed the line, in order; a bare token count only where no full line was printed."""
    for kind in ("scheduler_ready", "bare_max_total_num_tokens"):
        found: dict[RankKey, Scheduler] = {}
        for record in records:
            if record.kind == kind and (scheduler := _scheduler(record)) is not None:
                found.setdefault(scheduler.rank, scheduler)
        if found:
            return tuple(found.values())
    return ()


def _processes(args: Mapping[str, object]) -> int:
    sizes = [args.get(name, 1) for name in ("tp_size", "pp_size")]
    count = 1
    for size in sizes:
        count *= size if isinstance(size, int) and size > 0 else 1
    return count


def _time(records: Sequence[Record], kind: str | None) -> datetime | None:
    return next((r.time for r in records if r.time is not None and (kind is None or r.kind == kind)), None)


def _arguments(segment: Segment) -> tuple[tuple[Record, ParsedArgs] | None, ArgsOrigin]:
    """What the server was started with, and where that stands: SGLang's dump, else what people told in the text."""
    if segment.dumps:
        record, parsed = segment.dumps[0]
        if parsed.form != "short" and not thinned(parsed):
            return (record, parsed), "dump"
        return (record, _completed(parsed, segment)), "dump" if parsed.form != "short" else "short"
    told = segment.told
    if told:
        origin: ArgsOrigin = "command_line" if told[-1][0].kind == "launch_command" else "short"
        return told[-1], origin
    return None, "none"


def _completed(parsed: ParsedArgs, segment: Segment) -> ParsedArgs:
    """A dump that its paster shortened, with what a launch command in the text says of the arguments left out."""
    commands = [args for record, args in segment.told if record.kind == "launch_command"]
    if not commands:
        return parsed
    values = {**commands[-1].values, **parsed.values}
    return replace(parsed, values=values, names_in_order=tuple(values))


def _launch(segment: Segment, source: int, wrappers: tuple[str, ...]) -> Launch:
    dump, origin = _arguments(segment)
    parsed = None if dump is None else dump[1]
    args: Mapping[str, object] = {} if parsed is None else parsed.values
    records, spread = spread_unnamed(_by_time(segment.records), _processes(args))
    records = [replace(record, order=place) for place, record in enumerate(records)]
    outcome, failure = outcome_of(records)
    notes = ("The lines name no rank: those of one kind were told apart by their order.",) if spread else ()
    lines = [record.line for record in records]
    return Launch(
        index=0,
        source=source,
        first_line=min(lines),
        last_line=max(lines),
        records=tuple(record for record in records if record.kind not in TRAFFIC_KINDS),
        args=args,
        args_line=None if dump is None else dump[0].line,
        args_origin=origin,
        args_complete=parsed is not None and parsed.complete and not thinned(parsed),
        outcome=outcome,
        failure=failure,
        started_at=_time(records, None),
        ready_at=_time(records, "server_ready"),
        ranks=read_ranks(records),
        schedulers=_schedulers(records),
        wrappers=wrappers,
        traffic=tuple([record for record in records if record.kind in TRAFFIC_KINDS][-TRAFFIC_KEPT:]),
        parsed=parsed if origin in ("dump", "short") else None,
        notes=notes,
    )
