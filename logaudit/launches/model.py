"""One server start as it can be read off a log: its ranks, its workers, what they printed, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from logaudit.extract.extractor import Record
from logaudit.interval import Interval
from logaudit.sglang.server_args import ParsedArgs

Worker = Literal["target", "draft"]
Outcome = Literal["ready", "initialised", "crashed", "incomplete"]
ArgsOrigin = Literal["dump", "short", "command_line", "none"]
FailureKind = Literal["memory", "host_memory", "unbalanced", "not_memory", "unknown"]


@dataclass(frozen=True, slots=True)
class RankKey:
    """Which process of the server; None where the log does not say (a single-GPU server prints none)."""

    tp: int | None = None
    pp: int | None = None
    dp: int | None = None
    ep: int | None = None
    attn_cp: int | None = None
    node: int | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """A memory figure in GiB and the line that printed it."""

    gib: Interval
    line: int
    order: int = 0
    """Place among the records of the launch."""


@dataclass(frozen=True, slots=True)
class Pool:
    """One KV, SWA, mamba … pool that a worker allocated."""

    name: str
    """`kv` (the only one), `full`, `swa`, `mamba`, `mamba_int8`, or the label that was printed."""
    line: int
    tokens: int | None
    """Tokens (KV pools) or slots (state pools); None where the release does not print them."""
    k_gib: Interval | None = None
    v_gib: Interval | None = None
    gib: Interval | None = None
    """Whole size: K + V, or the single MLA figure, or all state buffers."""
    dtype: str | None = None
    virtual: bool = False
    """True when the line announces address space, not memory."""
    order: int = 0
    """Place among the records of the launch."""


@dataclass(frozen=True, slots=True)
class Graph:
    """One CUDA (NPU, CPU) graph capture."""

    name: str
    """As printed: `cuda graph`, `draft cuda graph`, `target decode CUDA graph`, …"""
    begin: Reading | None
    end: Reading | None
    used: Reading | None
    elapsed_s: float | None = None


@dataclass(frozen=True, slots=True)
class WorkerReadings:
    """What one worker (the target or one draft model) of one rank printed."""

    worker: Worker
    draft_index: int | None
    """0 for the first draft, 1 for the second, …; None for the target."""
    rank: RankKey
    before_load: Reading | None = None
    after_load: Reading | None = None
    weights: Reading | None = None
    model_type: str | None = None
    quant: str | None = None
    load_s: float | None = None
    kv_dtype: str | None = None
    pools: tuple[Pool, ...] = ()
    swa_full_tokens: int | None = None
    """From `Use sliding window memory pool`: the full-layer tokens."""
    swa_tokens: int | None = None
    pools_total: Reading | None = None
    """From `SWAKVPool mem usage`: what both pools of a sliding-window model take together."""
    pool_end: Reading | None = None
    graphs: tuple[Graph, ...] = ()


@dataclass(frozen=True, slots=True)
class RankReadings:
    """Everything that one rank printed, in order of its lines."""

    key: RankKey
    workers: tuple[WorkerReadings, ...]
    """The target first, then the drafts; by identity, not by order of printing."""
    final: Reading | None = None
    """Free memory of the scheduler's last line, or else of the last reading."""
    readings: tuple[Record, ...] = ()
    """Every record of this rank that belongs to its account, in the order printed: the ledger's raw material."""


@dataclass(frozen=True, slots=True)
class Scheduler:
    """The `max_total_num_tokens=` line of one replica's stage."""

    rank: RankKey
    line: int
    max_total_num_tokens: int
    max_running_requests: int | None
    context_length: int | None
    chunked_prefill_size: int | None
    available: Reading | None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a start (or a running server) ended."""

    kind: FailureKind
    phase: str
    text: str
    line: int
    rank: RankKey | None


@dataclass(frozen=True, slots=True)
class Launch:
    """One server start."""

    index: int
    source: int
    """Index of the source that it was read from."""
    first_line: int
    last_line: int
    records: tuple[Record, ...]
    args: Mapping[str, object]
    """Server arguments by field name, parsed; {} when none were printed."""
    args_line: int | None
    args_origin: ArgsOrigin
    """Where `args` came from: SGLang's own dump, a shortened paste of it, a launch command in the text."""
    args_complete: bool
    """False when the dump was cut."""
    outcome: Outcome
    failure: Failure | None
    started_at: datetime | None
    ready_at: datetime | None
    ranks: tuple[RankReadings, ...]
    schedulers: tuple[Scheduler, ...] = ()
    wrappers: tuple[str, ...] = ()
    traffic: tuple[Record, ...] = ()
    """The last batch lines before a failure or the end."""
    parsed: ParsedArgs | None = None
    """The dump as parsed, for the version bracket."""
    notes: tuple[str, ...] = field(default=())
    """What was assumed in grouping the lines, for the report's `how this was read`."""
