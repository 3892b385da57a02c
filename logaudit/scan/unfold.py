"""Joins lines that were cut at one width after everything else was wrapped around them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, Protocol, TypeVar

from logaudit.scan.peel import ENTITY, Chain, Layer, clean
from logaudit.scan.prefix import is_bare
from logaudit.scan.rejoin import MAX_WIDTH, indent_of

MIN_WIDTH = 40
MIN_SHARE = 0.15
"""Fewest rows, as a share of all, that end at the width."""
MIN_ROWS = 4
MAX_WHOLE = 0.3
"""Most rows at the width that may be whole lines, as a share of them."""


class Foldable(Protocol):
    """What is joined: a physical line."""

    __dataclass_fields__: ClassVar[dict[str, Any]]
    text: str
    raw: str
    gap: bool
    spaced: bool
    joined: bool


P = TypeVar("P", bound=Foldable)
Find = Callable[[str], Chain | None]
"""Gives the wrappers that come off a text for a log line to come to light."""


@dataclass(frozen=True, slots=True)
class Fold:
    """Where lines were cut."""

    first: int
    """Length of a first piece that goes on."""
    further: int
    """Length of a further piece that goes on, with its indent."""
    indent: int
    outer: Layer | None = None
    """The wrapper that every line begins with."""


def groups_of(rows: Sequence[P], fold: Fold, find: Find) -> list[list[P]]:
    """The rows of each line."""
    groups: list[list[P]] = []
    more = False
    for row in rows:
        if more and not row.gap and not row.spaced and not _starts(row.text, fold, find):
            groups[-1].append(row)
        else:
            groups.append([row])
        more = len(row.text) == (fold.further if len(groups[-1]) > 1 else fold.first)
    return groups


def _starts(text: str, fold: Fold, find: Find) -> bool:
    if indent_of(text) < fold.indent:
        return True
    if fold.outer is None:
        return is_bare(text)
    return fold.outer.recogniser.follow(clean(text), fold.outer.shape) is not None and find(text) is not None


def joined(group: Sequence[P], fold: Fold) -> P:
    """One line put together from its rows."""
    if len(group) == 1:
        return group[0]
    text = group[0].text + "".join(row.text[fold.indent :] for row in group[1:])
    return replace(group[0], text=text, raw="\n".join(row.raw for row in group), joined=True)


def candidates(rows: Sequence[Foldable]) -> list[Fold]:
    """Ways in which these rows may have been cut, by their lengths alone."""
    width = max(len(row.text) for row in rows)
    if not MIN_WIDTH <= width <= MAX_WIDTH:
        return []
    further = sorted(indent_of(b.text) for a, b in pairwise(rows) if len(a.text) == width)
    full = [row.text for row in rows if len(row.text) == width]
    if len(full) < max(MIN_ROWS, MIN_SHARE * len(rows)) or not further:
        return []
    # A few rows at the width are whole lines, and the next one has no indent.
    folds = [Fold(width, width, further[len(further) // 6])]
    # The indent can come on top of the width; then only further pieces are as long as the longest.
    indent = min(map(indent_of, full))
    if indent:
        folds.append(Fold(width - indent, width, indent))
    return folds


def learn(rows: Sequence[P], find: Find) -> Fold | None:
    """How these rows were cut, where that hid wrappers inside; None where they were not, or where nothing is inside."""
    entities = sum(bool(ENTITY.search(row.text)) for row in rows) >= MIN_ROWS
    for fold in candidates(rows):
        chains = [find(joined(group, fold).text) for group in groups_of(rows, fold, find)]
        outer = Counter(chain[0] for chain in chains if chain).most_common(1)
        plain = sum(chain == () for chain in chains)
        if outer and outer[0][1] >= plain:
            fold = replace(fold, outer=outer[0][0])
        elif not entities or not plain:
            continue
        groups = groups_of(rows, fold, find)
        further = [row for group in groups for row in group[1:]]
        # What stands before every row was put there after the cut.
        if fold.outer is not None:
            look, shape = fold.outer.recogniser.follow, fold.outer.shape
            if sum(look(clean(row.text), shape) is not None for row in further) > 0.2 * len(further):
                continue
        full = sum(len(row.text) == fold.further for row in rows)
        whole = sum(len(group[-1].text) in (fold.first, fold.further) for group in groups[:-1])
        if further and whole <= MAX_WHOLE * full:
            return fold
    return None
