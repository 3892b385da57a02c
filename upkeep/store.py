"""What is known of the releases taken in so far: tables of one fact a line, read when asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from packaging.version import Version

from upkeep.architectures import Treatment
from upkeep.formulas import Function

FOLDER = Path(__file__).parent / "data"
GONE = "-"
"""Stands for a value from the release on in which the fact is gone."""
NOT_OURS = "-"
"""Kind of a wording that no extractor reads, seen and left so."""


@dataclass(frozen=True, slots=True)
class Ranges:
    """Runs of consecutive known releases: `0.4.4..0.5.12,0.5.14`."""

    runs: tuple[tuple[Version, Version], ...]

    @classmethod
    def parse(cls, text: str) -> Ranges:
        """From `0.4.4..0.5.12,0.5.14`."""
        runs = []
        for part in text.split(","):
            low, _, high = part.partition("..")
            runs.append((Version(low), Version(high or low)))
        return cls(tuple(runs))

    @classmethod
    def of(cls, present: Iterable[Version], known: list[Version]) -> Ranges:
        """The runs that `present` makes in the list of known releases."""
        inside = set(present)
        runs: list[tuple[Version, Version]] = []
        last: Version | None = None
        for release in known:
            if release in inside:
                runs = (
                    [*runs[:-1], (runs[-1][0], release)] if last is not None and runs else [*runs, (release, release)]
                )
            last = release if release in inside else None
        return cls(tuple(runs))

    def __str__(self) -> str:
        return ",".join(str(low) if low == high else f"{low}..{high}" for low, high in self.runs)

    def holds(self, release: Version) -> bool:
        """Whether `release` lies in one of the runs."""
        return any(low <= release <= high for low, high in self.runs)

    def members(self, known: list[Version]) -> set[Version]:
        """The known releases inside."""
        return {release for release in known if self.holds(release)}


@dataclass(frozen=True, slots=True)
class KnownWording:
    """A wording of earlier releases."""

    wording: str
    kind: str
    """The extractor that reads it, or `-`."""
    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Timeline:
    """Facts with the release from which on each holds."""

    points: dict[str, dict[Version, str]]
    """Name -> release -> value from that release on (`-`: gone)."""

    @classmethod
    def read(cls, rows: Iterable[list[str]]) -> Timeline:
        """From rows of name, release, value."""
        points: dict[str, dict[Version, str]] = {}
        for name, since, value in rows:
            points.setdefault(name, {})[Version(since)] = value
        return cls(points)

    def at(self, release: Version) -> dict[str, str]:
        """Name -> value as of a release, without what is gone."""
        state = {}
        for name, values in self.points.items():
            since = [r for r in values if r <= release]
            if since and values[max(since)] != GONE:
                state[name] = values[max(since)]
        return state

    def with_state(self, release: Version, state: dict[str, str], following: Version | None) -> Timeline:
        """With `state` as of `release`; what held at `following`, the next known release, still holds there."""
        after = self.at(following) if following is not None else {}
        points = {name: {r: v for r, v in values.items() if r != release} for name, values in self.points.items()}
        for name in sorted(set(points) | set(state)):
            values = points.setdefault(name, {})
            before = [r for r in values if r < release]
            now = state.get(name, GONE)
            if now != (values[max(before)] if before else GONE):
                values[release] = now
            if following is not None and following not in values and after.get(name, GONE) != now:
                values[following] = after.get(name, GONE)
        return Timeline({name: values for name, values in points.items() if values})

    def rows(self) -> Iterator[tuple[str, Version, str]]:
        """Sorted rows of name, release, value."""
        for name in sorted(self.points):
            for release in sorted(self.points[name]):
                yield name, release, self.points[name][release]


@dataclass(frozen=True)
class Store:
    """The tables in one folder."""

    folder: Path = FOLDER
    table: Path | None = None
    """Folder of the argument table, None for the project's own."""

    @cached_property
    def releases(self) -> list[Version]:
        """Releases taken in, oldest first."""
        return [Version(row[0]) for row in self._rows("releases.tsv")]

    def base_for(self, release: Version) -> Version | None:
        """The known release that `release` is held against: itself, or the newest one before it."""
        before = [known for known in self.releases if known <= release]
        return before[-1] if before else None

    @cached_property
    def wordings(self) -> dict[str, KnownWording]:
        """Wording -> what is known of it."""
        return {row[2]: KnownWording(row[2], row[0], Ranges.parse(row[1])) for row in self._rows("wordings.tsv")}

    @cached_property
    def treatments(self) -> dict[Treatment, Ranges]:
        """Model treated specially -> the releases that do."""
        return {Treatment(row[0], row[1]): Ranges.parse(row[2]) for row in self._rows("treatments.tsv")}

    @cached_property
    def functions(self) -> Timeline:
        """Function -> `digest@path` of each of that name, by release."""
        return Timeline.read(self._rows("functions.tsv"))

    @cached_property
    def dump(self) -> Timeline:
        """`printed` -> how the dump is put into its line, by release."""
        return Timeline.read(self._rows("dump.tsv"))

    def functions_at(self, release: Version) -> list[Function]:
        """The sizing functions as of a known release, digests without code."""
        found = []
        for name, value in self.functions.at(release).items():
            for part in value.split(" "):
                digest, _, path = part.partition("@")
                found.append(Function(name, path, 0, "", digest))
        return found

    def write(self, name: str, header: str, rows: Iterable[Iterable[object]]) -> None:
        """Put a table's rows in place of what it held, sorted as given."""
        self.folder.mkdir(parents=True, exist_ok=True)
        lines = ["\t".join(map(str, row)) for row in rows]
        (self.folder / name).write_text("\n".join([f"# {header}", *lines, ""]), "utf-8")

    def _rows(self, name: str) -> Iterator[list[str]]:
        path = self.folder / name
        if path.exists():
            for line in path.read_text("utf-8").splitlines():
                if line and not line.startswith("#"):
                    yield line.split("\t")
