"""Measures whole processes against other tools, in turns, and prints tables: `python -m bench [WHAT…] [--mib N]`."""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import fleet_run
from bench.generate import START, make
from bench.measure import Measured, alternate, measure

_NAIVE_MIB = 8
"""The plain loop reads this much, its time is scaled: at full size it takes the better part of an hour."""
WHAT = ("one", "large", "small", "fleet")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table."""

    what: str
    ours: Measured
    against: str
    theirs: Measured
    scale: float = 1.0
    """What their figures are multiplied with."""

    @property
    def cells(self) -> tuple[str, ...]:
        """As printed."""
        ours, theirs = self.ours, self.theirs
        wall, cpu = theirs.wall_s * self.scale, theirs.cpu_s * self.scale
        return (
            self.what,
            f"{ours.wall_s:.2f}",
            f"{ours.cpu_s:.2f}",
            f"{ours.peak_mib:.0f}",
            self.against,
            f"{wall:.2f}",
            f"{cpu:.2f}",
            f"{ours.wall_s / wall:.2f}" if ours.wall_s / wall >= 0.1 else f"1/{wall / ours.wall_s:.0f}",
        )


HEADINGS = ("log", "wall s", "CPU s", "peak MiB", "against", "its wall s", "its CPU s", "ours / its, wall")


def ours(command: str, path: Path) -> list[str]:
    """The command line of the thing measured: the scan alone, or a command of logaudit."""
    if command == "scan":
        return [sys.executable, "-m", "bench.read", str(path)]
    return [sys.executable, "-m", "logaudit", command, str(path)]


def one(command: str, mib: int, runs: int) -> Iterator[Row]:
    """One large log of each form against the tools that search or unpack it."""
    from logaudit.extract import anchors

    size = mib << 20
    with tempfile.NamedTemporaryFile("w", suffix=".anchors") as file:
        file.writelines(f"{anchor}\n" for anchor in anchors())
        file.flush()
        log = make("plain", size)
        for tool in ("rg", "grep"):
            if shutil.which(tool):
                search = [tool, "-c", "-F", "-f", file.name, str(log)]
                mine, theirs = alternate([ours(command, log), search], runs)
                yield Row(f"plain, {mib} MiB", mine, f"`{tool} -c -F -f anchors`", theirs)
        naive = measure([sys.executable, "-m", "bench.naive", str(make("plain", _NAIVE_MIB << 20))], 1)
        yield Row(f"plain, {mib} MiB", mine, "each extractor on each line, scaled", naive, mib / _NAIVE_MIB)
        for form in ("one-line", "bars") if shutil.which("rg") else ():
            path = make(form, size)
            # With -c alone ripgrep is done with such a line at its first hit.
            search = ["rg", "--count-matches", "-F", "-f", file.name, str(path)]
            mine, theirs = alternate([ours(command, path), search], runs)
            yield Row(f"{form}, {mib} MiB", mine, "`rg --count-matches -F -f anchors`", theirs)
    for form, unpack in (("gzip", ["gzip", "-dc"]), ("zstd", ["zstd", "-dcq"])):
        if shutil.which(unpack[0]):
            path = make(form, size)
            mine, theirs = alternate([ours(command, path), [*unpack, str(path)]], runs)
            yield Row(f"{form}, {mib} MiB", mine, f"`{' '.join(unpack)}`", theirs)


def large(command: str, mib: int, runs: int) -> Iterator[Row]:
    """The same log in eight times the size: time in proportion, memory as before."""
    big, small = make("plain", mib << 23), make("plain", mib << 20)
    mine, theirs = alternate([ours(command, big), ours(command, small)], runs)
    yield Row(f"plain, {8 * mib} MiB", mine, f"itself on {mib} MiB, times 8", theirs, 8.0)


def small(runs: int) -> Iterator[Row]:
    """A log of one start: what the start-up of the program costs."""
    with tempfile.TemporaryDirectory() as folder:
        # As installed: every module compiled, whatever the environment says of writing.
        environment = {"PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}
        report = [sys.executable, "-m", "logaudit", "report", str(START)]
        imports = [sys.executable, "-c", "import pandas, jinja2, rich"]
        help_, nothing = [sys.executable, "-m", "logaudit", "--help"], [sys.executable, "-c", "pass"]
        alternate([report, imports], 1, environment=environment)
        mine, theirs = alternate([report, imports], runs, environment=environment)
        yield Row("one start, 25 KiB", mine, "`import pandas, jinja2, rich`", theirs)
        mine, theirs = alternate([help_, nothing], runs, environment=environment)
        yield Row("`--help`", mine, "`pass`", theirs)


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Markdown."""
    cells = [tuple(headings), tuple("---" for _ in headings), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in cells) + "\n"


def main() -> None:
    """Make the logs, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "what", nargs="*", metavar="WHAT", help=f"of {', '.join(WHAT)}; all but `large` and `fleet` without it"
    )
    parser.add_argument("--mib", type=int, default=1024, help="size of the logs, unpacked")
    parser.add_argument("--runs", type=int, default=5, help="runs of which the median is taken")
    parser.add_argument("--logs", type=int, default=1000, help="logs of the fleet")
    parser.add_argument("--command", choices=("scan", "report", "frame"), default="report")
    given = parser.parse_args()
    if unknown := set(given.what) - set(WHAT):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    what = given.what or ["one", "small"]
    if importlib.util.find_spec("hyperscan") is None:
        print("hyperscan is not installed: these are the times of the slower finder", file=sys.stderr)
    print(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", file=sys.stderr)
    if "small" in what:
        print(table(HEADINGS, [row.cells for row in small(given.runs)]), flush=True)
    if "one" in what:
        print(table(HEADINGS, [row.cells for row in one(given.command, given.mib, given.runs)]), flush=True)
    if "large" in what:
        print(table(HEADINGS, [row.cells for row in large(given.command, given.mib, given.runs)]), flush=True)
    if "fleet" in what:
        print(table(fleet_run.HEADINGS, fleet_run.rows(given.logs)), flush=True)
    print(f"load after: {os.getloadavg()[0]:.1f}", file=sys.stderr)


if __name__ == "__main__":
    main()
