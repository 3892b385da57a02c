"""From a source to decoded lines: all of a small log, what may matter of a large one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from logaudit.errors import SourceError
from logaudit.scan.anchors import make_finder
from logaudit.scan.encoding import decode_line, transcode
from logaudit.scan.hardwrap import HardWrapFinder, looks_hard_wrapped
from logaudit.scan.limits import LIMITS, Limits
from logaudit.scan.line import SourceLine
from logaudit.scan.prefilter import MARKS, TRACEBACK, Piece, Totals, prefilter
from logaudit.scan.searcher import Block, Searcher
from logaudit.sources.interface import Extent, FilteredSource, RandomAccessSource, Region, Source
from logaudit.sources.text import looks_binary, sniff_encoding

SMALL_BYTES = 32 << 20
"""A source of at most this size is handed on whole."""

_SNIFF_BYTES = 1 << 16
_HOLE_BYTES = 1 << 12
"""Fewest zero bytes at the start that are a hole in the file, not text in UTF-16."""

_LINE_BYTES = 16 << 20
"""Most that is kept of one line, however long it is."""

_ELISION = " … "


@dataclass(frozen=True, slots=True)
class ScanStats:
    """What was read of a source."""

    bytes: int
    """Size of the source as given, decompressed; of a far-away filtered source, what came over."""
    lines: int
    """Lines of the whole source; of a far-away filtered source, the number of the last line that came over."""
    encoding: str
    """`utf-8`, `utf-16-le` …"""
    notes: tuple[str, ...] = ()
    """What the reader of the report should know: the file grew, the stream was damaged."""


@dataclass(slots=True)
class ScannedLines:
    """The lines of one source: iterate `lines` to the end, then ask for `stats`."""

    lines: Iterator[SourceLine]
    """Lines in order; a gap in their numbers tells that lines between them were left out."""
    _tally: _Tally

    @property
    def stats(self) -> ScanStats:
        """What was read, complete after `lines` ended."""
        return self._tally.stats()


@dataclass(slots=True)
class _Tally:
    source: Source
    encoding: str = "utf-8"
    totals: Totals = field(default_factory=Totals)
    raw_bytes: int | None = None
    notes: list[str] = field(default_factory=list)

    def stats(self) -> ScanStats:
        source_notes: Sequence[str] = getattr(self.source, "notes", ())
        size = self.totals.bytes if self.raw_bytes is None else self.raw_bytes
        return ScanStats(size, self.totals.lines, self.encoding, (*source_notes, *self.notes))


def read_lines(
    source: Source,
    anchors: Sequence[bytes],
    failure_anchors: Sequence[bytes] = (),
    *,
    small_bytes: int = SMALL_BYTES,
    limits: Limits = LIMITS,
) -> ScannedLines:
    """The lines of `source` that may matter, decoded.

    `anchors` are the literals of which each line of interest holds one; `failure_anchors` are those of lines that say
    why a start failed: the traffic before the last of these is kept too. A source of up to `small_bytes` comes whole.
    Raises SourceError, also while the lines are read, where the source is empty, binary or cannot be read.
    """
    every_anchor = tuple(dict.fromkeys((*anchors, *failure_anchors, TRACEBACK)))
    tally = _Tally(source)
    if isinstance(source, FilteredSource):
        regions = source.regions(every_anchor)
        if regions is not None:
            return ScannedLines(_lines_of(_regions(regions, tally)), tally)
    scan = _Scan(tally, every_anchor, tuple(failure_anchors), small_bytes, limits)
    extent = source.extent() if isinstance(source, RandomAccessSource) else None
    if extent is not None and extent.size_bytes > small_bytes:
        head = memoryview(bytearray(_SNIFF_BYTES))
        got = extent.read_into(head, 0)
        tally.encoding = sniff_encoding(bytes(head[:got]))
        starts_with_hole = not bytes(head[:_HOLE_BYTES]).strip(b"\0")
        if tally.encoding.startswith("utf-8") and not starts_with_hole:
            _refuse_binary(source.name, bytes(head[:got]))
            return ScannedLines(_lines_of(scan.extent(extent)), tally)
    if extent is not None:
        extent.close()
    return ScannedLines(_lines_of(scan.stream(source.blocks())), tally)


def _refuse_binary(name: str, head: bytes) -> None:
    if looks_binary(head):
        raise SourceError("this is no text", where=name, do="give the log itself")


@dataclass(slots=True)
class _Scan:
    tally: _Tally
    anchors: Sequence[bytes]
    failure_anchors: Sequence[bytes]
    small_bytes: int
    limits: Limits
    hole_bytes: int = 0

    def extent(self, extent: Extent) -> Iterator[Piece]:
        samples = [memoryview(bytearray(_SNIFF_BYTES)) for _ in range(2)]
        try:
            for sample, offset in zip(samples, (0, extent.size_bytes // 2), strict=True):
                extent.read_into(sample, offset)
            yield from self._filtered([bytes(sample) for sample in samples], lambda searcher: searcher.extent(extent))
        finally:
            extent.close()

    def _filtered(self, samples: Sequence[bytes], search: Callable[[Searcher], Iterator[Block]]) -> Iterator[Piece]:
        finder = make_finder(self.anchors, samples[-1])
        marks = make_finder(tuple(dict.fromkeys((*self.failure_anchors, *MARKS))))
        limits = self.limits
        if any(looks_hard_wrapped(sample) for sample in samples):
            finder, marks = HardWrapFinder(finder), HardWrapFinder(marks)
            limits = limits.for_hard_wraps()
        blocks = search(Searcher(finder, limits))
        yield from prefilter(blocks, finder, marks, self.failure_anchors, self.tally.totals, limits)

    def stream(self, blocks: Iterator[bytes]) -> Iterator[Piece]:
        start = _Start(self._without_hole(blocks))
        head = start.head(_SNIFF_BYTES)
        if not head and self.hole_bytes:
            raise SourceError("it holds zero bytes only", where=self.tally.source.name, do="copy the file again")
        if not head:
            raise SourceError("the log is empty", where=self.tally.source.name, do="check that the server wrote to it")
        self.tally.encoding = sniff_encoding(head)
        _refuse_binary(self.tally.source.name, head)
        text = start.all()
        if not self.tally.encoding.startswith("utf-8"):
            text = transcode(self._count_raw(text), self.tally.encoding)
            start = _Start(text)
            head = start.head(_SNIFF_BYTES)
            text = start.all()
        if not start.reaches(self.small_bytes + 1):
            yield from self._whole(b"".join(text))
            return
        samples = [head, start.last()]
        yield from self._filtered(samples, lambda searcher: searcher.stream(text))

    def _without_hole(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """Leave out the zeros at the start of a file that was cut while its writer went on at its old offset."""
        for block in blocks:
            text = block.lstrip(b"\0")
            if len(block) - len(text) < _HOLE_BYTES and not self.hole_bytes:
                text = block
            self.hole_bytes += len(block) - len(text)
            if text:
                yield text
                break
        if self.hole_bytes:
            self.tally.notes.append(f"it begins with {self.hole_bytes:,} zero bytes, which were left out")
        yield from blocks

    def _count_raw(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        self.tally.raw_bytes = 0
        for block in blocks:
            self.tally.raw_bytes += len(block)
            yield block

    def _whole(self, data: bytes) -> Iterator[Piece]:
        totals = self.tally.totals
        totals.bytes = len(data)
        totals.newlines = data.count(b"\n")
        totals.ends_open = bool(data) and not data.endswith(b"\n")
        if data:
            yield Piece(1, data)


class _Start:
    """The first bytes of a stream, looked at before the whole of it is read."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._held: deque[bytes] = deque()
        self._size = 0

    def reaches(self, size: int) -> bool:
        """Whether the stream has at least `size` bytes."""
        while self._size < size:
            block = next(self._blocks, None)
            if block is None:
                return False
            self._held.append(block)
            self._size += len(block)
        return True

    def head(self, size: int) -> bytes:
        """The first `size` bytes, fewer only where the stream ends before."""
        self.reaches(size)
        parts, held = [], 0
        for block in self._held:
            if held >= size:
                break
            parts.append(block[: size - held])
            held += len(parts[-1])
        return b"".join(parts)

    def last(self) -> bytes:
        """Up to _SNIFF_BYTES at the end of what was looked at so far."""
        return self._held[-1][-_SNIFF_BYTES:] if self._held else b""

    def all(self) -> Iterator[bytes]:
        """The whole stream; iterated once, after the last look at its head."""
        while self._held:
            yield self._held.popleft()
        yield from self._blocks


def _regions(regions: Iterator[Region], tally: _Tally) -> Iterator[Piece]:
    totals = tally.totals
    for region in regions:
        totals.bytes += len(region.data)
        totals.newlines = region.number - 1 + region.data.count(b"\n")
        totals.ends_open = bool(region.data) and not region.data.endswith(b"\n")
        yield Piece(region.number, region.data)


def _lines_of(pieces: Iterator[Piece]) -> Iterator[SourceLine]:
    """Decoded lines; the kept parts of one over-long line come as one line."""
    number = 0
    parts: list[str] = []
    size = 0
    for piece in pieces:
        at = piece.number
        start = 0
        data = piece.data
        while start < len(data):
            end = data.find(b"\n", start) + 1 or len(data)
            text = decode_line(data[start:end], at)
            if at != number:
                if parts:
                    yield SourceLine(number, "".join(parts))
                number, parts, size = at, [text], len(text)
            elif size < _LINE_BYTES:
                if piece.cut_before and start == 0:
                    parts.append(_ELISION)
                parts.append(text)
                size += len(text)
            start = end
            at += 1
    if parts:
        yield SourceLine(number, "".join(parts))
