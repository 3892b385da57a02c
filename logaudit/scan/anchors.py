"""Search for many literals at once: where in a block of bytes does any anchor stand."""

from __future__ import annotations

import importlib.util
import itertools
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import regex

Buffer = bytes | bytearray | memoryview

DENSE_HITS = 8192
"""More hits than this in one block say that all of it matters; the search stops there."""


MISLEADING_HITS = 1024
"""More hits of needles than this in one block say that the sample was not like it: whole anchors are searched then."""

BAR_RETURNS = 256
"""So many carriage returns in a block of dense hits are progress bars."""

SEARCH_TIMEOUT_S = 60.0

_BAR = regex.compile(rb"\d%|it/s|s/it|B/s")
_BAR_BYTES = 1 << 12

NEEDLE_BYTES = 8
"""Longest suffix that Hyperscan's literal matcher looks at."""


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


def make_finder(anchors: Sequence[bytes], sample: bytes = b"") -> Finder:
    """The fastest finder that this machine has for `anchors`, none of them empty, in text like `sample`."""
    return HyperscanFinder(anchors, sample) if searches_fast() else RegexFinder(anchors)


def searches_fast() -> bool:
    """Whether Hyperscan is here and runs on this machine; without it a search takes several times as long."""
    if importlib.util.find_spec("hyperscan") is None:
        return False
    try:
        importlib.import_module("hyperscan")
    except (ImportError, OSError):
        return False
    return True


class _BesideBars(ABC):
    """What both finders do where hits are everywhere: they leave progress bars out of the search.

    A bar is printed again and again between carriage returns, and some anchors are its own words.
    """

    def __init__(self, anchors: Sequence[bytes]) -> None:
        self.longest_bytes = max(map(len, anchors))
        self._anchors = tuple(anchors)

    def find(self, data: Buffer) -> Hits:
        """Every place in `data` where an anchor ends."""
        found = self._search(data, self._anchors)
        if not found.dense:
            return Hits(found.ends)
        text = bytes(data)
        if text.count(b"\r") < BAR_RETURNS:
            return Hits((), dense=True)
        others = tuple(anchor for anchor in self._anchors if not self._is_bar_word(anchor, text))
        beside = self._search(data, others) if others else _Found([], dense=False)
        if beside.dense or len(others) == len(self._anchors):
            return Hits((), dense=True)
        return Hits(sorted({*beside.ends, *_last_of_bars(text)}))

    @staticmethod
    def _is_bar_word(anchor: bytes, text: bytes) -> bool:
        at = text.find(anchor)
        if at < 0:
            return False
        end = text.find(b"\r", at)
        return _BAR.search(text[text.rfind(b"\r", 0, at) + 1 : end if end >= 0 else len(text)][:_BAR_BYTES]) is not None

    @abstractmethod
    def _search(self, data: Buffer, anchors: tuple[bytes, ...]) -> _Found:
        """Every place in `data` where one of `anchors`, some or all of this finder's, ends."""


@dataclass(frozen=True, slots=True)
class _Found:
    ends: list[int]
    dense: bool


def _last_of_bars(text: bytes) -> list[int]:
    """Where the lines end that consist of bars: their last state."""
    ends: list[int] = []
    at = text.find(b"\n")
    while at >= 0 and len(ends) < DENSE_HITS:
        if at > 0 and text.rfind(b"\r", max(at - _BAR_BYTES, 0), at - 1) >= 0:
            ends.append(at - 1)
        at = text.find(b"\n", at + 1)
    return ends


