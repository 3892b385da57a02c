"""What each rank of one start printed, sorted into its target and draft workers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import regex

from logaudit.extract.extractor import Record
from logaudit.interval import Interval
from logaudit.launches.keys import key_of, order
from logaudit.launches.model import Graph, Pool, RankKey, RankReadings, Reading, WorkerReadings

RANK_KINDS = frozenset(
    {
        "load_weight_begin",
        "load_weight_end",
        "kv_cache_dtype",
        "swa_pool_sizes",
        "kv_cache_allocated",
        "kv_cache_noop",
        "kv_tokens_allocated",
        "kv_cache_virtual",
        "kv_cache_physical",
        "dsv4_swa_sizing",
        "swa_ring",
        "swa_kv_pool",
        "mamba_cache_allocated",
        "mamba_int8_pool",
        "replayssm_buffers",
        "unified_pool",
        "unified_subpool",
        "unified_totals",
        "dsv4_mem_calc",
        "dsv4_pool_sizes",
        "dsv4_pool_init",
        "memory_pool_end",
        "post_capture_kv",
        "capture_begin",
        "capture_end",
        "scheduler_ready",
        "mm_runtime_reservation",
        "page_shard_scratch",
        "memory_profiling",
        "tpu_memory_profiling",
        "mem_baseline",
        "dist_init_end",
        "lora_load",
        "adaptive_spec_state",
        "graph_pool",
        "weight_update_mem",
        "mlx_kv_pool",
    }
)
"""Kinds whose records belong to one rank's account."""

FREE_KINDS = frozenset(
    {
        "load_weight_begin",
        "load_weight_end",
        "memory_pool_end",
        "capture_begin",
        "capture_end",
        "scheduler_ready",
        "post_capture_kv",
        "lora_load",
    }
)
"""Kinds whose `avail_gib` is a reading of the device's free memory at that moment of the start."""


def gib(record: Record, name: str) -> Interval | None:
    """A GiB field of a record."""
    value = record.fields.get(name)
    return value if isinstance(value, Interval) else None


def whole(record: Record, name: str) -> int | None:
    """A whole-number field of a record."""
    value = record.fields.get(name)
    return value if isinstance(value, int) else None


def text(record: Record, name: str) -> str | None:
    """A text field of a record."""
    value = record.fields.get(name)
    return value if isinstance(value, str) else None


def seconds(record: Record, name: str) -> float | None:
    """A duration field of a record."""
    value = record.fields.get(name)
    if isinstance(value, Interval):
        return value.value
    return float(value) if isinstance(value, int | float) else None


def reading(record: Record, name: str) -> Reading | None:
    """A GiB field of a record with its line."""
    value = gib(record, name)
    return None if value is None else Reading(value, record.line, record.order)


DRAFT_TYPES = regex.compile(r"NextN|Eagle|MTP|DFlash|DSpark|Medusa|Draft")
"""What the classes of draft models are called; no server runs one as its target."""


@dataclass(slots=True)
class _Load:
    begin: Record | None = None
    end: Record | None = None


@dataclass(slots=True)
class _Group:
    """What was printed between two `Memory pool end` lines: the pools of one worker."""

    pools: list[Pool] = field(default_factory=list)
    swa_full_tokens: int | None = None
    swa_tokens: int | None = None
    total: Record | None = None
    dsv4_full_tokens: int | None = None
    dsv4_line: int = 0
    dtype: str | None = None
    end: Record | None = None


def pool_of(record: Record) -> Pool | None:
    """The pool that a record announces, its name still as printed; None for totals of pools already announced."""
    pool = _pool_of(record)
    return None if pool is None else replace(pool, order=record.order)


