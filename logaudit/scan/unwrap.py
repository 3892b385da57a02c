"""Takes wrappers and prefixes off the lines of a log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from logaudit.scan import prefix
from logaudit.scan.line import Line, SourceLine
from logaudit.scan.wrappers import colours, glued


class Unwrapper:
    """Turns source lines into logical lines as they arrive; what it has learnt of the log lasts between calls."""

    def __init__(self) -> None:
        self.wrappers: list[str] = []
        """Names of the wrappers taken off so far, in order of first appearance."""

    def feed(self, line: SourceLine) -> list[Line]:
        """Take one line; gives the logical lines that are complete by now."""
        text = colours.strip(line.text)
        if text != line.text:
            self._name(colours.NAME)
        parts = glued.split(text)
        if len(parts) > 1:
            self._name(glued.NAME)
        lines = []
        for part in parts:
            if not part.strip():
                continue
            parsed = prefix.parse(part)
            for rank in parsed.spread or (parsed.rank,):
                lines.append(Line(line.number, parsed.text, line.text, parsed.time, rank))
        return lines

    def flush(self) -> list[Line]:
        """Give what is still held back; the source may go on afterwards."""
        return []

    def _name(self, name: str) -> None:
        if name not in self.wrappers:
            self.wrappers.append(name)


class Unwrapped:
    """The logical lines of a log, and after they were read, the wrappers that were taken off."""

    def __init__(self, source: Iterable[SourceLine]) -> None:
        self._source = source
        self._unwrapper = Unwrapper()
        self.lines: Iterator[Line] = self._run()

    def _run(self) -> Iterator[Line]:
        for line in self._source:
            yield from self._unwrapper.feed(line)
        yield from self._unwrapper.flush()

    @property
    def wrappers(self) -> list[str]:
        """Names of the wrappers recognised, complete after iteration."""
        return list(self._unwrapper.wrappers)


def unwrap(lines: Iterable[SourceLine]) -> Unwrapped:
    """Logical lines of a log; numbers may have gaps, and nothing is ever joined across one."""
    return Unwrapped(lines)
