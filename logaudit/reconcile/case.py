"""Everything known about one start once it has been held against the formula: what findings and the report read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from packaging.version import Version

from logaudit.interval import Interval
from logaudit.launches.model import Launch, RankReadings
from logaudit.reconcile.compare import Comparison
from logaudit.reconcile.fraction import Fraction
from logaudit.reconcile.inputs import Given
from logaudit.reconcile.ledger import Ledger
from logaudit.reconcile.naive import Naive
from logaudit.sglang.versions import Bracket
from logaudit.sizing.model import Expectation, SizingInputs


@dataclass(frozen=True, slots=True)
class Cause:
    """Why the cache is not what the plain budget gives, with its size and its lines."""

    code: str
    gib: Interval | None
    tokens: float | None
    evidence: tuple[int, ...]
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """A finding as its rule made it: numbers and evidence; the words are in its template."""

    code: str
    severity: str
    """`info`, `notice`, `warning` or `critical`."""
    numbers: Mapping[str, Any]
    """What the template is rendered with."""
    evidence: tuple[int, ...] = ()
    changes: Mapping[str, object] = field(default_factory=dict)
    """Server arguments by field name that this finding would start the server with; None takes one out."""


@dataclass(frozen=True, slots=True)
class Case:
    """One start and what was concluded of it."""

    launch: Launch
    rows: tuple[Mapping[str, Any], ...]
    """Its rows of the rank frame, as dicts."""
    bracket: Bracket
    release: Version | None
    """The release whose rules were applied."""
    fraction: Fraction | None
    given: Given
    inputs: SizingInputs | None
    expectation: Expectation | None
    comparison: Comparison
    ledgers: tuple[Ledger, ...]
    naive: tuple[Naive, ...]
    kv_gib: Interval | None
    """What the deciding rank's KV pools took, as printed."""
    causes: tuple[Cause, ...] = ()
    previous: Case | None = None
    """The last good start before this one in the same source, when there was one."""

    @property
    def rank(self) -> RankReadings | None:
        """The rank that the report shows first: the one with least memory before its pool was sized."""
        return self.ledgers[0].rank if self.ledgers else (self.launch.ranks[0] if self.launch.ranks else None)

    @property
    def row(self) -> Mapping[str, Any] | None:
        """The target row of that rank."""
        rank = self.rank
        if rank is None:
            return None
        key = (rank.key.tp, rank.key.pp, rank.key.dp)
        return next((r for r in self.rows if r["worker"] == "target" and (r["tp"], r["pp"], r["dp"]) == key), None)
