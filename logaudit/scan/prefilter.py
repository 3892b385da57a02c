"""Reduces a source of any size to the lines that may matter, in one pass with bounded memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from logaudit.scan.anchors import Buffer, Finder, Hits
from logaudit.scan.limits import LIMITS, Limits
from logaudit.scan.searcher import Block
from logaudit.scan.view import View

TRACEBACK = b"Traceback (most recent call last)"
"""Always searched for: the lines after it say why a start failed."""

_ARGUMENTS = (b"server_args=", b"ServerArgs(")


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive bytes of the source that are kept: whole lines, or a part of an over-long one."""

    number: int
    """1-based number of the line that `data` begins in."""
    data: bytes
    cut_before: bool = False
    """Whether bytes of that line before `data` were left out at no line end."""


@dataclass(slots=True)
class Totals:
    """What the whole source holds, complete after the pass."""

    bytes: int = 0
    newlines: int = 0
    ends_open: bool = False
    """Whether the last line has no line end."""

    @property
    def lines(self) -> int:
        return self.newlines + self.ends_open


def prefilter(
    blocks: Iterator[Block], finder: Finder, failure_anchors: Sequence[bytes], totals: Totals, limits: Limits = LIMITS
) -> Iterator[Piece]:
    """The pieces of a searched source that may matter, in order and without overlap.

    Kept are: every line that holds an anchor with some lines around it, tracebacks to their exception, the first and
    last lines, and the raw traffic before the last failures.
    """
    return _LastHistories(limits).pick(_Window(finder, failure_anchors, totals, limits).run(blocks))


@dataclass(frozen=True, slots=True)
class _Kept:
    piece: Piece
    is_history: bool


