"""What sizing is given, read off the rank frame and the server arguments of one start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from packaging.version import Version

from logaudit.interval import Interval
from logaudit.launches.keys import key_of
from logaudit.launches.model import Launch, Pool, RankKey, RankReadings, WorkerReadings
from logaudit.reconcile.fraction import Fraction
from logaudit.sglang.model_config import ModelConfig
from logaudit.sizing.model import PrintedPool, SizingInputs, StageReadings


def interval(row: Any, name: str) -> Interval | None:
    """A GiB column of a rank-frame row with its bounds; None where it is missing."""
    value = row[name]
    if value is None or value != value:
        return None
    return Interval(float(value), float(row[f"{name}_low"]), float(row[f"{name}_high"]))


def replica_of(launch: Launch) -> int | None:
    """The data-parallel replica that the capacity of the report speaks of: the first, where replicas are separate.

    With DP attention all ranks share one tensor-parallel group, so there is nothing to choose.
    """
    replicas = sorted({rank.key.dp for rank in launch.ranks if rank.key.dp is not None})
    if len(replicas) < 2 or dp_attention(launch):
        return None
    return replicas[0]


def dp_attention(launch: Launch) -> bool:
    """Whether the DP ranks share one tensor-parallel group: as the arguments say, else by unrepeated TP ranks."""
    if "enable_dp_attention" in launch.args:
        return bool(launch.args["enable_dp_attention"])
    attn_dp = launch.args.get("attn_dp_size")
    if isinstance(attn_dp, int) and attn_dp > 1:
        return True
    tagged = [(key.pp, key.tp) for key in {key_of(record) for record in launch.records} if key.dp is not None]
    return len(tagged) > 1 and len(set(tagged)) == len(tagged)


def world_size(launch: Launch) -> int | None:
    """How many processes share the minimum of free memory: TP x PP of one replica; None when not known."""
    tp, pp = launch.args.get("tp_size"), launch.args.get("pp_size", 1)
    if not isinstance(tp, int) or not isinstance(pp, int):
        return None
    return tp * pp


@dataclass(frozen=True, slots=True)
class Given:
    """What the user gave beside the log."""

    config: ModelConfig | None = None
    config_origin: str | None = None
    """`given` or `found`."""
    draft_config: ModelConfig | None = None
    gpu_memory_gib: float | None = None


def _state_gib(rank: RankReadings, line: int) -> Interval | None:
    """Convolution and recurrent state of the state pool on this line, without the draft tokens' buffers."""
    record = next((r for r in rank.readings if r.line == line and r.kind == "mamba_cache_allocated"), None)
    if record is None:
        return None
    conv, recurrent = record.fields.get("conv_gib"), record.fields.get("ssm_gib")
    return conv + recurrent if isinstance(conv, Interval) and isinstance(recurrent, Interval) else None


def _dsv4(launch: Launch) -> tuple[Interval | None, Interval | None]:
    """Bytes per full token and the fixed state that DeepSeek-V4's memory line prints."""
    record = next((r for r in launch.records if r.kind == "dsv4_mem_calc"), None)
    if record is None:
        return None, None
    each = record.fields.get("bytes_per_token")
    names = ("c128_state_gib", "c2_state_gib", "c4_state_gib", "swa_gib", "swa_ring_gib")
    found = [value for name in names if isinstance(value := record.fields.get(name), Interval) and value.value > 0]
    return each if isinstance(each, Interval) else None, sum(found[1:], found[0]) if found else None


def _pools_taken(rows: Sequence[Mapping[str, Any]]) -> Interval | None:
    """What the target's pools took on the first rank that printed its free memory before and after them."""
    for row in rows:
        before, after = interval(row, "sizing_gib"), interval(row, "pool_end_gib")
        if row["worker"] == "target" and before is not None and after is not None:
            return before - after
    return None


BUDGET_FIELDS = {"kv_budget": "budget_gib", "memory_profiling": "rest_gib", "tpu_memory_profiling": "budget_gib"}
"""Lines by which a build prints the budget that it divides, and the field that holds it."""


