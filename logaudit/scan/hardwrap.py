"""Finds anchors that a terminal's or an e-mail's width has cut in two."""

from __future__ import annotations

import regex

from logaudit.scan.anchors import Buffer, Finder, Hits

_NARROWEST, _WIDEST = 40, 300
_FEWEST_LINES = 20
_WORD_SLACK = 14
"""How far short of the width a line ends that was wrapped between words."""

_FRESH_START = regex.compile(r"\s*(?:\[|\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|[A-Z]+:|\{)")
_WIDEST_INDENT = 16


def looks_hard_wrapped(sample: bytes) -> bool:
    """Whether many lines of `sample` end at one width and go on in the next line."""
    lines = [line.rstrip("\r") for line in sample.decode("utf-8", "replace").split("\n")[1:-1]]
    lengths = [len(line) for line in lines]
    width = max(lengths, default=0)
    if len(lines) < _FEWEST_LINES or not _NARROWEST <= width <= _WIDEST:
        return False
    for slack, share in ((0, 0.2), (_WORD_SLACK, 0.4)):
        full = [at for at, length in enumerate(lengths[:-1]) if length >= width - slack]
        going_on = sum(_FRESH_START.match(lines[at + 1], timeout=1.0) is None for at in full)
        if len(full) >= share * len(lines) and going_on >= 0.5 * len(full):
            return True
    return False


class HardWrapFinder:
    """Finds what `inner` finds once line ends, with the indent after them, are taken out or made one space."""

    def __init__(self, inner: Finder) -> None:
        self._inner = inner
        self.longest_bytes = 2 * inner.longest_bytes + 4 * _WIDEST_INDENT

    def find(self, data: Buffer) -> Hits:
        import numpy

        codes = numpy.frombuffer(data, dtype=numpy.uint8)
        ends = numpy.flatnonzero(codes == 0x0A)
        keep = numpy.ones(len(codes), dtype=numpy.bool_)
        keep[ends[(ends > 0)] - 1] = codes[ends[(ends > 0)] - 1] != 0x0D
        after = ends
        for _ in range(_WIDEST_INDENT):
            after = after[after + 1 < len(codes)] + 1
            after = after[(codes[after] == 0x20) | (codes[after] == 0x09)]
            if not len(after):
                break
            keep[after] = False
        spaced = codes.copy()
        spaced[ends] = 0x20
        found: set[int] = set()
        for text in (spaced, codes):
            hits = self._inner.find(text[keep].tobytes())
            if hits.dense:
                return hits
            if hits.offsets:
                found.update(numpy.flatnonzero(keep)[numpy.array(hits.offsets)].tolist())
            keep[ends] = False
        return Hits(sorted(found))
