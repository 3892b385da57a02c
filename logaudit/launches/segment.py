"""Where one server start ends and the next begins in a stream of records."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from logaudit.extract.extractor import Record
from logaudit.interval import Interval
from logaudit.launches.keys import key_of
from logaudit.launches.model import RankKey
from logaudit.launches.ranks import FREE_KINDS
from logaudit.sglang.server_args import ParsedArgs, parse_command_line, parse_server_args
from logaudit.sglang.versions import all_field_names

LAUNCHER_PHASE = "launch"
READY_KINDS = frozenset({"server_ready"})
SCHEDULER_KINDS = frozenset({"scheduler_ready"})
START_KINDS = frozenset({"dist_init_begin", "load_weight_begin"})
DUMP_KIND = "server_args_dump"
TOLD_KINDS = frozenset({"server_args_short", "launch_command"})
"""Kinds by which people tell what a server was started with, where SGLang's own dump is not in the log."""

NOTHING_PARSED = ParsedArgs(values={}, names_in_order=(), form="short", complete=False)
"""A dump line of which nothing could be read."""

JUMP_GIB = 0.5
"""Free memory that rises by more than this between two loads of one rank was given back: another start."""


@dataclass(slots=True)
class Segment:
    """Records of one start while they are being collected."""

    records: list[Record] = field(default_factory=list)
    dumps: list[tuple[Record, ParsedArgs]] = field(default_factory=list)
    told: list[tuple[Record, ParsedArgs]] = field(default_factory=list)
    """Shortened arguments and launch commands in the text."""
    ready: bool = False
    dead: bool = False
    """A fatal line was read: a later load begins a new start."""
    scheduled: set[RankKey] = field(default_factory=set)
    loads: dict[RankKey, int] = field(default_factory=dict)
    first_free: dict[RankKey, float] = field(default_factory=dict)
    last_free: dict[RankKey, float] = field(default_factory=dict)
    loaded: set[int] = field(default_factory=set)
    """Numbers of weight shards that a progress bar was seen to complete."""

    @property
    def quiet(self) -> bool:
        """Whether weights were loaded by a server that prints nothing else (`--log-level warning`)."""
        return bool(self.loaded) and not self.started and not self.dumps

    @property
    def started(self) -> bool:
        """Whether any process of the server has printed a figure yet."""
        return bool(self.loads or self.last_free or self.scheduled or self.ready)

    def add(self, record: Record) -> None:
        """Take in one more record of this start."""
        self.records.append(record)
        key = key_of(record)
        if record.kind in READY_KINDS:
            self.ready = True
        elif record.kind in SCHEDULER_KINDS:
            self.scheduled.add(key)
        elif record.kind == "load_weight_begin":
            self.loads[key] = self.loads.get(key, 0) + 1
        elif record.kind in TOLD_KINDS and (told := told_args(record)) is not None:
            self.told.append((record, told))
        elif record.kind == "load_progress":
            total = shards(record)
            if total is not None and record.fields.get("done") == total:
                self.loaded.add(total)
        free = record.fields.get("avail_gib")
        if record.kind in FREE_KINDS and isinstance(free, Interval):
            self.first_free.setdefault(key, free.value)
            self.last_free[key] = free.value

    def starts_again(self, record: Record) -> bool:
        """Whether `record` can only belong to a later start than this one."""
        if record.kind == "load_progress" and self.quiet:
            return record.fields.get("done") == 0 and shards(record) in self.loaded
        if record.kind not in START_KINDS:
            return False
        key = key_of(record)
        if self.ready or self.dead or key in self.scheduled:
            return True
        free = record.fields.get("avail_gib")
        if record.kind != "load_weight_begin" or not isinstance(free, Interval) or not self.loads.get(key):
            return False
        before, last = self.first_free[key], self.last_free[key]
        return free.value - last > max(JUMP_GIB, 0.25 * (before - last))


def shards(record: Record) -> int | None:
    """How many shards a progress bar counts; None for the single file of an adapter or a small draft."""
    total = record.fields.get("total")
    return total if isinstance(total, int) and total > 1 else None


def told_args(record: Record) -> ParsedArgs | None:
    """The arguments of a shortened paste or of a launch command; None when nothing can be read from it."""
    if record.kind == "launch_command":
        return parse_command_line(record.text, sorted(all_field_names()))
    return parse_server_args(record.text)


def same_server(first: ParsedArgs, second: ParsedArgs) -> bool:
    """Whether two dumps are those of two nodes of one server."""
    a, b = first.values, second.values
    nodes = a.get("nnodes")
    return (
        isinstance(nodes, int)
        and nodes > 1
        and nodes == b.get("nnodes")
        and a.get("dist_init_addr") is not None
        and a.get("dist_init_addr") == b.get("dist_init_addr")
        and a.get("node_rank") != b.get("node_rank")
    )


def segments(records: Iterable[Record], fatal_kinds: frozenset[str], launcher_kinds: frozenset[str]) -> list[Segment]:
    """Split records of one stream, in order of their lines, into starts.

    `fatal_kinds` are the kinds after which a server does not go on; `launcher_kinds` those that the launcher
    prints before its dump, so that they belong to the start that follows.
    """
    done: list[Segment] = []
    current = Segment()
    pending: list[Record] = []
    for record in records:
        if record.kind == DUMP_KIND:
            parsed = parse_server_args(record.text) or NOTHING_PARSED
            joins = bool(current.dumps) and not current.ready and same_server(current.dumps[0][1], parsed)
            if (current.started or current.dumps or current.dead or current.quiet) and not joins:
                done.append(current)
                current = Segment()
            for early in pending:
                current.add(early)
            pending = []
            current.add(record)
            current.dumps.append((record, parsed))
            continue
        if record.kind == "launch_command" and current.quiet and not current.told:
            current.add(record)  # a notebook stores a cell's output before its source
            continue
        if record.kind in launcher_kinds and not (current.dumps and not current.started):
            pending.append(record)
            continue
        if current.starts_again(record):
            done.append(current)
            current = Segment()
        for early in pending:
            current.add(early)
        pending = []
        current.add(record)
        if record.kind in fatal_kinds:
            current.dead = True
    for early in pending:
        current.add(early)
    if current.records:
        done.append(current)
    return done