def _pool_of(record: Record) -> Pool | None:
    if record.kind in {"kv_cache_allocated", "kv_tokens_allocated", "kv_cache_virtual", "kv_cache_physical"}:
        k, v, kv = gib(record, "k_gib"), gib(record, "v_gib"), gib(record, "kv_gib")
        size = kv if kv is not None else (k + v if k is not None and v is not None else None)
        label = (text(record, "label") or "").strip().lower()
        return Pool(
            name=label or "kv",
            line=record.line,
            tokens=whole(record, "tokens"),
            k_gib=k,
            v_gib=v,
            gib=size,
            dtype=text(record, "dtype"),
            virtual=record.kind == "kv_cache_virtual" or text(record, "state") == "VA upper bound",
        )
    if record.kind == "kv_cache_noop":
        return Pool("kv", record.line, whole(record, "tokens"), gib=gib(record, "kv_gib"))
    if record.kind == "mamba_cache_allocated":
        parts = [v for name, v in record.fields.items() if name.endswith("_gib") and isinstance(v, Interval)]
        return Pool("mamba", record.line, whole(record, "slots"), gib=sum(parts[1:], parts[0]) if parts else None)
    if record.kind == "mamba_int8_pool" and whole(record, "slots") is not None:
        return Pool("mamba_int8", record.line, whole(record, "slots"), gib=gib(record, "pool_gib"))
    if record.kind == "replayssm_buffers":
        parts = [v for v in record.fields.values() if isinstance(v, Interval)]
        return Pool("replayssm", record.line, None, gib=sum(parts[1:], parts[0]) if parts else None)
    if record.kind == "unified_pool":
        virtual = "upper bound" in (text(record, "state") or "")
        return Pool("unified", record.line, None, gib=gib(record, "total_gib"), virtual=virtual)
    if record.kind == "post_capture_kv" and whole(record, "tokens") is not None and gib(record, "kv_gib") is not None:
        return Pool("kv", record.line, whole(record, "tokens"), gib=gib(record, "kv_gib"), dtype=text(record, "dtype"))
    return None


def name_pools(group: _Group) -> tuple[Pool, ...]:
    """Call the two unlabelled pools of a sliding-window model `full` and `swa`.

    Up to 0.5.16 the pair is unlabelled, the sliding-window pool first; the token counts of the sizing line decide
    where there is one, because builds between the releases print the pair in either order.
    """
    plain = [pool for pool in group.pools if pool.name == "kv" and not pool.virtual]
    full, swa = group.swa_full_tokens, group.swa_tokens
    if swa is not None and full is not None and full != swa and len(plain) == 1 and plain[0].tokens in (full, swa):
        # The other line of the pair is missing from what was pasted.
        only = replace(plain[0], name="full" if plain[0].tokens == full else "swa")
        return tuple(only if pool is plain[0] else pool for pool in group.pools)
    if swa is None or len(plain) != 2:
        return tuple(group.pools)
    first, second = plain
    swapped = full != swa and (first.tokens == full or second.tokens == swa)
    names = {id(first): "full" if swapped else "swa", id(second): "swa" if swapped else "full"}
    return tuple(replace(pool, name=names.get(id(pool), pool.name)) for pool in group.pools)


def is_draft_graph(name: str) -> bool:
    """Whether a capture line speaks of a draft worker."""
    return "draft" in name.lower()


