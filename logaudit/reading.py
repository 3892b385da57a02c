"""The first half of the job: a log in, records out, and time used well while a large one is read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from logaudit.extract import Unrecognised, all_extractors, anchors, extract_all
from logaudit.extract.extractor import Record
from logaudit.scan.reader import SMALL_BYTES, ScanStats, read_lines
from logaudit.scan.unwrap import unwrap
from logaudit.sources.interface import RandomAccessSource, Source


@dataclass(frozen=True, slots=True)
class ReadSource:
    """One source read: its records, what was not understood, and how it was read."""

    name: str
    records: tuple[Record, ...]
    unrecognised: tuple[Unrecognised, ...]
    wrappers: tuple[str, ...]
    stats: ScanStats


def read_source(source: Source) -> ReadSource:
    """Every record of one source; raises SourceError when it cannot be read."""
    scanned = read_lines(source, _encoded(anchors()), _encoded(failure_anchors()))
    unwrapped = unwrap(scanned.lines)
    records: list[Record] = []
    unknown: list[Unrecognised] = []
    for found in extract_all(unwrapped.lines):
        if isinstance(found, Record):
            records.append(found)
        elif len(unknown) < MAX_UNRECOGNISED:
            unknown.append(found)
    return ReadSource(source.name, tuple(records), tuple(unknown), tuple(unwrapped.wrappers), scanned.stats)


def failure_anchors() -> tuple[str, ...]:
    """The literals of lines that end a server: what stood before them is kept too."""
    ends = (extractor for extractor in all_extractors() if extractor.phase == "failures" and not extractor.fallback)
    return tuple(sorted({anchor for extractor in ends for anchor in extractor.anchors}))


def _encoded(texts: Sequence[str]) -> tuple[bytes, ...]:
    return tuple(text.encode() for text in texts)


MAX_UNRECOGNISED = 1000
"""How many unrecognised lines of one source are kept."""


def read_sources(sources: Sequence[Source], *, meanwhile: Callable[[], object]) -> list[ReadSource]:
    """Every source read, in order; raises SourceError.

    Where one of them is large, `meanwhile` is called in a thread: the search in a large file leaves Python alone, and
    what comes after it can be imported. `meanwhile` must be safe to leave unfinished.
    """
    busy = threading.Thread(target=meanwhile, name="meanwhile", daemon=True) if any(map(_is_large, sources)) else None
    if busy is not None:
        busy.start()
    read = [read_source(source) for source in sources]
    if busy is not None:
        busy.join()
    return read


def _is_large(source: Source) -> bool:
    extent = source.extent() if isinstance(source, RandomAccessSource) else None
    if extent is None:
        return False
    try:
        return extent.size_bytes > SMALL_BYTES
    finally:
        extent.close()
