"""The two pandas frames: one row a record, and one row per launch, worker and rank."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from logaudit.extract.extractor import Record
from logaudit.interval import Interval
from logaudit.launches.model import Launch, Pool, RankKey, RankReadings, Reading, Scheduler, WorkerReadings

if TYPE_CHECKING:
    import pandas as pd

STATE_POOLS = frozenset({"mamba", "mamba_int8", "replayssm"})
"""Pools that hold per-request state rather than tokens."""

GIB_COLUMNS = (
    "before_load_gib",
    "after_load_gib",
    "sizing_gib",
    "weights_gib",
    "k_gib",
    "v_gib",
    "kv_gib",
    "full_gib",
    "swa_gib",
    "mamba_gib",
    "pool_end_gib",
    "graphs_gib",
    "final_gib",
)
"""Each has `_low` and `_high` beside it: what the printed figure can stand for."""

INT_COLUMNS = (
    "launch",
    "source",
    "draft_index",
    "tp",
    "pp",
    "dp",
    "ep",
    "attn_cp",
    "node",
    "kv_tokens",
    "full_tokens",
    "swa_tokens",
    "mamba_slots",
    "max_total_num_tokens",
    "max_running_requests",
    "context_length",
    "before_load_line",
    "after_load_line",
    "sizing_line",
    "pool_line",
    "pool_end_line",
    "final_line",
)

TEXT_COLUMNS = ("outcome", "worker", "model_type", "quant", "kv_dtype")

BOOL_COLUMNS = ("mla",)


def rank_columns() -> dict[str, str]:
    """Column name -> pandas dtype of the rank frame, in order; the same for every log."""
    order: list[tuple[str, str]] = [
        ("source", "Int64"),
        ("launch", "Int64"),
        ("outcome", "string"),
        ("worker", "string"),
    ]
    order += [(name, "Int64") for name in ("draft_index", "tp", "pp", "dp", "ep", "attn_cp", "node")]
    order += [(name, "string") for name in ("model_type", "quant", "kv_dtype")]
    order += [("mla", "boolean")]
    for name in GIB_COLUMNS:
        order += [(name, "Float64"), (f"{name}_low", "Float64"), (f"{name}_high", "Float64")]
    order += [(name, "Int64") for name in INT_COLUMNS if name not in dict(order)]
    return dict(order)


def _spread(row: dict[str, Any], name: str, value: Interval | None) -> None:
    if value is not None:
        row[name], row[f"{name}_low"], row[f"{name}_high"] = value.value, value.low, value.high


def _sum(parts: Iterable[Interval | None]) -> Interval | None:
    known = [part for part in parts if part is not None]
    return sum(known[1:], known[0]) if known else None


def kv_pools(worker: WorkerReadings) -> tuple[Pool, ...]:
    """The pools of a worker that hold tokens and take memory; address space only counts when nothing else is known."""
    pools = [pool for pool in worker.pools if pool.name not in STATE_POOLS and pool.name != "unified"]
    real = [pool for pool in pools if not pool.virtual]
    return tuple(real or pools)


def _gib_of(reading: Reading | None) -> Interval | None:
    return None if reading is None else reading.gib


PAIR = 2
"""Pools of a sliding-window model."""


def _worker_row(worker: WorkerReadings) -> dict[str, Any]:
    row: dict[str, Any] = {
        "worker": worker.worker,
        "draft_index": worker.draft_index,
        "model_type": worker.model_type,
        "quant": worker.quant,
        "kv_dtype": worker.kv_dtype,
    }
    _spread(row, "before_load_gib", _gib_of(worker.before_load))
    _spread(row, "after_load_gib", _gib_of(worker.after_load))
    _spread(row, "weights_gib", _gib_of(worker.weights))
    _spread(row, "pool_end_gib", _gib_of(worker.pool_end))
    _spread(row, "graphs_gib", _sum(_gib_of(graph.used) for graph in worker.graphs))
    row["before_load_line"] = None if worker.before_load is None else worker.before_load.line
    row["after_load_line"] = None if worker.after_load is None else worker.after_load.line
    row["pool_end_line"] = None if worker.pool_end is None else worker.pool_end.line
    pools = kv_pools(worker)
    _spread(row, "k_gib", _sum(pool.k_gib for pool in pools))
    _spread(row, "v_gib", _sum(pool.v_gib for pool in pools))
    _spread(row, "kv_gib", _sum(pool.gib for pool in pools))
    total = _gib_of(worker.pools_total)
    if total is not None and sum(pool.gib is not None for pool in pools) < PAIR:
        # A line of the pair is missing: only the sum is whole.
        _spread(row, "kv_gib", total)
        for name in ("k_gib", "v_gib"):
            row.update(dict.fromkeys((name, f"{name}_low", f"{name}_high")))
    if pools:
        named = {pool.name: pool for pool in pools}
        main = named.get("full") or pools[-1]
        row["kv_tokens"], row["pool_line"] = main.tokens, main.line
        row["mla"] = all(pool.k_gib is None for pool in pools) and main.gib is not None
        for name in ("full", "swa"):
            if name in named:
                row[f"{name}_tokens"] = named[name].tokens
                _spread(row, f"{name}_gib", named[name].gib)
    for name in ("full", "swa"):
        counted = getattr(worker, "swa_full_tokens" if name == "full" else "swa_tokens")
        if row.get(f"{name}_tokens") is None:
            row[f"{name}_tokens"] = counted
    if (worker.swa_full_tokens or 0) > 0 and not any(pool.name in ("full", "kv") for pool in pools):
        # The scheduler counts the full layers' tokens, whichever pool's line is missing.
        row["kv_tokens"] = worker.swa_full_tokens
    for pool in worker.pools:
        if pool.name == "mamba":
            row["mamba_slots"] = pool.tokens
            _spread(row, "mamba_gib", pool.gib)
    return row


def sizing_reading(rank: RankReadings) -> Reading | None:
    """Free memory when the target's pool was sized: the last `Load weight end` before the first pool line.

    Up to 0.5.13 that is the target's own, from 0.5.14 the draft's, which is loaded first: the order of lines tells.
    """
    target = rank.workers[0]
    sized = [pool.order for pool in target.pools] + ([target.pool_end.order] if target.pool_end else [])
    first = min(sized, default=None)
    loaded = [worker.after_load for worker in rank.workers if worker.after_load is not None]
    before = [reading for reading in loaded if first is None or reading.order < first]
    return max(before, key=lambda reading: reading.order, default=None)


def _key_row(key: RankKey) -> dict[str, Any]:
    return {"tp": key.tp, "pp": key.pp, "dp": key.dp, "ep": key.ep, "attn_cp": key.attn_cp, "node": key.node}


def scheduler_of(launch: Launch, key: RankKey) -> Scheduler | None:
    """The scheduler line that speaks for a rank: its own, else that of rank 0 of its replica and stage."""
    same = [s for s in launch.schedulers if (s.rank.pp, s.rank.dp) == (key.pp, key.dp)]
    return next((s for s in same if s.rank == key), same[0] if same else None)


def _column(values: list[Any], dtype: str) -> Any:
    import pandas as pd

    array: Any = pd.array
    return array(values, dtype=dtype)


def rank_rows(launches: Sequence[Launch]) -> list[dict[str, Any]]:
    """The rows of the rank frame as plain values, without pandas: every column in each, None where nothing is known."""
    columns = rank_columns()
    return [dict.fromkeys(columns) | row for launch in launches for row in _launch_rows(launch)]


def _launch_rows(launch: Launch) -> Iterator[dict[str, Any]]:
    for rank in launch.ranks:
        scheduler = scheduler_of(launch, rank.key)
        for worker in rank.workers:
            row: dict[str, Any] = {"source": launch.source, "launch": launch.index, "outcome": launch.outcome}
            row |= _key_row(rank.key) | _worker_row(worker)
            if worker.worker == "target":
                sized = sizing_reading(rank)
                _spread(row, "sizing_gib", _gib_of(sized))
                row["sizing_line"] = None if sized is None else sized.line
                _spread(row, "final_gib", _gib_of(rank.final))
                row["final_line"] = None if rank.final is None else rank.final.line
                if scheduler is not None:
                    row["max_total_num_tokens"] = scheduler.max_total_num_tokens
                    row["max_running_requests"] = scheduler.max_running_requests
                    row["context_length"] = scheduler.context_length
            yield row


def rank_frame(launches: Sequence[Launch]) -> pd.DataFrame:
    """One row per launch, worker and rank; columns and dtypes of `rank_columns`, GiB with rounding bounds."""
    import pandas as pd

    rows = rank_rows(launches)
    return pd.DataFrame({name: _column([row[name] for row in rows], dtype) for name, dtype in rank_columns().items()})


RECORD_COLUMNS = {
    "source": "Int64",
    "launch": "Int64",
    "line": "Int64",
    "time": "datetime64[ms]",
    "stream": "string",
    "kind": "string",
    "phase": "string",
    "tp": "Int64",
    "pp": "Int64",
    "dp": "Int64",
    "ep": "Int64",
    "attn_cp": "Int64",
    "node": "Int64",
}
"""Columns that every record has; the figures of all kinds follow, one column a field."""

WHOLE_UNITS = frozenset({"tokens", "slots", "requests", "count", "bytes"})


def field_column(name: str) -> str:
    """The record frame's column of a field: its name, made distinct from the columns that every record has."""
    return f"{name}_printed" if name in RECORD_COLUMNS or name == "text" else name


