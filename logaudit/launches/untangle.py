"""Takes two servers apart that wrote to one file at the same time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from logaudit.extract.extractor import Record
from logaudit.interval import Interval
from logaudit.launches.keys import key_of
from logaudit.launches.model import RankKey
from logaudit.launches.ranks import FREE_KINDS, RANK_KINDS
from logaudit.launches.segment import Segment

STEPS: Mapping[str, int] = {
    "dist_init_begin": 0,
    "dist_init_end": 1,
    "mem_baseline": 1,
    "load_weight_begin": 2,
    "load_weight_end": 3,
    "kv_cache_dtype": 4,
    "swa_pool_sizes": 5,
    "kv_cache_allocated": 6,
    "memory_pool_end": 7,
    "capture_begin": 8,
    "capture_end": 9,
    "scheduler_ready": 10,
    "server_ready": 11,
}
"""How far a record says that its rank has come."""

TOLERANCE_GIB = 0.05
"""Free memory that differs by less between two lines of one rank is the same reading."""


@dataclass(slots=True)
class _Progress:
    """How far one server has come, rank by rank."""

    segment: Segment
    step: dict[RankKey, int] = field(default_factory=dict)
    free: dict[RankKey, float] = field(default_factory=dict)
    tokens: set[int] = field(default_factory=set)

    def fits(self, record: Record) -> float:
        """How badly a record fits as this server's next line: 0 is perfect."""
        key = key_of(record)
        size = self._size("tp_size")
        if size is not None and key.tp is not None and key.tp >= size:
            return 100.0
        if size is not None and size > 1 and key.tp is None and record.kind in RANK_KINDS:
            return 50.0
        step = STEPS.get(record.kind)
        cost = 0.0
        if step is not None:
            last = self.step.get(key, -1)
            cost += 0.0 if step == last + 1 else 1.0 if step > last else 4.0
        tokens = record.fields.get("tokens")
        if isinstance(tokens, int) and self.tokens:
            cost += 0.0 if tokens in self.tokens else 10.0
        free = record.fields.get("avail_gib")
        if record.kind in FREE_KINDS and isinstance(free, Interval) and key in self.free:
            change = self.free[key] - free.value
            cost += 0.0 if abs(change) <= TOLERANCE_GIB else 2.0 if change > 0 else 20.0
        return cost

    def _size(self, name: str) -> int | None:
        value = self.segment.dumps[0][1].values.get(name) if self.segment.dumps else None
        return value if isinstance(value, int) else None

    def take(self, record: Record) -> None:
        """Go on to a record."""
        key = key_of(record)
        self.segment.add(record)
        if (step := STEPS.get(record.kind)) is not None:
            self.step[key] = step
        free = record.fields.get("avail_gib")
        if record.kind in FREE_KINDS and isinstance(free, Interval):
            self.free[key] = free.value
        tokens = record.fields.get("tokens")
        if record.kind == "kv_cache_allocated" and isinstance(tokens, int):
            self.tokens.add(tokens)


def overlap(first: Segment, second: Segment) -> bool:
    """Whether the second segment holds the rest of the first server as well as its own lines.

    That is so when the first has a dump and never came to an end, the second has its own, and some rank in the
    second comes to the scheduler's line, or the server to the ready line, twice.
    """
    if not first.dumps or not second.dumps or first.ready or first.dead or first.scheduled:
        return False
    if first.dumps[0][1].values.get("port") == second.dumps[0][1].values.get("port"):
        return False
    ready = sum(1 for record in second.records if record.kind == "server_ready")
    lines = [key_of(record) for record in second.records if record.kind == "scheduler_ready"]
    return ready > 1 or len(lines) > len(set(lines))


def untangle(first: Segment, second: Segment) -> tuple[Segment, Segment]:
    """Deal the records of the second segment out to the two servers, each to the one whose next line it best is."""
    one = _Progress(Segment())
    other = _Progress(Segment())
    for record in first.records:
        one.take(record)
    one.segment.dumps = list(first.dumps)
    other.segment.dumps = list(second.dumps)
    for record in second.records:
        if record.kind == "server_args_dump" or other.fits(record) < one.fits(record):
            other.take(record)
        else:
            one.take(record)
    return one.segment, other.segment


def untangled(found: list[Segment]) -> list[Segment]:
    """Segments in which no two servers are mixed."""
    out: list[Segment] = []
    for segment in found:
        if out and overlap(out[-1], segment):
            out[-1:] = untangle(out[-1], segment)
        else:
            out.append(segment)
    return out
