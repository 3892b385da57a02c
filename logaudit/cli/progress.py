"""A progress bar on standard error for what takes more than two seconds; silent where that is no terminal."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from logaudit.sources.interface import Extent, FilteredSource, RandomAccessSource, Region, Source

PATIENCE_S = 2.0
"""What is done sooner shows nothing."""
_EVERY_S = 0.2


class Bar:
    """What is done of what there is, with its speed and the time left: bytes of logs, or (`unit`) a number of them."""

    def __init__(self, unit: str = "bytes", *, patience_s: float = PATIENCE_S) -> None:
        self._on = sys.stderr is not None and sys.stderr.isatty()
        self._unit = unit
        self._total: int | None = None
        self._done = 0
        self._patience_s = patience_s
        self._began = time.monotonic()
        self._last_drawn = 0.0
        self._lock = threading.Lock()
        self._progress: Any = None
        self._task: Any = None

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    @property
    def seen(self) -> bool:
        """Whether there is a terminal to see it."""
        return self._on

    def watch(self, sources: Sequence[Source]) -> list[Source]:
        """The same sources, each counted while it is read; the sources themselves where nobody would see it."""
        if not self._on:
            return list(sources)
        sizes = [_plain_size(source) for source in sources]
        known = [size for size in sizes if size is not None]
        self._total = sum(known) if len(known) == len(sizes) else None
        return [_watched(source, self) for source in sources]

    def reach(self, done: int, total: int) -> None:
        """So many of so many are done."""
        self._move(done, total)

    def add(self, count: int) -> None:
        """So many more are done; any thread may say so."""
        self._move(self._done + count, self._total)

    def _move(self, done: int, total: int | None) -> None:
        if not self._on:
            return
        with self._lock:
            self._done, self._total = done, total
            now = time.monotonic()
            if now - self._began < self._patience_s or now - self._last_drawn < _EVERY_S:
                return
            self._last_drawn = now
            if self._progress is None:
                self._start()
            self._progress.update(self._task, completed=done, total=total, rate=done / (now - self._began))

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )

        in_bytes = self._unit == "bytes"
        self._progress = Progress(
            BarColumn(),
            DownloadColumn(binary_units=True) if in_bytes else MofNCompleteColumn(),
            TransferSpeedColumn() if in_bytes else TextColumn(f"{{task.fields[rate]:.1f}} {self._unit}/s"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task("", total=self._total, rate=0.0)
        self._progress.start()


def _plain_size(source: Source) -> int | None:
    """Bytes of a source that can be read at any place; None where they are not known before it was read."""
    extent = source.extent() if isinstance(source, RandomAccessSource) else None
    if extent is None:
        return None
    try:
        return extent.size_bytes
    finally:
        extent.close()


def _watched(source: Source, bar: Bar) -> Source:
    if isinstance(source, RandomAccessSource):
        return _WatchedFile(source, bar)
    return _WatchedFiltered(source, bar) if isinstance(source, FilteredSource) else _Watched(source, bar)


@dataclass(slots=True)
class _Watched:
    inner: Source
    bar: Bar

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def notes(self) -> Sequence[str]:
        found: Sequence[str] = getattr(self.inner, "notes", ())
        return found

    def blocks(self) -> Iterator[bytes]:
        for block in self.inner.blocks():
            yield block
            self.bar.add(len(block))


@dataclass(slots=True)
class _WatchedFiltered(_Watched):
    inner: FilteredSource

    def regions(self, anchors: tuple[bytes, ...]) -> Iterator[Region] | None:
        found = self.inner.regions(anchors)
        return None if found is None else self._counted(found)

    def _counted(self, regions: Iterator[Region]) -> Iterator[Region]:
        for region in regions:
            yield region
            self.bar.add(len(region.data))


@dataclass(slots=True)
class _WatchedFile(_Watched):
    inner: RandomAccessSource

    def extent(self) -> Extent | None:
        found = self.inner.extent()
        return None if found is None else _WatchedExtent(found, self.bar)


@dataclass(slots=True)
class _WatchedExtent:
    inner: Extent
    bar: Bar

    @property
    def size_bytes(self) -> int:
        return self.inner.size_bytes

    def read_into(self, buffer: memoryview, offset: int) -> int:
        got = self.inner.read_into(buffer, offset)
        self.bar.add(got)
        return got

    def close(self) -> None:
        self.inner.close()