def record_columns() -> dict[str, str]:
    """Column name -> dtype of the record frame: the common ones, then every field of every kind by name."""
    from logaudit.extract import all_extractors

    columns = dict(RECORD_COLUMNS)
    for extractor in all_extractors():
        for part in extractor.fields:
            dtype = "string" if part.unit == "text" else "Int64" if part.unit in WHOLE_UNITS else "Float64"
            column = field_column(part.name)
            if columns.setdefault(column, dtype) != dtype:
                columns[column] = "string" if "string" in (dtype, columns[column]) else "Float64"
    columns["text"] = "string"
    return columns


def record_frame(records: Sequence[tuple[int | None, int, Record]]) -> pd.DataFrame:
    """One row a record, in order; `records` are (launch index or None, source index, record)."""
    import pandas as pd

    from logaudit.extract import all_extractors

    phases = {extractor.kind: extractor.phase for extractor in all_extractors()}
    rows = []
    for launch, source, record in records:
        row: dict[str, Any] = {
            field_column(name): value.value if isinstance(value, Interval) else value
            for name, value in record.fields.items()
        }
        row |= {
            "source": source,
            "launch": launch,
            "line": record.line,
            "time": record.time,
            "stream": record.stream or None,
            "kind": record.kind,
            "phase": phases.get(record.kind),
            "tp": record.rank.tp if record.rank.tp is not None else record.rank.gpu,
            "pp": record.rank.pp,
            "dp": record.rank.dp,
            "ep": record.rank.ep,
            "attn_cp": record.rank.attn_cp,
            "node": record.rank.node,
            "text": record.text,
        }
        rows.append(row)
    data: dict[str, Any] = {}
    for name, dtype in record_columns().items():
        values = [row.get(name) for row in rows]
        if name == "time":
            data[name] = pd.Series(pd.DatetimeIndex(values), dtype=dtype)
        elif dtype == "string":
            data[name] = _column([None if v is None else str(v) for v in values], dtype)
        else:
            data[name] = _column(values, dtype)
    return pd.DataFrame(data)
