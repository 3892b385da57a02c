"""Having the far side's `grep` send only the lines of a large log that may matter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from logaudit.sources.follow import BLOCK_BYTES
from logaudit.sources.interface import Region
from logaudit.sources.remote.shell import FarShell, quote

LINES_BEFORE = 8
LINES_AFTER = 24
EDGE_BYTES = 1 << 16
"""Bytes sent from the start and the end of the log."""
HISTORY_BYTES = 1 << 18
"""Bytes of traffic sent before a failure."""
FAILURES = 4
"""How many failures, counted from the end, keep their traffic."""
MOST_BYTES = 64 << 20
"""A filter that lets more than this through is no filter."""
_DUMP_STEP_BYTES = 1 << 16
_DUMP_STEPS = 4

_FAILURE_MARKS = (b"Traceback (most recent call last)", b"out of memory", b"hit an exception", b"Out of memory")
_DUMP_MARKS = (b"server_args=", b"ServerArgs(", b"Traceback (most recent call last)")


@dataclass(slots=True)
class Piece:
    """Consecutive lines with the place that they have in the file."""

    offset: int
    """Byte that `data` begins at."""
    number: int
    """1-based number of its first line."""
    data: bytearray

    @property
    def end(self) -> int:
        """Byte after the last."""
        return self.offset + len(self.data)


class FilterGivesUp(Exception):
    """The filter cannot be used for this file after all; it has to be streamed."""


def usable(shell: FarShell) -> bool:
    """Whether the `grep` over there gives offsets, numbers and context, and takes any byte for text."""
    command = rb"printf 'a\nb\n\0c\nd\n' | grep -F -a -b -n -B 1 -A 1 -e b"
    answer = list(shell.lines_of(command + b" 2>/dev/null"))
    return answer == [b"1-0-a", b"2:2:b", b"3-4-\0c"]


def search(shell: FarShell, path: bytes, anchors: Sequence[bytes], start: Piece, size: int) -> Iterator[Piece]:
    """Lines of the first `size` bytes that hold an anchor, with context; offsets and numbers count on from `start`.

    Each piece is one line; `start` says where in the file to begin (a line's first byte). Raises ConnectionLost.
    """
    words = b" ".join(b"-e " + quote(anchor) for anchor in anchors)
    options = b"-F -a -b -n -B %d -A %d" % (LINES_BEFORE, LINES_AFTER)
    source = b"tail -c +%d <%s | head -c %d" % (start.offset + 1, quote(path), size - start.offset)
    for line in shell.lines_of(source + b" 2>/dev/null | grep " + options + b" " + words):
        numbered = parse(line)
        if numbered is not None:
            number, offset, text = numbered
            yield Piece(start.offset + offset, start.number + number - 1, bytearray(text + b"\n"))
    if shell.status > 1:
        raise FilterGivesUp


def parse(line: bytes) -> tuple[int, int, bytes] | None:
    """Number, offset and text of a line that `grep -b -n` printed; None for the mark between groups."""
    for sign in (b":", b"-"):
        number, found, rest = line.partition(sign)
        if found and number.isdigit():
            offset, found, text = rest.partition(sign)
            if found and offset.isdigit():
                return int(number), int(offset), text
    if line == b"--":
        return None
    raise FilterGivesUp


class Gathering:
    """What the filter let through, kept by place, so that more can be fetched around it and a search resumed."""

    def __init__(self, anchors: Sequence[bytes]) -> None:
        self.anchors = tuple(anchors)
        self.pieces: list[Piece] = []
        self.total_bytes = 0
        self._resume = Piece(0, 1, bytearray())

    def start(self) -> Piece:
        """Where a search begins, or goes on after the connection broke: at the last line that matched."""
        return self._resume

    def take(self, line: Piece) -> None:
        """Add a line; one that is there already (after a resumed search) is passed over."""
        last = self.pieces[-1] if self.pieces else None
        if any(anchor in line.data for anchor in self.anchors):
            self._resume = Piece(line.offset, line.number, bytearray())
        if last is not None and line.offset < last.end:
            return
        self.total_bytes += len(line.data)
        if self.total_bytes > MOST_BYTES:
            raise FilterGivesUp
        if last is not None and line.offset == last.end:
            last.data += line.data
        else:
            self.pieces.append(line)

    def widen(
        self, read: Callable[[int, int], bytes], size: int, count_lines: Callable[[int, int], int]
    ) -> list[Region]:
        """Fetch what else is needed (`read(begin, end)`), and give all of it as regions.

        That is the log's start and end, the rest of argument dumps and tracebacks that go beyond the context, and the
        traffic before the last failures. `count_lines(begin, end)` counts line ends over there.
        """
        self._finish_dumps(read, size)
        self._add_histories(read)
        head = read(0, min(EDGE_BYTES, size))
        pieces = [Piece(0, 1, bytearray(head[: head.rfind(b"\n") + 1 or len(head)])), *self.pieces]
        pieces = merge(pieces)
        last = pieces[-1]
        if last.end < size:
            begin = max(last.end, size - EDGE_BYTES)
            tail = read(begin, size)
            if begin > last.end:
                cut = tail.find(b"\n") + 1
                begin, tail = begin + cut, tail[cut:]
            number = last.number + last.data.count(b"\n") + count_lines(last.end, begin)
            pieces = merge([*pieces, Piece(begin, number, bytearray(tail))])
        elif last.end > size:
            # grep ends every line; the file's last one may have no end yet.
            del last.data[size - last.offset :]
        return [Region(piece.number, bytes(piece.data)) for piece in pieces if piece.data]

    def _finish_dumps(self, read: Callable[[int, int], bytes], size: int) -> None:
        limits = [piece.offset for piece in self.pieces[1:]] + [size]
        for piece, limit in zip(self.pieces, limits, strict=True):
            for _ in range(_DUMP_STEPS):
                if piece.end >= limit or not _breaks_off(bytes(piece.data)):
                    break
                more = read(piece.end, min(limit, piece.end + _DUMP_STEP_BYTES))
                whole = more.rfind(b"\n") + 1
                if not whole:
                    break
                piece.data += more[:whole]

    def _add_histories(self, read: Callable[[int, int], bytes]) -> None:
        failed = [piece for piece in self.pieces if any(mark in piece.data for mark in _FAILURE_MARKS)]
        for piece in failed[-FAILURES:]:
            begin = max(0, piece.offset - HISTORY_BYTES)
            before = read(begin, piece.offset)
            cut = before.find(b"\n") + 1 if begin else 0
            before = before[cut:]
            self.pieces.append(Piece(begin + cut, piece.number - before.count(b"\n"), bytearray(before)))


def merge(pieces: Iterable[Piece]) -> list[Piece]:
    """The same lines in order, each once, neighbours joined."""
    merged: list[Piece] = []
    for piece in sorted(pieces, key=lambda one: (one.offset, -len(one.data))):
        if not piece.data:
            continue
        if merged and piece.offset <= merged[-1].end:
            merged[-1].data += piece.data[merged[-1].end - piece.offset :]
        else:
            merged.append(piece)
    return merged


def _breaks_off(data: bytes) -> bool:
    """Whether a dump or traceback that begins in the last lines may go on after them."""
    begin = max(data.rfind(mark) for mark in _DUMP_MARKS)
    if begin < 0:
        return False
    rest = data[begin:]
    if rest.startswith(b"Traceback"):
        last = rest.rstrip(b"\n").rpartition(b"\n")[2]
        return last.startswith((b" ", b"\t")) or rest.count(b"\n") <= LINES_AFTER + 1
    first = rest.partition(b"\n")[0].rstrip()
    if first.endswith((b")", b"}")):
        return False
    return rest.count(b"(") > rest.count(b")") or rest.count(b"{") > rest.count(b"}")


def aligned(shell: FarShell, path: bytes, begin: int, end: int) -> bytes:
    """Bytes [begin, end) of a file over there."""
    start = begin // BLOCK_BYTES * BLOCK_BYTES
    data, after = shell.read(path, start, end - start)
    if after is None or after.size < end:
        raise FilterGivesUp
    return data[begin - start :]
