"""How one start ended: ready, initialised, crashed (why and where) or incomplete."""

from __future__ import annotations

from collections.abc import Sequence

import regex

from logaudit.extract.extractor import Record
from logaudit.launches.keys import key_of
from logaudit.launches.model import Failure, FailureKind, Outcome, RankKey

ROOTS: dict[str, FailureKind] = {
    "err_not_enough_memory": "memory",
    "err_unified_pool": "memory",
    "err_unified_feasibility": "memory",
    "oom_device": "memory",
    "err_runtime_oom": "memory",
    "mem_unbalanced": "unbalanced",
    "err_host_memory": "host_memory",
    "killed": "host_memory",
    "err_settings": "not_memory",
    "shm_error": "not_memory",
    "port_in_use": "not_memory",
    "import_error": "not_memory",
    "nccl_error": "not_memory",
}
"""Kinds that name a reason, and what kind of reason it is."""

UNCLEAR: dict[str, FailureKind] = {
    "err_capture_failed": "unknown",
    "cuda_error": "unknown",
    "watchdog_timeout": "unknown",
    "python_exception": "unknown",
    "load_incomplete": "unknown",
    "fatal_signal": "unknown",
}
"""Kinds that say that something failed and leave open whether memory was the reason."""

DEATHS = frozenset(
    {"process_exception", "child_failed", "process_died", "init_failed", "watchdog_timeout", "killed", "fatal_signal"}
)
"""Kinds after which the server does not go on."""

SYMPTOMS = frozenset({"nccl_error", "watchdog_timeout", "cuda_error"})
"""Kinds that other ranks print because one died: a reason named elsewhere comes first."""

ENDINGS = frozenset({"interrupted", "shutdown"})
"""Somebody stopped it: no failure."""

SIGKILL = 9


def _death_kind(record: Record) -> FailureKind:
    """A process killed by signal 9 is, as a rule, the work of a host-memory limit."""
    code = record.fields.get("exit_code")
    return "host_memory" if isinstance(code, int) and abs(code) in (SIGKILL, 128 + SIGKILL) else "unknown"


def _phase(records: Sequence[Record], failure: Record, ready: bool) -> str:
    """Where the start was when it failed: by what the failing rank had printed, else by the furthest rank."""
    if failure.kind == "err_capture_failed":
        return "capture"
    key = key_of(failure)
    before = records[: failure.order]
    own = [record for record in before if key_of(record) == key] if key != RankKey() else []
    kinds = {record.kind for record in (own or before)}
    if ready or any(record.kind == "server_ready" for record in before):
        return "serving"
    if failure.kind in SIZING_REFUSALS:
        return "sizing"
    if "scheduler_ready" in kinds:
        return "warmup"
    for phase, marks in STEPS:
        if kinds & marks:
            return "capture" if phase == "pools" and failure.kind == "oom_device" else phase
    if failure.kind == "err_runtime_oom":
        return "serving"
    return _phase_of_traceback(before) or _phase_of_traceback(records) or "launch"


def _phase_of_traceback(records: Sequence[Record]) -> str | None:
    """Where only the end of a log is there: by the innermost known step of its last traceback, or by its traffic."""
    for record in reversed(records):
        if record.kind == "traceback_step":
            step = record.fields.get("step")
            return next((phase for phase, names in TRACEBACK_STEPS if step in names), None)
        if record.kind == "batch_stats":
            return "serving"
    return None


TRACEBACK_STEPS = (
    ("distributed", frozenset({"init_torch_distributed", "init_distributed_environment"})),
    ("load", frozenset({"load_model", "load_weights_and_postprocess", "process_weights_after_loading"})),
    ("sizing", frozenset({"init_memory_pool", "profile_max_num_token", "_profile_available_bytes", "_init_pools"})),
    (
        "capture",
        frozenset({"init_cuda_graphs", "init_device_graphs", "init_all_cuda_graphs", "init_piecewise_cuda_graphs"}),
    ),
    ("serving", frozenset({"event_loop_normal", "event_loop_overlap", "event_loop_pp"})),
)
"""Functions in a traceback, by the phase that they make up."""


SIZING_REFUSALS = frozenset({"err_not_enough_memory", "err_unified_feasibility"})
"""Kinds that only the sizing of a pool prints, the target's or, after the target's graphs, a draft's."""

STEPS = (
    ("capture", frozenset({"capture_begin"})),
    ("pools", frozenset({"memory_pool_end"})),
    ("sizing", frozenset({"load_weight_end"})),
    ("load", frozenset({"load_weight_begin"})),
    ("distributed", frozenset({"dist_init_begin", "dist_init_end", "parallel_init_end", "mem_baseline"})),
)
"""Phases from the last to the first, with the kinds that say that a rank has come there."""


