"""Search for many literals at once: where in a block of bytes does any anchor stand."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

Buffer = bytes | bytearray | memoryview

DENSE_HITS = 8192
"""More hits than this in one block say that all of it matters; the search stops there."""


@dataclass(frozen=True, slots=True)
class Hits:
    """Where anchors stand in a block."""

    offsets: Sequence[int]
    """Offset of the last byte of each hit, ascending: a position inside the line that holds it."""
    dense: bool = False
    """Whether the search stopped early because hits are everywhere."""


class Finder(Protocol):
    """Finds any of a fixed set of anchors; several threads may use one finder."""

    longest_bytes: int
    """Length of the longest anchor."""

    def find(self, data: Buffer) -> Hits:
        """Every place in `data` where an anchor ends (case matters)."""


def make_finder(anchors: Sequence[bytes]) -> Finder:
    """The fastest finder that this machine has for `anchors`, none of them empty."""
    if importlib.util.find_spec("hyperscan") is not None:
        return HyperscanFinder(anchors)
    return RegexFinder(anchors)


class HyperscanFinder:
    """Finds anchors with Hyperscan, which lets other threads run meanwhile."""

    def __init__(self, anchors: Sequence[bytes]) -> None:
        import hyperscan

        self.longest_bytes = max(map(len, anchors))
        self._hyperscan = hyperscan
        self._database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        self._database.compile(
            expressions=list(anchors),
            ids=list(range(len(anchors))),
            elements=len(anchors),
            flags=[0] * len(anchors),
            literal=True,
        )
        self._local = threading.local()

    def find(self, data: Buffer) -> Hits:
        scratch = getattr(self._local, "scratch", None)
        if scratch is None:
            scratch = self._local.scratch = self._hyperscan.Scratch(self._database)
        collector = _Collector()
        try:
            self._database.scan(cast(bytes, data), match_event_handler=collector, scratch=scratch)
        except self._hyperscan.ScanTerminated:
            return Hits((), dense=True)
        return Hits(collector.offsets)


@dataclass(slots=True)
class _Collector:
    """Takes Hyperscan's matches; a true answer ends the search."""

    offsets: list[int] = field(default_factory=list)

    def __call__(self, _anchor: int, _start: int, end: int, _flags: int, _context: Any) -> bool | None:
        self.offsets.append(end - 1)
        return len(self.offsets) > DENSE_HITS or None


class RegexFinder:
    """Finds anchors with an alternation: slower, but everywhere at hand."""

    def __init__(self, anchors: Sequence[bytes]) -> None:
        import regex

        self.longest_bytes = max(map(len, anchors))
        self._pattern = regex.compile(b"|".join(regex.escape(anchor) for anchor in sorted(anchors, key=len)))

    def find(self, data: Buffer) -> Hits:
        offsets: list[int] = []
        for match in self._pattern.finditer(data):
            offsets.append(match.end() - 1)
            if len(offsets) > DENSE_HITS:
                return Hits((), dense=True)
        return Hits(offsets)