def printed_budget(launch: Launch) -> tuple[Interval | None, int | None]:
    """The budget of the target's pool as the build printed it, lowest over the replica's ranks, and its line.

    A rank prints the line again for its draft: the first one is the target's.
    """
    replica = replica_of(launch)
    first: dict[RankKey, tuple[Interval, int]] = {}
    for record in launch.records:
        name = BUDGET_FIELDS.get(record.kind)
        value = None if name is None else record.fields.get(name)
        key = key_of(record)
        if isinstance(value, Interval) and (replica is None or key.dp in (None, replica)):
            first.setdefault(key, (value, record.line))
    if not first:
        return None, None
    lowest = min(first.values(), key=lambda found: found[0].value)
    return Interval.minimum(*(value for value, _ in first.values())), lowest[1]


def absent_ranks(launch: Launch) -> tuple[str, ...]:
    """Names of the ranks of the first replica without a reading around loading, runs as one; () where not known."""
    tp, pp = launch.args.get("tp_size"), launch.args.get("pp_size", 1)
    if not isinstance(tp, int) or not isinstance(pp, int) or tp * pp > MOST_RANKS:
        return ()
    seen = {
        (rank.key.pp or 0, rank.key.tp or 0)
        for rank in primary_ranks(launch)
        if any(worker.before_load or worker.after_load for worker in rank.workers)
    }
    names: list[str] = []
    for stage in range(pp):
        prefix = f"PP{stage} " if pp > 1 else ""
        gone = [number for number in range(tp) if (stage, number) not in seen]
        for _, run in groupby(enumerate(gone), key=lambda pair: pair[1] - pair[0]):
            numbers = [number for _, number in run]
            names.append(prefix + (f"TP{numbers[0]}" if len(numbers) == 1 else f"TP{numbers[0]} to TP{numbers[-1]}"))
    return tuple(names)


MOST_RANKS = 4096


def _tokens_of(pool: Pool, worker: WorkerReadings, launch: Launch) -> int | None:
    """Tokens of a pool; releases up to 0.4.3 print them only in the scheduler's line, for the target's one pool."""
    if pool.tokens is not None or worker.worker != "target" or pool.name != "kv" or not launch.schedulers:
        return pool.tokens
    return launch.schedulers[0].max_total_num_tokens


def printed_pools(launch: Launch, ranks: list[RankReadings]) -> tuple[PrintedPool, ...]:
    """The pools of the first rank of each stage, the draft's marked."""
    out: list[PrintedPool] = []
    seen: set[int | None] = set()
    for rank in ranks:
        if rank.key.pp in seen or not any(worker.pools for worker in rank.workers):
            continue
        seen.add(rank.key.pp)
        for worker in rank.workers:
            for pool in worker.pools:
                if pool.virtual and any(not other.virtual and other.name == pool.name for other in worker.pools):
                    continue
                out.append(
                    PrintedPool(
                        name=pool.name,
                        tokens=_tokens_of(pool, worker, launch),
                        gib=None if pool.virtual else pool.gib,
                        line=pool.line,
                        dtype=pool.dtype or worker.kv_dtype,
                        mla=pool.k_gib is None and pool.gib is not None,
                        draft=worker.worker == "draft",
                        pp=rank.key.pp,
                        keys_gib=pool.k_gib,
                        state_gib=_state_gib(rank, pool.line) if pool.name == "mamba" else None,
                    )
                )
    return tuple(out)


def page_size(launch: Launch) -> int | None:
    """The resolved page size: from an adjustment line, else the dump."""
    for record in reversed(launch.records):
        value = record.fields.get("page_size") if record.kind == "adjust_page_size" else None
        if isinstance(value, int):
            return value
    dumped = launch.args.get("page_size")
    return dumped if isinstance(dumped, int) else None


SWITCHES = {"hybrid_swa_disabled": "disable_hybrid_swa_memory", "radix_cache_disabled": "disable_radix_cache"}
"""Lines that say that an argument was switched on, and the argument."""

SETTINGS = {
    "adjust_kv_cache_dtype": ("kv_cache_dtype", "dtype"),
    "adjust_max_running_requests": ("max_running_requests", "requests"),
    "adjust_chunked_prefill_dp": ("chunked_prefill_size", "tokens"),
    "adjust_swa_ratio": ("swa_full_tokens_ratio", "ratio"),
}
"""Lines that say which value an argument was set to: the argument, and the field with its value."""


def resolved_args(launch: Launch) -> Mapping[str, object]:
    """The arguments with what lines say was changed: switches always, values where no dump shows them as resolved."""
    said: dict[str, object] = {}
    for record in launch.records:
        if record.kind in SWITCHES:
            said[SWITCHES[record.kind]] = True
        elif record.kind in SETTINGS and launch.args_origin != "dump":
            name, field = SETTINGS[record.kind]
            value = record.fields.get(field)
            if value is not None:
                said[name] = "fp8_e4m3" if value == "fp8" else value
    return {**launch.args, **said} if said else launch.args