class _RankBuilder:
    """Collects one rank's records in order of their lines."""

    def __init__(self, key: RankKey) -> None:
        self.key = key
        self.loads: list[_Load] = []
        self.groups: list[_Group] = [_Group()]
        self.graphs: dict[str, list[Graph]] = {"target": [], "draft": []}
        self.open_graph: dict[str, Record] = {}
        self.readings: list[Record] = []
        self.final: Reading | None = None
        self.scheduler_final: Reading | None = None
        self.profile: Record | None = None

    def take(self, record: Record) -> None:
        self.readings.append(record)
        if record.kind in FREE_KINDS and (free := reading(record, "avail_gib")) is not None:
            self.final = free
        handler = {
            "load_weight_begin": self._load_begin,
            "load_weight_end": self._load_end,
            "kv_cache_dtype": self._dtype,
            "swa_pool_sizes": self._swa_sizes,
            "swa_kv_pool": self._swa_total,
            "memory_pool_end": self._pool_end,
            "capture_begin": self._capture_begin,
            "capture_end": self._capture_end,
            "scheduler_ready": self._scheduler,
            "post_capture_kv": self._post_capture,
            "dsv4_pool_sizes": self._dsv4_sizes,
            "dsv4_mem_calc": self._dsv4_calculated,
            "dsv4_pool_init": self._dsv4_init,
            "unified_totals": self._unified_totals,
            "memory_profiling": self._profiled,
            "tpu_memory_profiling": self._tpu_profiled,
        }.get(record.kind, self._pool)
        handler(record)

    def _load_begin(self, record: Record) -> None:
        self.loads.append(_Load(begin=record))

    def _load_end(self, record: Record) -> None:
        if gib(record, "avail_gib") is None and gib(record, "used_gib") is None:
            return
        if self.loads and self.loads[-1].end is None:
            self.loads[-1].end = record
        else:
            self.loads.append(_Load(end=record))

    def _profiled(self, record: Record) -> None:
        """Both readings of the budget in one line; the draft's comes after the target's."""
        self.profile = self.profile or record

    def _tpu_profiled(self, record: Record) -> None:
        """sglang-jax announces its pool by the tokens that fit."""
        self.groups[-1].pools.append(Pool("kv", record.line, whole(record, "tokens"), order=record.order))

    def _dtype(self, record: Record) -> None:
        self.groups[-1].dtype = text(record, "dtype")

    def _swa_sizes(self, record: Record) -> None:
        self.groups[-1].swa_full_tokens = whole(record, "full_tokens")
        self.groups[-1].swa_tokens = whole(record, "swa_tokens")

    def _dsv4_sizes(self, record: Record) -> None:
        """DeepSeek-V4 pools print tokens only: the sizes stay unknown."""
        self._swa_sizes(record)
        for name, tokens in (
            ("full", "full_tokens"),
            ("swa", "swa_tokens"),
            ("c4", "c4_slots"),
            ("c128", "c128_slots"),
        ):
            self.groups[-1].pools.append(Pool(name, record.line, whole(record, tokens), order=record.order))

    def _dsv4_calculated(self, record: Record) -> None:
        self.groups[-1].dsv4_full_tokens = whole(record, "full_tokens")
        self.groups[-1].dsv4_line = record.line

    def _dsv4_init(self, record: Record) -> None:
        """Builds before 0.5.12 print no line with all pool sizes: the calculation and this line hold them."""
        group = self.groups[-1]
        full = group.dsv4_full_tokens
        if full is None or any(pool.name == "full" for pool in group.pools):
            return
        group.swa_full_tokens, group.swa_tokens = full, whole(record, "swa_tokens")
        group.pools.append(Pool("full", record.line, full, order=record.order))
        for name, tokens in (("swa", "swa_tokens"), ("c4", "c4_slots"), ("c128", "c128_slots")):
            group.pools.append(Pool(name, record.line, whole(record, tokens), order=record.order))

    def _unified_totals(self, record: Record) -> None:
        group = self.groups[-1]
        if whole(record, "swa_tokens") is not None:
            self._swa_sizes(record)
        for name, field_name in (("full", "full_tokens"), ("swa", "swa_tokens"), ("mamba", "mamba_slots")):
            count = whole(record, field_name)
            if count is not None and not any(pool.name in (name, "kv") for pool in group.pools if name != "mamba"):
                group.pools.append(Pool(name, record.line, count, order=record.order))

    def _swa_total(self, record: Record) -> None:
        group = self.groups[-1]
        group.total = record if text(record, "state") == "mem usage" else group.total
        if group.swa_tokens is None:
            self._swa_sizes(record)

    def _pool(self, record: Record) -> None:
        if (pool := pool_of(record)) is not None:
            self.groups[-1].pools.append(pool)

    def _post_capture(self, record: Record) -> None:
        """After capture the pool is resized: this line is the real one, what stood before was address space."""
        pool = pool_of(record)
        if pool is None:
            return
        index = 1 if (text(record, "draft") or "") else 0
        while len(self.groups) <= index:
            self.groups.append(_Group())
        group = self.groups[index]
        group.pools = [replace(old, virtual=True) if old.name == "kv" else old for old in group.pools] + [pool]

    def _pool_end(self, record: Record) -> None:
        group = self.groups[-1]
        if group.dsv4_full_tokens is not None and not group.pools:
            group.pools.append(Pool("full", group.dsv4_line, group.dsv4_full_tokens, order=record.order))
        self.groups[-1].end = record
        self.groups.append(_Group())

    def _capture_begin(self, record: Record) -> None:
        self.open_graph[self._graph_name(record)] = record

    @staticmethod
    def _graph_name(record: Record) -> str:
        step = whole(record, "step")
        name = text(record, "what") or "graph"
        return name if step is None else f"{name} step {step}"

    def _capture_end(self, record: Record) -> None:
        name = self._graph_name(record)
        begin = self.open_graph.pop(name, None)
        graph = Graph(
            name=name,
            begin=None if begin is None else reading(begin, "avail_gib"),
            end=reading(record, "avail_gib"),
            used=reading(record, "used_gib"),
            elapsed_s=seconds(record, "elapsed_s"),
        )
        self.graphs["draft" if is_draft_graph(name) else "target"].append(graph)

    def _scheduler(self, record: Record) -> None:
        self.scheduler_final = reading(record, "avail_gib") or self.scheduler_final

    def split_unended(self, pools_of_target: int) -> None:
        """Where a rank does not print `Memory pool end` (0.4.7 to 0.5.3), tell the draft's pools by their number."""
        group = self.groups[0]
        if group.end is None and pools_of_target and len(group.pools) > pools_of_target:
            rest = group.pools[pools_of_target:]
            group.pools = group.pools[:pools_of_target]
            self.groups.append(_Group(pools=rest))

    def _place_lone_draft(self) -> None:
        """In a log that starts after the target was loaded the first load is the draft's, the target has none."""
        first = self.loads[0].end if self.loads else None
        if first is None or DRAFT_TYPES.search(text(first, "model_type") or "", timeout=1.0) is None:
            return
        groups = [group for group in self.groups if group.pools or group.end]
        pools_after = bool(groups) and all(
            place > first.order for group in groups for place in [pool.order for pool in group.pools]
        )
        self.loads.insert(0, _Load())
        if len(groups) == 1 and pools_after:
            self.groups.insert(0, _Group())

    def build(self) -> RankReadings:
        self._place_lone_draft()
        count = max(len(self.loads), sum(1 for g in self.groups if g.pools or g.end or g.swa_tokens is not None), 1)
        if self.graphs["draft"]:
            count = max(count, 2)
        workers = []
        for index in range(count):
            load = self.loads[index] if index < len(self.loads) else _Load()
            group = self.groups[index] if index < len(self.groups) else _Group()
            graphs = self.graphs["target"] if index == 0 else self.graphs["draft"] if index == 1 else []
            pools = name_pools(group)
            before, after, weights = self._weights_of(load, first=index == 0)
            dtypes = [pool.dtype for pool in pools if pool.dtype]
            workers.append(
                WorkerReadings(
                    worker="target" if index == 0 else "draft",
                    draft_index=None if index == 0 else index - 1,
                    rank=self.key,
                    before_load=before,
                    after_load=after,
                    weights=weights,
                    model_type=None if load.end is None else text(load.end, "model_type"),
                    quant=None if load.end is None else text(load.end, "quant"),
                    load_s=None if load.end is None else seconds(load.end, "elapsed_s"),
                    kv_dtype=dtypes[0] if dtypes else group.dtype,
                    pools=pools,
                    swa_full_tokens=group.swa_full_tokens,
                    swa_tokens=group.swa_tokens,
                    pools_total=None if group.total is None else reading(group.total, "total_gib"),
                    pool_end=None if group.end is None else reading(group.end, "avail_gib"),
                    graphs=tuple(graphs),
                )
            )
        return RankReadings(
            key=self.key,
            workers=tuple(workers),
            final=self.scheduler_final or self.final,
            readings=tuple(self.readings),
        )

    def _weights_of(self, load: _Load, *, first: bool) -> tuple[Reading | None, Reading | None, Reading | None]:
        """Free memory before and after loading and what the weights took; the target's may stand in a profile line."""
        before = None if load.begin is None else reading(load.begin, "avail_gib")
        after = None if load.end is None else reading(load.end, "avail_gib")
        weights = _weights(load)
        if before is None and load.begin is None and after is not None and weights is not None:
            # The line before loading is missing, but this one prints its difference to it.
            before = Reading(after.gib + weights.gib, after.line, after.order)
        if not first or self.profile is None:
            return before, after, weights
        before = before or reading(self.profile, "total_gib")
        after = after or reading(self.profile, "avail_gib")
        if weights is None and before is not None and after is not None:
            weights = Reading(before.gib - after.gib, after.line, after.order)
        return before, after, weights


