"""What became of the sizing functions from one release to another, moves and renames told apart from changes."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from upkeep.formulas import Function


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one function between two releases."""

    kind: str
    """`changed`, `new`, `gone`, `moved`, `renamed`."""
    name: str
    was: Function | None
    now: Function | None

    def diff(self, lines: int = 400) -> str:
        """The normalised code of both as a unified diff."""
        old = self.was.code.splitlines() if self.was else []
        new = self.now.code.splitlines() if self.now else []
        text = list(difflib.unified_diff(old, new, "before", "after", lineterm="", n=2))
        return "\n".join(text[:lines])

    @property
    def stale(self) -> bool:
        """Whether a rule may have changed: moves and renames alter nothing."""
        return self.kind in ("changed", "new", "gone")


def compare(before: list[Function], after: list[Function]) -> list[Change]:
    """What changed from one release to the next, moves and renames told apart from changes."""
    changes: list[Change] = []
    left, right = _unequal(before, after)
    ways: tuple[Callable[[Function], object], ...] = (
        lambda f: (f.name, f.path),
        lambda f: f.name,
        lambda f: f.digest,
        lambda f: f.name if f.short.startswith("__") else f.short,
    )
    for same in ways:
        olds = _unique(left, same)
        for key, now in _unique(right, same).items():
            was = olds.get(key)
            if was is None:
                continue
            left.remove(was)
            right.remove(now)
            if was.digest != now.digest:
                changes.append(Change("changed", now.name, was, now))
            elif was.name != now.name:
                changes.append(Change("renamed", now.name, was, now))
            elif was.path != now.path:
                changes.append(Change("moved", now.name, was, now))
    changes += [Change("gone", f.name, f, None) for f in left]
    changes += [Change("new", f.name, None, f) for f in right]
    return sorted(changes, key=lambda c: (not c.stale, c.name))


def _unequal(before: list[Function], after: list[Function]) -> tuple[list[Function], list[Function]]:
    """Both lists without what is the same in name, place and code."""
    same = Counter((f.name, f.path, f.digest) for f in before) & Counter((f.name, f.path, f.digest) for f in after)
    return (
        [f for f in before if (f.name, f.path, f.digest) not in same],
        [f for f in after if (f.name, f.path, f.digest) not in same],
    )


def _unique(found: list[Function], key: Callable[[Function], object]) -> dict[object, Function]:
    counts = Counter(key(f) for f in found)
    return {key(f): f for f in found if counts[key(f)] == 1}