class _LastHistories:
    """Holds pieces back until it is known which failures are the last, and drops the traffic before earlier ones."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._held: deque[_Kept] = deque()
        self._held_bytes = 0
        self._histories = 0

    def pick(self, kept: Iterator[_Kept]) -> Iterator[Piece]:
        for item in kept:
            self._held.append(item)
            self._held_bytes += len(item.piece.data)
            self._histories += item.is_history
            if self._histories > self._limits.failures:
                self._drop_first_history()
            while self._held_bytes > self._limits.held_bytes:
                yield self._release()
        while self._held:
            yield self._release()

    def _drop_first_history(self) -> None:
        first = next(item for item in self._held if item.is_history)
        self._held.remove(first)
        self._held_bytes -= len(first.piece.data)
        self._histories -= 1

    def _release(self) -> Piece:
        item = self._held.popleft()
        self._held_bytes -= len(item.piece.data)
        self._histories -= item.is_history
        return item.piece


class _Window:
    """The blocks around the one that is looked at, and what of them is kept."""

    def __init__(self, finder: Finder, failure_anchors: Sequence[bytes], totals: Totals, limits: Limits) -> None:
        self._finder = finder
        self._failure_anchors = tuple(failure_anchors)
        self._totals = totals
        self._limits = limits
        self._blocks: deque[Block] = deque()
        self._next = 0
        self._kept_until = 0
        self._looked_until = 0
        self._tail = b""

    def run(self, blocks: Iterator[Block]) -> Iterator[_Kept]:
        for block in blocks:
            self._take(block)
            while self._next < len(self._blocks) and self._reaches_ahead(self._blocks[self._next]):
                yield from self._look_at_next()
        while self._next < len(self._blocks):
            yield from self._look_at_next(last=True)
        if self._blocks:
            yield from self._end()
        for block in self._blocks:
            _give_back(block)

    def _take(self, block: Block) -> None:
        totals = self._totals
        block.newlines_before = totals.newlines
        totals.newlines += block.newlines
        totals.bytes = block.end
        totals.ends_open = block.data[-1] != 0x0A
        self._add_straddling_hits(block)
        self._blocks.append(block)

    def _add_straddling_hits(self, block: Block) -> None:
        """Find the anchors that begin before the block and end in it."""
        reach = self._finder.longest_bytes - 1
        head = bytes(block.data[:reach])
        if self._tail and not block.hits.dense:
            seam = len(self._tail)
            found = self._finder.find(self._tail + head)
            inside = [offset - seam for offset in found.offsets if offset >= seam]
            if inside:
                block.hits = Hits(sorted({*inside, *block.hits.offsets}))
        self._tail = (self._tail + bytes(block.data[-reach:]))[-reach:] if reach else b""

    def _reaches_ahead(self, block: Block) -> bool:
        return self._blocks[-1].end - block.end >= self._limits.ahead_bytes

    def _look_at_next(self, last: bool = False) -> Iterator[_Kept]:
        block = self._blocks[self._next]
        if block.hits.dense or block.hits.offsets or block.start == 0:
            yield from self._keep_from(block)
        self._next += 1
        if not last:
            keep_from = block.end - self._limits.back_bytes
            while self._blocks[0].end <= keep_from:
                _give_back(self._blocks.popleft())
                self._next -= 1

    def _keep_from(self, block: Block) -> Iterator[_Kept]:
        view = self._view(block.start - self._limits.back_bytes, block.end + self._limits.ahead_bytes)
        if block.start == 0:
            yield from self._keep(view, 0, view.after_lines(0, self._limits.edge_lines))
        if block.hits.dense:
            yield from self._keep_densely(view, block)
            return
        for offset in block.hits.offsets:
            at = block.start + offset
            if at >= self._looked_until:
                yield from self._keep_around(view, at)

    def _keep_around(self, view: View, at: int) -> Iterator[_Kept]:
        limits = self._limits
        start = view.line_start(at)
        end = self._looked_until = view.line_end(at, limits.line_bytes)
        line = view.joined(start, end)
        if any(mark in line for mark in _ARGUMENTS):
            end = view.line_end(at, limits.long_line_bytes)
            end = view.after_lines(end, limits.arguments_lines - 1)
        elif TRACEBACK in line:
            end = view.traceback_end(end)
        if any(anchor in line for anchor in self._failure_anchors):
            yield from self._keep_history(view, start)
        yield from self._keep(
            view, view.before_lines(start, limits.lines_before), view.after_lines(end, limits.lines_after)
        )

    def _keep_densely(self, view: View, block: Block) -> Iterator[_Kept]:
        data = bytes(block.data)
        failures = [at for at in (data.find(anchor) for anchor in self._failure_anchors) if at >= 0]
        start = view.line_start(block.start)
        if failures:
            yield from self._keep_history(view, start)
        yield from self._keep(
            view,
            view.before_lines(start, self._limits.lines_before),
            view.after_lines(block.end - 1, self._limits.lines_after + 1),
        )

    def _keep_history(self, view: View, until: int) -> Iterator[_Kept]:
        start = max(until - self._limits.history_bytes, view.start)
        yield from self._keep(view, view.line_start(start) if start else 0, until, is_history=True)

    def _keep(self, view: View, start: int, end: int, is_history: bool = False) -> Iterator[_Kept]:
        start = max(start, self._kept_until)
        if start >= end:
            return
        cut = start > self._kept_until and view.is_cut(start)
        yield _Kept(Piece(view.number(start), view.cut(start, end), cut), is_history)
        self._kept_until = end

    def _end(self) -> Iterator[_Kept]:
        end = self._blocks[-1].end
        view = self._view(end - self._limits.back_bytes, end)
        by_bytes = view.line_start(max(end - self._limits.edge_bytes, view.start))
        yield from self._keep(view, min(by_bytes, view.last_lines(self._limits.edge_lines)), end)

    def _view(self, start: int, end: int) -> View:
        """Bytes of the window from about `start` to about `end`, in one piece."""
        first_start = self._blocks[0].start
        newlines_before = self._blocks[0].newlines_before
        parts: list[Buffer] = []
        for block in self._blocks:
            if block.end <= start:
                first_start, newlines_before = block.end, block.newlines_before + block.newlines
            elif block.start < end:
                parts.append(block.data)
        return View(first_start, b"".join(parts), newlines_before, self._limits)


def _give_back(block: Block) -> None:
    if block.release is not None:
        block.release()
