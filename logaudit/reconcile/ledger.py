"""Where every GiB of one rank went, from the reading before loading to the last one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from logaudit.extract.extractor import Record
from logaudit.frame import STATE_POOLS, kv_pools
from logaudit.interval import Interval
from logaudit.launches.model import Pool, RankReadings, WorkerReadings
from logaudit.launches.ranks import FREE_KINDS, is_draft_graph

UNACCOUNTED = "not accounted for between two readings"
RETURNED = "given back between two readings"
ROUNDING = "rounding of the printed figures"
FREE = "free at the end"


@dataclass(frozen=True, slots=True)
class Item:
    """One part of a rank's memory."""

    item: str
    gib: Interval
    evidence: tuple[int, ...]
    kind: str
    """`weights`, `kv`, `state`, `graphs`, `draft-weights`, `draft-kv`, `other` (computed), `rest`, `left`."""
    detail: str = ""
    computed: bool = False


@dataclass(frozen=True, slots=True)
class Ledger:
    """The parts of one rank's memory; they add up to what was free before loading."""

    rank: RankReadings
    before_load: Interval
    before_line: int
    items: tuple[Item, ...]

    @property
    def free(self) -> Interval | None:
        """What is left at the last reading."""
        return next((item.gib for item in self.items if item.kind == "left"), None)

    def total(self, *kinds: str) -> Interval:
        """Sum of the items of some kinds."""
        return sum((item.gib for item in self.items if item.kind in kinds), Interval.exact(0.0))


@dataclass(slots=True)
class _Open:
    """What was announced since the last free-memory reading."""

    items: list[Item] = field(default_factory=list)
    pooled: bool = False


def pool_item(pool: Pool, worker: WorkerReadings) -> Item | None:
    """A pool as a ledger item; None for address space and pools that print no size."""
    if pool.virtual or pool.gib is None:
        return None
    draft = worker.worker == "draft"
    if pool.name in STATE_POOLS:
        count = "" if pool.tokens is None else f", {pool.tokens:,} slots"
        names = {"mamba": "mamba state", "mamba_int8": "int8 mamba checkpoints", "replayssm": "ReplaySSM buffers"}
        return Item(f"{names[pool.name]}{count}", pool.gib, (pool.line,), "draft-kv" if draft else "state")
    label = {"kv": "KV cache", "full": "full-attention KV cache", "swa": "sliding-window KV cache"}.get(
        pool.name, f"{pool.name} pool"
    )
    count = "" if pool.tokens is None else f", {pool.tokens:,} tokens"
    return Item(f"{'draft ' if draft else ''}{label}{count}", pool.gib, (pool.line,), "draft-kv" if draft else "kv")


def _workers_by_place(rank: RankReadings) -> tuple[dict[int, WorkerReadings], dict[int, tuple[Pool, WorkerReadings]]]:
    loads: dict[int, WorkerReadings] = {}
    pools: dict[int, tuple[Pool, WorkerReadings]] = {}
    for worker in rank.workers:
        if worker.after_load is not None:
            loads[worker.after_load.order] = worker
        for pool in worker.pools:
            if pool in kv_pools(worker) or pool.name in STATE_POOLS or pool.name == "unified":
                pools[pool.order] = (pool, worker)
    return loads, pools


def _weights_item(worker: WorkerReadings | None, taken: Interval, lines: tuple[int, ...]) -> Item:
    model = "" if worker is None or not worker.model_type else f" ({worker.model_type})"
    if worker is not None and worker.worker == "draft":
        return Item(f"draft weights{model}", taken, lines, "draft-weights")
    return Item(f"weights{model}", taken, lines, "weights")


def _rest(rest: Interval, lines: tuple[int, ...]) -> Item | None:
    """What lies between two readings and belongs to no line; within rounding it is only rounding."""
    if abs(rest.value) < 1e-9:
        return None
    if rest.holds(0.0):
        return Item(ROUNDING, rest, (), "rounding")
    return Item(UNACCOUNTED if rest.value > 0 else RETURNED, rest, lines, "rest")


def build_ledger(rank: RankReadings, unprinted: Mapping[str, Interval]) -> Ledger | None:
    """The ledger of one rank; None when it printed no reading before loading.

    `unprinted` is memory that the formula knows and no line prints (the request table, the free list): it is
    placed between the target's pool and the reading after it, as far as it fits there.
    """
    target = rank.workers[0]
    if target.before_load is None:
        return None
    loads, pools = _workers_by_place(rank)
    items: list[Item] = []
    pending = _Open()
    last, last_line = target.before_load.gib, target.before_load.line
    if target.after_load is not None and target.after_load.order == target.before_load.order:
        items.append(_weights_item(target, last - target.after_load.gib, (last_line,)))
        last = target.after_load.gib
    for record in rank.readings:
        if record.order <= target.before_load.order:
            continue
        if record.order in pools and (item := pool_item(*pools[record.order])) is not None:
            pending.items.append(item)
            pending.pooled = True
            continue
        free = record.fields.get("avail_gib")
        profiled = record.kind == "memory_profiling" and record.order in loads
        if not (profiled or record.kind in FREE_KINDS) or not isinstance(free, Interval):
            continue
        taken, between = last - free, (last_line, record.line)
        items += _between(
            record,
            taken,
            between,
            pending,
            loads,
            unprinted if target.pool_end and target.pool_end.order == record.order else {},
        )
        pending = _Open()
        last, last_line = free, record.line
    items.append(Item(FREE, last, (last_line,), "left"))
    return Ledger(rank, target.before_load.gib, target.before_load.line, _merge_rounding(items))


def _between(
    record: Record,
    taken: Interval,
    lines: tuple[int, ...],
    pending: _Open,
    loads: Mapping[int, WorkerReadings],
    unprinted: Mapping[str, Interval],
) -> list[Item]:
    """The items between the last reading and `record`'s."""
    if record.kind in ("load_weight_end", "memory_profiling") and not pending.pooled:
        return [_weights_item(loads.get(record.order), taken, lines)]
    if record.kind == "capture_end" and not pending.pooled:
        name = str(record.fields.get("what", "graphs"))
        return [Item(name, taken, lines, "draft-graphs" if is_draft_graph(name) else "graphs")]
    items = list(pending.items)
    rest = taken - sum((item.gib for item in items), Interval.exact(0.0))
    for name, size in unprinted.items():
        if size.value >= 0.005 and size.low <= rest.high:
            items.append(Item(name, size, (), "other", "computed, no line prints it", computed=True))
            rest = rest - size
    if (unknown := _rest(rest, lines)) is not None:
        items.append(unknown)
    return items


def _merge_rounding(items: list[Item]) -> tuple[Item, ...]:
    """All rounding rests as one item before the free memory, so that the items still add up."""
    rounding = [item.gib for item in items if item.kind == "rounding"]
    kept = [item for item in items if item.kind != "rounding"]
    total = sum(rounding[1:], rounding[0]) if rounding else None
    if total is not None and abs(total.value) >= 1e-9:
        kept.insert(len(kept) - 1, Item(ROUNDING, total, (), "rest"))
    return tuple(kept)
