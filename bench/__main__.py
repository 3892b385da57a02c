"""Measures whole processes, medians of several runs, and prints a table: `python -m bench [--mib N] [--runs N]`."""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.generate import make
from bench.measure import Measured, measure

_NAIVE_MIB = 8
"""The plain loop reads this much, its time is scaled: at full size it takes the better part of an hour."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    what: str
    ours: Measured
    against: str = ""
    theirs_s: float | None = None

    @property
    def cells(self) -> tuple[str, ...]:
        """As printed."""
        theirs = "" if self.theirs_s is None else f"{self.theirs_s:.2f}"
        ratio = "" if self.theirs_s is None else f"{self.ours.wall_s / self.theirs_s:.2f}"
        ours = self.ours
        return self.what, f"{ours.wall_s:.2f}", f"{ours.cpu_s:.2f}", f"{ours.peak_mib:.0f}", self.against, theirs, ratio


HEADINGS = ("log", "wall s", "CPU s", "peak MiB", "against", "its wall s", "ours / its")


def ours(command: str, path: Path) -> list[str]:
    """The command line of the thing measured: the scan alone, or a command of logaudit."""
    if command == "scan":
        return [sys.executable, "-m", "bench.read", str(path)]
    return [sys.executable, "-m", "logaudit.cli.main", command, str(path)]


def rows(command: str, mib: int, runs: int, anchors: Path) -> Iterator[Row]:
    """Every benchmark, one after the other."""
    size = mib << 20
    log = make("plain", size)
    ours_plain = measure(ours(command, log), runs)
    for tool, argv in _searchers(anchors):
        yield Row(f"plain, {mib} MiB", ours_plain, f"{tool} -c -F -f", measure([*argv, str(log)], runs, (0, 1)).wall_s)
    naive = measure([sys.executable, "-m", "bench.naive", str(make("plain", _NAIVE_MIB << 20))], 1).wall_s
    yield Row(f"plain, {mib} MiB", ours_plain, "plain loop (scaled)", naive * mib / _NAIVE_MIB)
    searcher = ["rg", "--count-matches", "-F", "-f", str(anchors)]
    for form in ("one-line", "bars") if shutil.which("rg") else ():
        path = make(form, size)
        measured = measure(ours(command, path), runs)
        # With -c alone ripgrep is done with such a line at its first hit.
        yield Row(
            f"{form}, {mib} MiB", measured, "rg --count-matches", measure([*searcher, str(path)], runs, (0, 1)).wall_s
        )
    for form, unpack in (("gzip", ["gzip", "-dc"]), ("zstd", ["zstd", "-dcq"])):
        path = make(form, size)
        measured = measure(ours(command, path), runs)
        if shutil.which(unpack[0]):
            yield Row(f"{form}, {mib} MiB", measured, " ".join(unpack), measure([*unpack, str(path)], runs).wall_s)
        else:
            yield Row(f"{form}, {mib} MiB", measured)


def _searchers(anchors: Path) -> list[tuple[str, list[str]]]:
    return [(tool, [tool, "-c", "-F", "-f", str(anchors)]) for tool in ("rg", "grep") if shutil.which(tool)]


def large(command: str, mib: int, runs: int) -> Iterator[Row]:
    """The same log in eight times the size: time in proportion, memory as before."""
    small = measure(ours(command, make("plain", mib << 20)), runs)
    yield Row(
        f"plain, {8 * mib} MiB", measure(ours(command, make("plain", mib << 23)), runs), "1/8 of it", small.wall_s
    )


def table(found: Sequence[Row]) -> str:
    """Markdown."""
    cells = [HEADINGS, tuple("---" for _ in HEADINGS), *(row.cells for row in found)]
    return "\n".join("| " + " | ".join(line) + " |" for line in cells)


def main() -> None:
    """Make the logs, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=1024, help="size of the logs, unpacked")
    parser.add_argument("--runs", type=int, default=5, help="runs of which the median is taken")
    parser.add_argument("--large", action="store_true", help="also a log of eight times the size")
    parser.add_argument("--command", choices=("scan", "report", "frame"), default="report")
    arguments = parser.parse_args()
    if importlib.util.find_spec("hyperscan") is None:
        print("hyperscan is not installed: these are the times of the slower finder", file=sys.stderr)
    from logaudit.extract import anchors

    with tempfile.NamedTemporaryFile("w", suffix=".anchors") as file:
        file.writelines(f"{anchor}\n" for anchor in anchors())
        file.flush()
        found = list(rows(arguments.command, arguments.mib, arguments.runs, Path(file.name)))
    if arguments.large:
        found += large(arguments.command, arguments.mib, arguments.runs)
    print(table(found))


if __name__ == "__main__":
    main()
