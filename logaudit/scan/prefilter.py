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

MARKS = (TRACEBACK, *_ARGUMENTS)
"""What, beside a failure, takes more with it than the lines around it."""

_STRETCH_GAP_BYTES = 2048
"""Hits closer together than this are kept as one stretch, with the lines between them."""


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
    blocks: Iterator[Block],
    finder: Finder,
    marks: Finder,
    failure_anchors: Sequence[bytes],
    totals: Totals,
    limits: Limits = LIMITS,
) -> Iterator[Piece]:
    """The pieces of a searched source that may matter, in order and without overlap.

    `finder` is the one that searched the blocks; `marks` finds the failure anchors and MARKS among the lines kept.
    Kept are: every line that holds an anchor with some lines around it, tracebacks to their exception, the first and
    last lines, and the raw traffic before the last failures.
    """
    return _LastHistories(limits).pick(_Window(finder, marks, failure_anchors, totals, limits).run(blocks))


@dataclass(slots=True)
class _Kept:
    start: int
    """Offset of the piece in the source."""
    piece: Piece
    failed_at: int | None = None
    """Where the failure stands whose history this is; None for what is kept in any case."""
    dropped: bool = False


@dataclass(slots=True)
class _History:
    first_failed_at: int
    last_failed_at: int
    items: list[_Kept]


class _LastHistories:
    """Holds pieces back until it is known which failures are the last, and drops the traffic before earlier ones.

    A history comes after the pieces that were kept in the midst of it, and is put in its place among them.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._held: deque[_Kept] = deque()
        self._held_bytes = 0
        self._histories: deque[_History] = deque()

    def pick(self, kept: Iterator[_Kept]) -> Iterator[Piece]:
        for item in kept:
            self._put_in_place(item)
            if item.failed_at is not None:
                self._note_history(item, item.failed_at)
            while self._held_bytes > self._limits.held_bytes:
                yield from self._release()
        while self._held:
            yield from self._release()

    def _put_in_place(self, item: _Kept) -> None:
        later: list[_Kept] = []
        while self._held and self._held[-1].start > item.start:
            later.append(self._held.pop())
        self._held.append(item)
        self._held.extend(reversed(later))
        self._held_bytes += len(item.piece.data)

    def _note_history(self, item: _Kept, failed_at: int) -> None:
        """Count failures that follow each other closely as one: its first history is kept, and the latest."""
        reach = self._limits.history_bytes
        last = self._histories[-1] if self._histories else None
        if last is None or failed_at - last.last_failed_at > reach:
            self._histories.append(_History(failed_at, failed_at, [item]))
            if len(self._histories) > self._limits.failures:
                self._drop(self._histories.popleft().items)
            return
        last.last_failed_at = failed_at
        last.items.append(item)
        stale = [
            old
            for old in last.items
            if old.failed_at != last.first_failed_at and old.start + len(old.piece.data) < failed_at - 2 * reach
        ]
        if stale:
            self._drop(stale)
            last.items = [old for old in last.items if not old.dropped]

    def _drop(self, items: Sequence[_Kept]) -> None:
        for item in items:
            if not item.dropped:
                self._held_bytes -= len(item.piece.data)
                item.piece = Piece(item.piece.number, b"")
                item.dropped = True

    def _release(self) -> Iterator[Piece]:
        item = self._held.popleft()
        if not item.dropped:
            item.dropped = True
            self._held_bytes -= len(item.piece.data)
            yield item.piece


class _Window:
    """The blocks around the one that is looked at, and what of them is kept."""

    def __init__(
        self, finder: Finder, marks: Finder, failure_anchors: Sequence[bytes], totals: Totals, limits: Limits
    ) -> None:
        self._finder = finder
        self._marks = marks
        self._failure_anchors = tuple(failure_anchors)
        self._totals = totals
        self._limits = limits
        self._blocks: deque[Block] = deque()
        self._next = 0
        self._kept_until = 0
        self._recent: deque[tuple[int, int]] = deque()
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
        while self._recent and self._recent[0][1] < view.start:
            self._recent.popleft()
        if block.start == 0:
            yield from self._keep(view, 0, view.after_lines(0, self._limits.edge_lines))
        whole = [(0, len(block.data) - 1)]
        for first, last in whole if block.hits.dense else _stretches(block.hits.offsets):
            yield from self._keep_stretch(view, block.start + first, block.start + last)

    def _keep_stretch(self, view: View, first: int, last: int) -> Iterator[_Kept]:
        """Keep the lines from the one that holds the byte `first` to the one of `last`, and what belongs to them."""
        limits = self._limits
        start = view.line_start(first)
        end = view.line_end(last, limits.line_bytes)
        failed_at = None
        looked_until = start
        marks = self._marks.find(view.cut(start, end))
        for at in [start] if marks.dense else [start + offset for offset in marks.offsets]:
            if at < looked_until:
                continue
            line_end = looked_until = view.line_end(at, limits.line_bytes)
            line_start = view.line_start(at)
            line = view.joined(line_start, line_end)
            if failed_at is None and (marks.dense or any(anchor in line for anchor in self._failure_anchors)):
                failed_at = line_start
            if any(mark in line for mark in _ARGUMENTS):
                dump_end = view.line_end(at, limits.long_line_bytes)
                end = max(end, view.after_lines(dump_end, limits.arguments_lines - 1))
            elif TRACEBACK in line:
                end = max(end, view.traceback_end(line_end))
        start = view.before_lines(start, limits.lines_before)
        if failed_at is not None:
            yield from self._keep_history(view, failed_at, start)
        yield from self._keep(view, start, view.after_lines(end, limits.lines_after))

    def _keep_history(self, view: View, failed_at: int, until: int) -> Iterator[_Kept]:
        """What is not kept yet of the traffic before a failure: the gaps between the pieces that are."""
        start = max(failed_at - self._limits.history_bytes, view.start)
        at = view.line_start(start) if start else 0
        gaps: list[tuple[int, int]] = []
        for kept_start, kept_end in [*self._recent, (until, until)]:
            gap_end = min(kept_start, until)
            if at < gap_end:
                gaps.append((at, gap_end))
                yield self._piece(view, at, gap_end, failed_at)
            at = max(at, kept_end)
        self._recent = deque(sorted((*self._recent, *gaps)))

    def _keep(self, view: View, start: int, end: int) -> Iterator[_Kept]:
        start = max(start, self._kept_until)
        if start >= end:
            return
        yield self._piece(view, start, end)
        if self._recent and self._recent[-1][1] == start:
            start = self._recent.pop()[0]
        self._recent.append((start, end))
        self._kept_until = end

    def _piece(self, view: View, start: int, end: int, failed_at: int | None = None) -> _Kept:
        cut = start > self._kept_until and view.is_cut(start)
        return _Kept(start, Piece(view.number(start), view.cut(start, end), cut), failed_at)

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


def _stretches(offsets: Sequence[int]) -> Iterator[tuple[int, int]]:
    """First and last of each run of offsets that lie close together."""
    first = last = offsets[0] if offsets else -1
    for offset in offsets:
        if offset - last > _STRETCH_GAP_BYTES:
            yield first, last
            first = offset
        last = offset
    if offsets:
        yield first, last


def _give_back(block: Block) -> None:
    if block.release is not None:
        block.release()
