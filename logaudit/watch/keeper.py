"""What is kept of a log that is followed: the lines that may matter of the current start, in bounded memory."""

from __future__ import annotations

import codecs
from collections import deque
from collections.abc import Iterator, Sequence

from logaudit.scan.anchors import make_finder
from logaudit.sources.interface import Region
from logaudit.sources.text import sniff_encoding

CONTEXT_BEFORE = 8
CONTEXT_AFTER = 40
TRACEBACK_AFTER = 400
RECENT_LINES = 400
"""Last lines, kept whatever they are: the traffic before a crash."""
RECENT_BYTES = 1 << 18
LINE_BYTES = 1 << 20
"""A line that is longer is cut; of progress bars only the last stays anyway."""
START_BYTES = 8 << 20
"""Most that is kept of the beginning of a start."""
LATER_BYTES = 4 << 20
"""Most that is kept of what comes after that: the oldest of it goes."""
_FAILURE_MARKS = (b"Traceback (most recent call last)", b"out of memory", b"hit an exception")

KeptLine = tuple[int, bytes]
"""1-based number, and the line with its end."""


class Keeper:
    """Takes the bytes of one source as they come."""

    def __init__(self, name: str, anchors: Sequence[bytes]) -> None:
        self.name = name
        self.lines = 0
        """Lines that were complete so far."""
        self.changes = 0
        """Rises whenever a line came that may change the report."""
        self._finder = make_finder([*anchors, *_FAILURE_MARKS])
        self._partial = bytearray()
        self._first: list[KeptLine] = []
        self._first_bytes = 0
        self._later: deque[KeptLine] = deque()
        self._later_bytes = 0
        self._recent: deque[KeptLine] = deque()
        self._recent_bytes = 0
        self._kept_until = 0
        self._keep_through = 0
        self._decoder: codecs.IncrementalDecoder | None = None
        self._sniffed = False

    def feed(self, data: bytes) -> list[KeptLine]:
        """Take bytes; gives the lines that hold something of interest among those that are complete now."""
        self._partial += self._utf8(data)
        end = self._partial.rfind(b"\n") + 1
        whole = bytes(self._partial[:end])
        del self._partial[:end]
        if len(self._partial) > LINE_BYTES:
            # Bars overwrite each other: what stands after the last return is what a terminal shows.
            shown = self._partial.rfind(b"\r", 0, len(self._partial) - 1)
            del self._partial[: max(shown, len(self._partial) - LINE_BYTES // 2)]
        return self._take(whole) if whole else []

    def skip_to(self, number: int) -> None:
        """Go on at a later line: those between were left out where the log is."""
        self._partial.clear()
        self._sniffed = True
        self.lines = number - 1

    @property
    def partial(self) -> bytes:
        """The line that is still being written: where progress bars are."""
        return bytes(self._partial[-4096:])

    def snapshot(self) -> KeptSource:
        """All that is kept, as a source for the audit; the unfinished line is part of it."""
        lines = [*self._first, *self._later, *(line for line in self._recent if line[0] > self._kept_until)]
        if self._partial:
            lines.append((self.lines + 1, bytes(self._partial)))
        return KeptSource(self.name, list(_regions(lines)))

    def forget_before(self, number: int) -> None:
        """Let go of the lines before `number`: they belong to a start that is over."""
        kept = [line for line in (*self._first, *self._later) if line[0] >= number]
        self._first, self._first_bytes = [], 0
        self._later.clear()
        self._later_bytes = 0
        for line in kept:
            self._store(line)

    @property
    def kept_bytes(self) -> int:
        """How much is held."""
        return self._first_bytes + self._later_bytes + self._recent_bytes + len(self._partial)

    def _utf8(self, data: bytes) -> bytes:
        first = not self._sniffed and bool(data)
        if first:
            self._sniffed = True
            encoding = sniff_encoding(data)
            if not encoding.startswith("utf-8"):
                self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        if self._decoder is not None:
            data = self._decoder.decode(data).encode("utf-8", "replace")
        return data.removeprefix(codecs.BOM_UTF8) if first else data

    def _take(self, whole: bytes) -> list[KeptLine]:
        hits = self._finder.find(whole)
        if not hits.offsets and not hits.dense and self.lines >= self._keep_through:
            self._pass_over(whole)
            return []
        offsets = iter(hits.offsets)
        at = next(offsets, None)
        found: list[KeptLine] = []
        start = 0
        while start < len(whole):
            end = whole.find(b"\n", start) + 1
            self.lines += 1
            line = (self.lines, whole[start : min(end, start + LINE_BYTES)])
            matched = hits.dense
            while at is not None and at < end:
                matched = True
                at = next(offsets, None)
            if matched:
                found.append(line)
                self._keep(line)
            elif self.lines <= self._keep_through:
                self._keep_context(line)
            else:
                self._remember(line)
            start = end
        return found

    def _pass_over(self, whole: bytes) -> None:
        """Lines without interest: only the last of them are remembered."""
        self.lines += whole.count(b"\n")
        last = whole[-RECENT_BYTES:].split(b"\n")[:-1]
        if len(whole) > RECENT_BYTES and len(last) > 1:
            del last[0]
        last = last[-RECENT_LINES:]
        for number, line in enumerate(last, self.lines - len(last) + 1):
            self._remember((number, line + b"\n"))

    def _keep(self, line: KeptLine) -> None:
        self.changes += 1
        failed = any(mark in line[1] for mark in _FAILURE_MARKS)
        before = RECENT_LINES if failed else CONTEXT_BEFORE
        for old in self._recent:
            if old[0] > self._kept_until and old[0] >= line[0] - before:
                self._store(old)
        self._keep_context(line)
        after = TRACEBACK_AFTER if failed else CONTEXT_AFTER
        self._keep_through = max(self._keep_through, line[0] + after)

    def _keep_context(self, line: KeptLine) -> None:
        self.changes += self._keep_through - line[0] > CONTEXT_AFTER
        self._store(line)
        self._remember(line)

    def _store(self, line: KeptLine) -> None:
        self._kept_until = max(self._kept_until, line[0])
        size = len(line[1])
        if self._first_bytes + size <= START_BYTES and not self._later:
            self._first.append(line)
            self._first_bytes += size
            return
        self._later.append(line)
        self._later_bytes += size
        while self._later_bytes > LATER_BYTES and len(self._later) > 1:
            self._later_bytes -= len(self._later.popleft()[1])

    def _remember(self, line: KeptLine) -> None:
        self._recent.append(line)
        self._recent_bytes += len(line[1])
        while len(self._recent) > RECENT_LINES or self._recent_bytes > RECENT_BYTES:
            if len(self._recent) == 1:
                return
            self._recent_bytes -= len(self._recent.popleft()[1])


def _regions(lines: Sequence[KeptLine]) -> Iterator[Region]:
    """Lines in order as regions of consecutive ones."""
    first = 0
    parts: list[bytes] = []
    for number, line in lines:
        if parts and number != first + len(parts):
            yield Region(first, b"".join(parts))
            parts = []
        if not parts:
            first = number
        parts.append(line if line.endswith(b"\n") else line + b"\n")
    if parts:
        yield Region(first, b"".join(parts))


class KeptSource:
    """What a keeper holds, as a source: only what matters, numbered as in the whole log."""

    def __init__(self, name: str, regions: list[Region]) -> None:
        self.name = name
        self.kept = regions

    def blocks(self) -> Iterator[bytes]:
        """The kept lines, one after the other."""
        yield from (region.data for region in self.kept)

    def regions(self, anchors: tuple[bytes, ...]) -> Iterator[Region] | None:
        """The kept lines with their numbers; they were picked out before, whatever `anchors` are."""
        return iter(self.kept)
