"""What a server said in its last minutes: token usage, requests, retractions and chunk sizes before it died."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from logaudit.extract.extractor import Record
from logaudit.launches.model import Launch

MINUTES = 10.0
"""How far before the end the lines are looked at, where they carry times."""


@dataclass(frozen=True, slots=True)
class LastMinutes:
    """A summary of the last batch lines before the end; None where no line said it."""

    batches: int
    first_line: int
    last_line: int
    span_s: float | None
    """Time from the first to the last of these lines."""
    last_usage: float | None
    """Token usage (0 to 1) of the last line that printed it."""
    highest_usage: float | None
    last_running: int | None
    most_running: int | None
    last_queued: int | None
    most_queued: int | None
    retractions: int
    """Lines that said that the KV cache was full."""
    retracted: int
    """Requests that were taken back."""
    largest_chunk: int | None
    """Most new tokens of one prefill batch."""
    last_chunk: int | None
    evidence: tuple[int, ...]
    """Lines worth quoting: the last batch, the fullest one, the last retraction, the largest prefill."""


def last_minutes(launch: Launch) -> LastMinutes | None:
    """The summary of the traffic kept of a launch; None where there was none."""
    end = launch.failure.line if launch.failure is not None else None
    records = _recent([record for record in launch.traffic if end is None or record.line <= end])
    batches = [record for record in records if record.kind == "batch_stats"]
    retractions = [record for record in records if record.kind == "retracted"]
    if not batches and not retractions:
        return None
    usage = _with(batches, "token_usage")
    running, queued = _with(batches, "running_requests"), _with(batches, "queued_requests")
    chunks = [pair for pair in _with(batches, "new_tokens") if str(pair[1].fields.get("what", "")).startswith("Prefil")]
    times = [record.time for record in records if record.time is not None]
    span = (max(times) - min(times)).total_seconds() if len(times) > 1 else None
    notable = [*batches[-1:], *retractions[-1:], *(max(pairs, key=_value)[1] for pairs in (usage, chunks) if pairs)]
    lines = [record.line for record in (*batches, *retractions)]
    return LastMinutes(
        batches=len(batches),
        first_line=min(lines),
        last_line=max(lines),
        span_s=span,
        last_usage=usage[-1][0] if usage else None,
        highest_usage=max(map(_value, usage), default=None),
        last_running=int(running[-1][0]) if running else None,
        most_running=int(max(map(_value, running))) if running else None,
        last_queued=int(queued[-1][0]) if queued else None,
        most_queued=int(max(map(_value, queued))) if queued else None,
        retractions=len(retractions),
        retracted=int(sum(map(_value, _with(retractions, "requests")))),
        largest_chunk=int(max(map(_value, chunks))) if chunks else None,
        last_chunk=int(chunks[-1][0]) if chunks else None,
        evidence=tuple(sorted({record.line for record in notable})),
    )


def _recent(records: Sequence[Record]) -> list[Record]:
    """The records of the last minutes, or all of them where they carry no times."""
    ordered = sorted(records, key=lambda record: record.line)
    times = [record.time for record in ordered if record.time is not None]
    if not times:
        return ordered
    end = max(times)
    return [r for r in ordered if r.time is None or (end - r.time).total_seconds() <= MINUTES * 60]


def _with(records: Sequence[Record], name: str) -> list[tuple[float, Record]]:
    """The figures of one field, with their records."""
    pairs = []
    for record in records:
        value = record.fields.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            pairs.append((float(value), record))
    return pairs


def _value(pair: tuple[float, Record]) -> float:
    return pair[0]
