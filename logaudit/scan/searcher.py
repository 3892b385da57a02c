"""Searches the blocks of a source on all cores and gives them in order."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from logaudit.scan.anchors import Buffer, Finder, Hits
from logaudit.scan.limits import LIMITS, Limits
from logaudit.sources.interface import Extent

_Task = TypeVar("_Task")


@dataclass(slots=True)
class Block:
    """A block of the source, searched."""

    start: int
    """Offset of its first byte in the source."""
    data: Buffer
    newlines: int
    hits: Hits
    newlines_before: int = 0
    release: Callable[[], None] | None = None
    """Gives the buffer back to whoever reads into it next."""

    @property
    def end(self) -> int:
        return self.start + len(self.data)


def _worker_count() -> int:
    """One more than there are cores, up to eight: while one waits for the disk, the others search."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores + 1, 8)


@dataclass(slots=True)
class Searcher:
    """Searches the blocks of a source with `finder`, in `workers` threads."""

    finder: Finder
    limits: Limits = LIMITS
    workers: int = field(default_factory=_worker_count)

    def stream(self, blocks: Iterator[bytes]) -> Iterator[Block]:
        """Blocks that must be read in order, searched while the next ones are read."""

        def search(task: tuple[int, bytes]) -> Block:
            return self._search(*task)

        return _in_order(_numbered(regroup(blocks, self.limits.block_bytes)), search, self.workers)

    def extent(self, extent: Extent) -> Iterator[Block]:
        """The blocks of plain bytes, read and searched in several threads, into buffers that are used again."""
        free: deque[bytearray] = deque()

        def search(start: int) -> Block:
            try:
                buffer = free.pop()
            except IndexError:
                buffer = bytearray(self.limits.block_bytes)
            got = extent.read_into(memoryview(buffer), start)
            block = self._search(start, memoryview(buffer)[:got])
            block.release = lambda: free.append(buffer)
            return block

        starts = iter(range(0, extent.size_bytes, self.limits.block_bytes))
        for block in _in_order(starts, search, self.workers):
            if len(block.data) == 0:
                return
            yield block

    def _search(self, start: int, data: Buffer) -> Block:
        return Block(start, data, count_newlines(data), self.finder.find(data) if len(data) else Hits(()))


def regroup(blocks: Iterator[bytes], size: int) -> Iterator[bytes]:
    """The same bytes in blocks of exactly `size`, the last one shorter."""
    parts: list[bytes] = []
    held = 0
    for block in blocks:
        parts.append(block)
        held += len(block)
        if held < size:
            continue
        joined = b"".join(parts) if len(parts) > 1 else block
        full = held - held % size
        for start in range(0, full, size):
            yield joined[start : start + size]
        parts = [joined[full:]]
        held -= full
    rest = b"".join(parts)
    if rest:
        yield rest


def _numbered(blocks: Iterator[bytes]) -> Iterator[tuple[int, bytes]]:
    start = 0
    for block in blocks:
        yield start, block
        start += len(block)


def _in_order(tasks: Iterator[_Task], work: Callable[[_Task], Block], workers: int) -> Iterator[Block]:
    """The results of `work`, in order; at most twice as many tasks as workers are under way."""
    if workers == 1:
        yield from map(work, tasks)
        return
    with ThreadPoolExecutor(workers, thread_name_prefix="scan") as pool:
        under_way: deque[Future[Block]] = deque()
        try:
            for task in tasks:
                under_way.append(pool.submit(work, task))
                if len(under_way) > 2 * workers:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        finally:
            for future in under_way:
                future.cancel()


_COUNT_BYTES = 1 << 17
_local = threading.local()


def count_newlines(data: Buffer) -> int:
    """How many line ends `data` holds; with numpy, other threads run meanwhile."""
    if len(data) < _COUNT_BYTES:
        return bytes(data).count(b"\n")
    import numpy

    flags: Any = getattr(_local, "flags", None)
    if flags is None:
        flags = _local.flags = numpy.empty(_COUNT_BYTES, dtype=numpy.bool_)
    codes = numpy.frombuffer(data, dtype=numpy.uint8)
    count = 0
    for start in range(0, len(codes), _COUNT_BYTES):
        part = codes[start : start + _COUNT_BYTES]
        count += int(numpy.count_nonzero(numpy.equal(part, 0x0A, out=flags[: len(part)])))
    return count