class HyperscanFinder(_BesideBars):
    """Finds anchors with Hyperscan, which lets other threads run meanwhile.

    What is searched for first is one short needle of each anchor, the one whose bytes are rarest in the sample:
    that runs at two to three times the speed of whole anchors, many of which end in everyday words.
    """

    def __init__(self, anchors: Sequence[bytes], sample: bytes = b"") -> None:
        super().__init__(anchors)
        self._whole: dict[tuple[bytes, ...], _Literals] = {}
        places: dict[bytes, list[tuple[bytes, int]]] = {}
        for anchor, end in zip(anchors, rarest_ends(anchors, sample), strict=True):
            places.setdefault(anchor[max(end - NEEDLE_BYTES, 0) : end], []).append((anchor, end))
        self._places = list(places.values())
        self._needles = _Literals(tuple(places))

    def _search(self, data: Buffer, anchors: tuple[bytes, ...]) -> _Found:
        if anchors == self._anchors:
            needles = self._needles.find(data, MISLEADING_HITS)
            if needles is not None:
                return _Found(sorted(self._confirmed(data, needles)), dense=False)
        whole = self._whole.get(anchors)
        if whole is None:
            whole = self._whole[anchors] = _Literals(anchors)
        hits = whole.find(data, DENSE_HITS)
        return _Found([], dense=True) if hits is None else _Found([end - 1 for _, end in hits], dense=False)

    def _confirmed(self, data: Buffer, needles: list[tuple[int, int]]) -> Iterator[int]:
        for needle, needle_end in needles:
            for anchor, end_in_anchor in self._places[needle]:
                start = needle_end - end_in_anchor
                end = start + len(anchor)
                if start >= 0 and data[start:end] == anchor:
                    yield end - 1


class _Literals:
    """A compiled set of literals."""

    def __init__(self, literals: tuple[bytes, ...]) -> None:
        import hyperscan

        self._hyperscan = hyperscan
        self._database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        self._database.compile(
            expressions=list(literals),
            ids=list(range(len(literals))),
            elements=len(literals),
            flags=[0] * len(literals),
            literal=True,
        )
        self._local = threading.local()

    def find(self, data: Buffer, most: int) -> list[tuple[int, int]] | None:
        """Each hit as number of the literal and offset of its end; None when there are more than `most`."""
        scratch = getattr(self._local, "scratch", None)
        if scratch is None:
            scratch = self._local.scratch = self._hyperscan.Scratch(self._database)
        hits: list[tuple[int, int]] = []

        def take(literal: int, _start: int, end: int, _flags: int, _context: Any) -> bool | None:
            hits.append((literal, end))
            return len(hits) > most or None

        try:
            self._database.scan(cast(bytes, data), match_event_handler=take, scratch=scratch)
        except self._hyperscan.ScanTerminated:
            return None
        return hits


def rarest_ends(anchors: Sequence[bytes], sample: bytes) -> list[int]:
    """For each anchor, where the stretch of NEEDLE_BYTES ends whose pairs of bytes are rarest in `sample`.

    Hyperscan looks at two pairs, four bytes apart, at one of four alignments, so a stretch costs the chance that both
    pairs of an alignment turn up.
    """
    counts = Counter(itertools.pairwise(sample))
    floor = 1e-4
    chance = {pair: count / len(sample) + floor for pair, count in counts.items()}
    ends = []
    for anchor in anchors:
        pairs = [chance.get(pair, floor) for pair in itertools.pairwise(anchor)]
        both = [pairs[at] * (pairs[at - 4] if at >= 4 else 1.0) for at in range(len(pairs))]
        candidates = range(min(NEEDLE_BYTES, len(anchor)), len(anchor) + 1)
        ends.append(min(candidates, key=lambda end: sum(both[max(end - 5, 0) : end - 1])))
    return ends


class RegexFinder(_BesideBars):
    """Finds anchors with an alternation: slower, but everywhere at hand."""

    def _search(self, data: Buffer, anchors: tuple[bytes, ...]) -> _Found:
        pattern = regex.compile(b"|".join(regex.escape(anchor) for anchor in sorted(anchors, key=len)))
        ends: list[int] = []
        for match in pattern.finditer(data, timeout=SEARCH_TIMEOUT_S):
            ends.append(match.end() - 1)
            if len(ends) > DENSE_HITS:
                return _Found([], dense=True)
        return _Found(ends, dense=False)