def _root(record: Record) -> FailureKind | None:
    """The reason that a record names; a failed capture names memory where the error that it wraps does."""
    if record.kind == "err_capture_failed" and "out of memory" in record.text:
        return "memory"
    return ROOTS.get(record.kind)


def _speaks_of_something_else(record: Record) -> bool:
    """Whether an exception says what is wrong and says nothing of memory or of the device."""
    if record.kind != "python_exception":
        return False
    said = record.fields.get("text")
    if not isinstance(said, str) or not said.strip():
        return False
    try:
        return DEVICE_WORDS.search(said[:MAX_TEXT].lower(), timeout=MATCH_TIMEOUT_S) is None
    except TimeoutError:
        return False


MATCH_TIMEOUT_S = 0.5


DEVICE_WORDS = regex.compile(
    r"memory|\boom\b|alloc|\b(?:cuda|hip|acl|npu|xpu) ?(?:runtime|driver)? ?error|cublas|cudnn|cusolver|nccl|hccl|"
    r"rccl|gloo|killed|signal|timed? ?out|connection|out of resource|shared mem"
)
"""Words by which a message can speak of memory, or of a device or a peer that failed for want of it."""


def _reason(candidates: Sequence[Record]) -> tuple[Record, FailureKind]:
    """The record that names the reason: the first that speaks of memory or another known cause.

    Symptoms (a broken collective, a watchdog) count only when nothing else is named, since every other rank
    prints them when one dies.
    """
    for record in candidates:
        kind = _root(record)
        if kind is not None and record.kind not in SYMPTOMS:
            return record, kind
    for record in candidates:
        if record.kind in SYMPTOMS:
            return record, ROOTS.get(record.kind, UNCLEAR.get(record.kind, "unknown"))
    for record in candidates:
        if record.kind in UNCLEAR:
            return record, "not_memory" if _speaks_of_something_else(record) else UNCLEAR[record.kind]
    killed = [record for record in candidates if _death_kind(record) != "unknown"]
    chosen = killed[0] if killed else candidates[0]
    return chosen, _death_kind(chosen)


def outcome_of(records: Sequence[Record]) -> tuple[Outcome, Failure | None]:
    """Outcome and failure of one start, from its records in order.

    Before the server is ready a traceback that nothing follows ends the start; once it is ready only the death of
    a process does, because requests may fail with tracebacks of their own.
    """
    ready = [place for place, record in enumerate(records) if record.kind == "server_ready"]
    scheduled = [place for place, record in enumerate(records) if record.kind in SCHEDULED]
    progress = ready[0] if ready else max(scheduled, default=-1)
    late = [record for record in records[progress + 1 :] if record.kind in REASONS]
    deaths = [record for record in late if record.kind in DEATHS]
    if deaths and ready:
        crash = [record for record in late if record.line >= _window_start(late, deaths[0])]
    elif deaths:
        crash = late
    elif not ready:
        crash = [record for record in late if not _goes_on(records, record)]
    else:
        crash = []
    if crash:
        record, kind = _reason(crash)
        text = record.text if len(record.text) <= MAX_TEXT else record.text[:MAX_TEXT] + "…"
        rank = key_of(record)
        phase = _phase(records, record, bool(ready))
        return "crashed", Failure(kind, phase, text, record.line, None if rank == RankKey() else rank)
    if ready:
        return "ready", None
    return ("initialised", None) if scheduled else ("incomplete", None)


SCHEDULED = frozenset({"scheduler_ready", "bare_max_total_num_tokens"})
REASONS = frozenset(ROOTS) | frozenset(UNCLEAR) | DEATHS
MAX_TEXT = 2000
"""Longest failure text that is kept, in characters."""

NEAR_LINES = 4000
"""How far before the death of a serving process its reason is looked for, in lines."""


def _window_start(late: Sequence[Record], death: Record) -> int:
    """The first line that can hold the reason of a death while serving."""
    near = [record.line for record in late if death.line - NEAR_LINES <= record.line <= death.line]
    return min(near, default=death.line)


PROGRESS = frozenset({"load_weight_end", "memory_pool_end", "capture_end", "scheduler_ready", "kv_cache_allocated"})


def _goes_on(records: Sequence[Record], failure: Record) -> bool:
    """Whether the rank (or, where the line names none, any rank) makes progress after a failure: then it was none."""
    key = key_of(failure)
    return any(
        record.kind in PROGRESS and (key == RankKey() or key_of(record) == key)
        for record in records[failure.order + 1 :]
    )
