"""A stretch of the source and the lines in it."""

from __future__ import annotations

from logaudit.scan.limits import Limits

_EXCEPTION_ENDINGS = ("Error", "Exception", "Interrupt", "Exit", "Warning")


class View:
    """Contiguous bytes of the source, and the lines in them; offsets are those of the source.

    A line that is longer than the limit is cut at its escaped line ends or carriage returns (a whole log in one JSON
    string, a progress bar), so that what is looked at stays bounded.
    """

    def __init__(self, start: int, data: bytes, newlines_before: int, limits: Limits) -> None:
        self.start = start
        self._data = data
        self._limits = limits
        self._newlines_before = newlines_before
        self._counted_until = 0
        self._newlines = newlines_before

    @property
    def end(self) -> int:
        return self.start + len(self._data)

    def cut(self, start: int, end: int) -> bytes:
        """The bytes from `start` to `end`."""
        return self._data[start - self.start : end - self.start]

    def number(self, at: int) -> int:
        """1-based number of the line that holds the byte `at`; quick when asked for in ascending order."""
        position = at - self.start
        if position < self._counted_until:
            self._counted_until, self._newlines = 0, self._newlines_before
        self._newlines += self._data.count(b"\n", self._counted_until, position)
        self._counted_until = position
        return self._newlines + 1

    def line_start(self, at: int) -> int:
        """Offset of the first byte of the line that holds the byte `at`."""
        position = at - self.start
        lowest = max(position - self._limits.line_bytes, 0)
        found = self._data.rfind(b"\n", lowest, position)
        if found >= 0:
            return self.start + found + 1
        if lowest == 0 and self.start == 0:
            return 0
        escaped = self._data.rfind(b"\\n", lowest, position)
        returned = self._data.rfind(b"\r", lowest, position)
        if escaped >= 0 or returned >= 0:
            return self.start + max(escaped + 2 if escaped >= 0 else 0, returned + 1)
        return self.start + lowest

    def line_end(self, at: int, limit_bytes: int) -> int:
        """Offset after the last byte of the line that holds the byte `at`, its line end included."""
        position = at - self.start
        highest = min(position + limit_bytes, len(self._data))
        found = self._data.find(b"\n", position, highest)
        if found >= 0:
            return self.start + found + 1
        ends = [
            offset + len(mark)
            for mark in (b"\\n", b"\r")
            if (offset := self._data.find(mark, position, highest)) >= 0 and offset + len(mark) < len(self._data)
        ]
        return self.start + min(ends, default=highest)

    def is_cut(self, at: int) -> bool:
        """Whether a line was cut at `at`, at no line end of any kind."""
        position = at - self.start
        before = self._data[max(position - 2, 0) : position]
        return bool(before) and not before.endswith((b"\n", b"\r", b"\\n"))

    def joined(self, start: int, end: int) -> bytes:
        """The line from `start` to `end`; in a hard-wrapped log with the lines beside it, as if never wrapped."""
        beside = self._limits.joined_lines
        if not beside:
            return self.cut(start, end)
        pieces = self.cut(self.before_lines(start, beside), self.after_lines(end, beside)).split(b"\n")
        return b"".join(piece.strip() for piece in pieces) + b"\n" + b" ".join(piece.strip() for piece in pieces)

    def before_lines(self, start: int, lines: int) -> int:
        """Where the `lines` lines before the line at `start` begin."""
        lowest = max(start - self._limits.edge_bytes, self.start)
        for _ in range(lines):
            if start <= lowest:
                break
            start = self.line_start(start - 1)
        return start

    def after_lines(self, end: int, lines: int) -> int:
        """Where `lines` lines that begin at `end` are over."""
        highest = min(end + self._limits.long_line_bytes, self.end)
        for _ in range(lines):
            if end >= highest:
                break
            end = self.line_end(end, self._limits.line_bytes)
        return end

    def last_lines(self, lines: int) -> int:
        """Where the last `lines` lines begin."""
        start = self.end
        for _ in range(lines):
            if start <= self.start:
                break
            start = self.line_start(start - 1)
        return start

    def traceback_end(self, end: int) -> int:
        """Where the traceback is over whose first line ends at `end`: after the line that names the exception."""
        highest = min(end + self._limits.long_line_bytes, self.end)
        for _ in range(self._limits.traceback_lines):
            if end >= highest:
                break
            line_end = self.line_end(end, self._limits.line_bytes)
            line = self.cut(end, line_end)
            end = line_end
            if names_exception(line):
                break
        return end


def names_exception(line: bytes) -> bool:
    """Whether a traceback's line is its last: a dotted name that ends like an exception's, then a colon or nothing."""
    text = line.decode("utf-8", "replace").rstrip()
    head = text.split(": ", 1)[0] if ": " in text else text.rstrip(":")
    words = head.split()
    name = words[-1] if words else ""
    return name.endswith(_EXCEPTION_ENDINGS) and name.replace(".", "").replace("_", "").isalnum() and '"' not in head
