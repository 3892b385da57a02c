"""Release ranges of the extractors' samples, worked out from the wordings that each release prints."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import regex
from packaging.version import InvalidVersion, Version

import logaudit.extract.kinds
from upkeep.store import Store

KINDS = Path(next(iter(logaudit.extract.kinds.__path__)))
SEARCH_S = 0.5
LITERAL = 8
"""A wording with fewer literal letters than this says nothing about a sample."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A release range that a sample or an extractor should have instead of the one it has."""

    path: Path
    line: int
    column: int
    end_line: int
    end_column: int
    kind: str
    text: str
    """The sample's text; empty for the extractor's own range."""
    was: str
    now: str


def edits(store: Store, read: Sequence[Version], folder: Path = KINDS) -> list[Edit]:
    """What the ranges in the modules of `folder` should be, where that differs.

    A range was read from the releases `read`: each of its ends can move into the gap up to the next of them, no
    further, since a wording with open places may match more than what it prints. An empty range stays empty.
    """
    wordings = [(_pattern(w.wording), w.ranges.runs[0][0], w.ranges.runs[-1][1]) for w in store.wordings.values()]
    usable = [(p, low, high) for p, low, high in wordings if p is not None]
    found: list[Edit] = []
    for path in sorted(folder.glob("*.py")):
        for call in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "Extractor":
                found += _of_extractor(path, call, usable, read, store.releases)
    return found


def apply(found: list[Edit]) -> None:
    """Write the edits into the modules."""
    for path in sorted({edit.path for edit in found}):
        lines = path.read_text("utf-8").splitlines(keepends=True)
        for edit in sorted((e for e in found if e.path == path), key=lambda e: (-e.line, -e.column)):
            if edit.line == edit.end_line:
                raw = lines[edit.line - 1].encode()
                new = raw[: edit.column] + f'"{edit.now}"'.encode() + raw[edit.end_column :]
                lines[edit.line - 1] = new.decode()
        path.write_text("".join(lines), "utf-8")


Printed = tuple[regex.Pattern[str], Version, Version]
"""A wording with the first and the last release that prints it."""


def _of_extractor(
    path: Path, call: ast.Call, wordings: list[Printed], read: Sequence[Version], known: Sequence[Version]
) -> list[Edit]:
    given = {k.arg: k.value for k in call.keywords}
    kind = ast.literal_eval(given["kind"])
    found: list[Edit] = []
    ends: list[Version] = []
    for sample in ast.walk(given["samples"]):
        if not isinstance(sample, ast.Call) or ast.unparse(sample.func) != "Sample" or len(sample.args) < 2:
            continue
        text, node = ast.literal_eval(sample.args[0]), sample.args[1]
        was = ast.literal_eval(node)
        now = refined(was, *_printed(text, wordings), read, known)
        ends += _ends(now)
        if now != was:
            found.append(_edit(path, node, kind, text, was, now))
    own = given.get("releases")
    if isinstance(own, ast.Constant) and ends:
        was = str(own.value)
        now = refined(was, min(ends), max(ends), read, known)
        if now != was:
            found.append(_edit(path, own, kind, "", was, now))
    return found


def refined(
    was: str, low: Version | None, high: Version | None, read: Sequence[Version], known: Sequence[Version]
) -> str:
    """The range `was` with its ends moved out to `low` and `high`, into the gaps up to the next releases of `read`.

    Where the wordings cannot tell (None, or beyond the gap), all `known` releases of the gap are let in: a release in
    between can carry either neighbour's wording.
    """
    ends = _ends(was)
    if not ends:
        return was
    first, last = min(ends), max(ends)
    below = max((r for r in read if r < first), default=None)
    above = min((r for r in read if r > last), default=None)
    if low is None or (below is not None and low <= below):
        low = min((r for r in known if (below is None or below < r) and r < first), default=first)
    if high is None or (above is not None and high >= above):
        high = max((r for r in known if r > last and (above is None or r < above)), default=last)
    new_first, new_last = min(first, low), max(last, high)
    runs = [run.split("..") for run in was.split(",")]
    runs[0] = [str(new_first), *runs[0][1:]] if new_first != Version(runs[0][0]) else runs[0]
    if new_first != first and len(runs) == 1 and was == str(first):
        runs[0] = [str(new_first), str(first)]
    if new_last != last:
        runs[-1] = [runs[-1][0], str(new_last)]
    return ",".join("..".join(run) for run in runs)


def _printed(text: str, wordings: list[Printed]) -> tuple[Version | None, Version | None]:
    """The first and the last release with a wording that `text` can be."""
    matching = [(low, high) for pattern, low, high in wordings if pattern.fullmatch(text.strip(), timeout=SEARCH_S)]
    if not matching:
        return None, None
    return min(low for low, _ in matching), max(high for _, high in matching)


def _ends(text: str) -> list[Version]:
    try:
        return [Version(part) for run in text.split(",") for part in run.split("..") if part]
    except InvalidVersion:
        return []


def _edit(path: Path, node: ast.expr, kind: str, text: str, was: str, now: str) -> Edit:
    return Edit(
        path, node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0, kind, text, was, now
    )


def _pattern(wording: str) -> regex.Pattern[str] | None:
    """A wording as an expression that its messages match; None when it is hardly more than holes."""
    literals = regex.split(r"\{[^{}]*\}", wording.strip())
    if sum(map(str.isalpha, "".join(literals))) < LITERAL:
        return None
    holes = [_hole(spec) for spec in regex.findall(r"\{:?([^{}]*)\}", wording.strip())]
    parts = [part for pair in zip(map(regex.escape, literals), [*holes, ""], strict=True) for part in pair]
    return regex.compile("".join(parts), regex.DOTALL)


def _hole(spec: str) -> str:
    """What a value can look like under a format specification."""
    decimals = regex.search(r"\.(\d+)f$", spec)
    if decimals:
        return rf"-?[\d,]+\.\d{{{decimals[1]}}}" if decimals[1] != "0" else r"-?[\d,]+"
    return r"-?[\d,]+" if spec.endswith("d") else ".*?"
