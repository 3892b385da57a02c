"""The frames for Python users: read a log and get pandas back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from logaudit.auditing import ReadSource, launches_of, read_source
from logaudit.frame import rank_frame as frame_of_launches
from logaudit.frame import record_frame
from logaudit.launches.model import Launch
from logaudit.sources import Source, open_sources

if TYPE_CHECKING:
    import pandas as pd

Sources = str | Source | Sequence[str | Source]


def _read(source: Sources) -> list[ReadSource]:
    given = [source] if isinstance(source, str) or not isinstance(source, Sequence) else list(source)
    opened: list[Source] = []
    for one in given:
        opened += open_sources([one]) if isinstance(one, str) else [one]
    return [read_source(one) for one in opened]


def read_launches(source: Sources) -> tuple[Launch, ...]:
    """Every server start in a log (a path, several, a directory, a glob, `-`, or a Source). Raises SourceError."""
    return launches_of(_read(source))


def read_records(source: Sources) -> pd.DataFrame:
    """One row for each line that was understood, in order: columns of `logaudit.frame.record_columns`, GiB."""
    sources = _read(source)
    rows = []
    starts: dict[int, list[tuple[int, int]]] = {}
    for launch in launches_of(sources):
        starts.setdefault(launch.source, []).append((launch.first_line, launch.index))
    for index, read in enumerate(sources):
        own = sorted(starts.get(index, []))
        for record in read.records:
            launch_index = max((number for line, number in own if line <= record.line), default=None)
            rows.append((launch_index, index, record))
    return record_frame(rows)


def rank_frame(source: Sources | Sequence[Launch]) -> pd.DataFrame:
    """One row per launch, worker and rank: columns of `logaudit.frame.rank_columns`, GiB with rounding bounds."""
    if isinstance(source, Sequence) and not isinstance(source, str) and all(isinstance(x, Launch) for x in source):
        return frame_of_launches([x for x in source if isinstance(x, Launch)])
    return frame_of_launches(read_launches(source))  # type: ignore[arg-type]