def _weights(load: _Load) -> Reading | None:
    """What the weights took: as printed from 0.4.4 on, before that the difference of the two readings."""
    if load.end is None:
        return None
    if (printed := reading(load.end, "used_gib")) is not None:
        return printed
    after = gib(load.end, "avail_gib")
    before = None if load.begin is None else gib(load.begin, "avail_gib")
    return None if after is None or before is None else Reading(before - after, load.end.line, load.end.order)


def spread_unnamed(records: Sequence[Record], processes: int) -> tuple[list[Record], bool]:
    """Give records without a rank tag to numbered slots, when several processes printed them without saying which.

    The k-th line of a kind goes to slot k modulo the number of processes: which process it was stays unknown, but
    minima and sums over ranks do not depend on it. Returns the records and whether anything was assigned.
    """
    seen: dict[tuple[object, ...], int] = defaultdict(int)
    per_kind: dict[str, int] = defaultdict(int)
    for record in records:
        if record.kind in {"load_weight_begin", "load_weight_end"} and key_of(record) == RankKey():
            per_kind[record.kind] += 1
    if processes < 2 or max(per_kind.values(), default=0) < 2:
        return list(records), False
    slots = min(processes, max(per_kind.values()))
    out = []
    for record in records:
        if record.kind in RANK_KINDS and record.kind != "scheduler_ready" and key_of(record) == RankKey():
            label = (record.kind, record.fields.get("what"), record.fields.get("label"))
            out.append(replace(record, rank=replace(record.rank, tp=seen[label] % slots)))
            seen[label] += 1
        else:
            out.append(record)
    return out, True


