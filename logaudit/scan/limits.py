"""How much of a log the scan keeps around what it finds."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is kept around what was found."""

    block_bytes: int = 1 << 20
    """Size of the blocks that are searched."""
    lines_before: int = 4
    lines_after: int = 12
    edge_lines: int = 200
    """Lines kept at the start and at the end of the source."""
    edge_bytes: int = 1 << 16
    """Bytes kept before the end of the source, and most that `lines_before` may take."""
    history_bytes: int = 1 << 18
    """Raw traffic kept before a failure."""
    failures: int = 4
    """How many failures, counted from the end, keep their raw traffic."""
    line_bytes: int = 1 << 16
    """How far a line reaches to either side of its anchor; beyond that it is cut."""
    long_line_bytes: int = 1 << 20
    """The same for the dump of the server's arguments, and most that `lines_after` and a traceback may take."""
    traceback_lines: int = 400
    arguments_lines: int = 1
    """Lines that the dump of the server's arguments may take."""
    joined_lines: int = 0
    """Lines to either side that are looked at together with the line of a hit, which a hard wrap has cut in pieces."""
    held_bytes: int = 16 << 20
    """How much may wait for the decision which failures are the last."""

    @property
    def back_bytes(self) -> int:
        """How far behind the searched block bytes must be at hand."""
        return self.history_bytes + 2 * self.line_bytes

    @property
    def ahead_bytes(self) -> int:
        """How far beyond the searched block bytes must be at hand."""
        return self.long_line_bytes + self.line_bytes

    def for_hard_wraps(self) -> Limits:
        """The same for a log whose lines are cut into pieces, so that each stands for a few."""
        return replace(
            self,
            lines_before=4 * self.lines_before,
            lines_after=4 * self.lines_after,
            traceback_lines=2 * self.traceback_lines,
            arguments_lines=600,
            joined_lines=2,
        )


LIMITS = Limits()