def _first_gib(launch: Launch, kind: str, name: str) -> Interval | None:
    for record in launch.records:
        if record.kind == kind:
            value = record.fields.get(name)
            if isinstance(value, Interval):
                return value
    return None


def device_of(launch: Launch) -> str:
    """`cuda`, `npu`, `cpu`, … from the arguments, else from the graph lines."""
    if any(record.kind == "tpu_memory_profiling" for record in launch.records):
        return "tpu"
    device = launch.args.get("device")
    if isinstance(device, str) and device not in {"None", "auto"}:
        return device
    for rank in launch.ranks:
        for worker in rank.workers:
            for graph in worker.graphs:
                for name in ("npu", "cpu", "xpu"):
                    if f"{name} graph" in graph.name:
                        return name
    return "cuda"


def primary_ranks(launch: Launch) -> list[RankReadings]:
    """The ranks whose minimum decides: those of the first replica, or all with DP attention."""
    replica = replica_of(launch)
    return [rank for rank in launch.ranks if replica is None or rank.key.dp == replica]


def stage_readings(rows: Sequence[Mapping[str, Any]], replica: int | None) -> tuple[StageReadings, ...]:
    """The readings that decide the budget, from the target rows of the rank frame of one launch."""
    return tuple(
        StageReadings(
            tp=row["tp"],
            pp=row["pp"],
            dp=row["dp"],
            before_load=interval(row, "before_load_gib"),
            before_line=row["before_load_line"],
            after_load=interval(row, "sizing_gib"),
            after_line=row["sizing_line"],
        )
        for row in rows
        if row["worker"] == "target"
        and (replica is None or row["dp"] == replica)
        and not (row["before_load_gib"] is None and row["sizing_gib"] is None)
    )


def sizing_inputs(
    launch: Launch, rows: Sequence[Mapping[str, Any]], release: Version, fraction: Fraction | None, given: Given
) -> SizingInputs:
    """The inputs of one start under the rules of `release`; `rows` are its rows of the rank frame."""
    ranks = primary_ranks(launch)
    readings = stage_readings(rows, replica_of(launch))
    world = world_size(launch)
    scheduler = next(iter(launch.schedulers), None)
    target_rows = [rank.workers[0] for rank in ranks]
    drafts = [worker for rank in ranks for worker in rank.workers[1:]]
    mamba = next((pool for worker in target_rows for pool in worker.pools if pool.name == "mamba"), None)
    dsv4_bytes, dsv4_fixed = _dsv4(launch)
    budget, budget_line = printed_budget(launch)
    return SizingInputs(
        release=release,
        args=resolved_args(launch),
        args_known=launch.args_origin == "dump" and launch.args_complete,
        mem_fraction_static=None if fraction is None else fraction.interval,
        fraction_origin="" if fraction is None else fraction.origin,
        readings=readings,
        all_ranks_print=world is None or len(readings) >= world,
        pools=printed_pools(launch, ranks),
        config=given.config,
        draft_config=given.draft_config,
        architecture=next((w.model_type for w in target_rows if w.model_type), None),
        draft_architecture=next((w.model_type for w in drafts if w.model_type), None),
        context_length=None if scheduler is None else scheduler.context_length,
        page_size=page_size(launch),
        kv_dtype=next((w.kv_dtype for w in target_rows if w.kv_dtype), None),
        mm_reserve_gib=_first_gib(launch, "mm_runtime_reservation", "reserve_gib"),
        page_shard_scratch_gib=_first_gib(launch, "page_shard_scratch", "scratch_gib"),
        gpu_memory_gib=given.gpu_memory_gib,
        printed_requests=None if scheduler is None else scheduler.max_running_requests,
        printed_mamba_slots=None if mamba is None else mamba.tokens,
        device=device_of(launch),
        draft_kv_dtype=next((w.kv_dtype for w in drafts if w.kv_dtype), None),
        pools_taken_gib=_pools_taken(rows),
        dsv4_bytes_per_token=dsv4_bytes,
        dsv4_fixed_gib=dsv4_fixed,
        post_capture=any(record.kind == "post_capture_kv" for record in launch.records),
        args_line=launch.args_line,
        printed_budget_gib=budget,
        printed_budget_line=budget_line,
    )