def read_ranks(records: Iterable[Record]) -> tuple[RankReadings, ...]:
    """One `RankReadings` per rank that printed a figure, in order of replica, stage and rank."""
    builders: dict[RankKey, _RankBuilder] = {}
    for record in records:
        if record.kind in RANK_KINDS:
            key = key_of(record)
            if key not in builders:
                builders[key] = _RankBuilder(key)
            builders[key].take(record)
    _split_silent_ranks(builders)
    ranks = [builder.build() for builder in builders.values()]
    return tuple(sorted((rank for rank in ranks if _says_something(rank)), key=lambda rank: order(rank.key)))


def _split_silent_ranks(builders: Mapping[RankKey, _RankBuilder]) -> None:
    ended = [builder for builder in builders.values() if builder.groups[0].end is not None]
    if not ended:
        return
    counts = {(b.key.pp, b.key.dp): len(b.groups[0].pools) for b in ended}
    fallback = len(ended[0].groups[0].pools)
    for builder in builders.values():
        if builder.groups[0].end is None:
            builder.split_unended(counts.get((builder.key.pp, builder.key.dp), fallback))


def _says_something(rank: RankReadings) -> bool:
    return (
        any(
            worker.before_load
            or worker.after_load
            or worker.pools
            or worker.pool_end
            or worker.graphs
            or worker.swa_tokens
            for worker in rank.workers
        )
        or rank.final is not None
    )
