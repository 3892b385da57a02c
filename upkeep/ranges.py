"""Release ranges of the extractors' samples, worked out from the wordings that each release prints."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

import regex
from packaging.version import InvalidVersion, Version

import logaudit.extract.kinds
from upkeep.store import Store
from upkeep.wheels import OLDEST

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


def edits(store: Store, folder: Path = KINDS) -> list[Edit]:
    """What the ranges in the modules of `folder` should be, where that differs."""
    wordings = [(_pattern(w.wording), w.ranges.runs[0][0], w.ranges.runs[-1][1]) for w in store.wordings.values()]
    usable = [(p, low, high) for p, low, high in wordings if p is not None]
    found: list[Edit] = []
    for path in sorted(folder.glob("*.py")):
        for call in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "Extractor":
                found += _of_extractor(path, call, usable)
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


def _of_extractor(
    path: Path, call: ast.Call, wordings: list[tuple[regex.Pattern[str], Version, Version]]
) -> list[Edit]:
    given = {k.arg: k.value for k in call.keywords}
    kind = ast.literal_eval(given["kind"])
    found: list[Edit] = []
    ranges: list[str] = []
    for sample in ast.walk(given["samples"]):
        if not isinstance(sample, ast.Call) or ast.unparse(sample.func) != "Sample" or len(sample.args) < 2:
            continue
        text, node = ast.literal_eval(sample.args[0]), sample.args[1]
        was = ast.literal_eval(node)
        now = _range_of(text, was, wordings)
        ranges.append(now)
        if now != was:
            found.append(_edit(path, node, kind, text, was, now))
    own = given.get("releases")
    if isinstance(own, ast.Constant):
        was = str(own.value)
        now = _hull([*ranges, was] if not all(ranges) else ranges) or was
        if now != was:
            found.append(_edit(path, own, kind, "", was, now))
    return found


def _range_of(text: str, was: str, wordings: list[tuple[regex.Pattern[str], Version, Version]]) -> str:
    """The hull of the releases that print `text`; what it was where no release from `OLDEST` on does."""
    low: Version | None = None
    high: Version | None = None
    for pattern, first, last in wordings:
        if pattern.fullmatch(text, timeout=SEARCH_S):
            low = first if low is None else min(low, first)
            high = last if high is None else max(high, last)
    if low is None or high is None:
        return was
    earlier = _ends(was)
    if low == OLDEST and earlier and earlier[0] < OLDEST:
        low = earlier[0]
    return str(low) if low == high else f"{low}..{high}"


def _hull(ranges: list[str]) -> str:
    ends = [end for text in ranges for end in _ends(text)]
    if not ends:
        return ""
    return str(min(ends)) if min(ends) == max(ends) else f"{min(ends)}..{max(ends)}"


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
    return regex.compile(".*?".join(map(regex.escape, literals)), regex.DOTALL)
