"""Reads a log through the fast scan alone and prints what was kept: `python -m bench.read FILE`."""

from __future__ import annotations

import sys

from logaudit.extract import all_extractors, anchors
from logaudit.scan.reader import read_lines
from logaudit.sources import open_sources


def main() -> None:
    """Scan each argument."""
    every = tuple(anchor.encode() for anchor in anchors())
    failures = tuple(
        anchor.encode() for kind in all_extractors() if kind.phase == "failures" for anchor in kind.anchors
    )
    for source in open_sources(sys.argv[1:]):
        scanned = read_lines(source, every, failures)
        kept = sum(1 for _ in scanned.lines)
        print(f"{source.name}: {scanned.stats.bytes:,} bytes, {scanned.stats.lines:,} lines, {kept:,} kept")


if __name__ == "__main__":
    main()
