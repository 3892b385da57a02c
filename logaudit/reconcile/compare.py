"""Holds the printed token count against what the formula gives, and says how well they agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from packaging.version import Version

from logaudit.interval import GIB, Interval
from logaudit.sizing.model import Expectation

Status = Literal["explained", "explained_with_residual", "unexplained", "not_checkable"]

RESIDUAL_GIB = 0.05
RESIDUAL_SHARE = 0.005
"""A gap under the larger of these (GiB, share of the budget) is a residual."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The outcome of holding the log against the formula."""

    status: Status
    actual_tokens: int | None
    expected: Interval | None
    gap_tokens: int | None
    """0 inside the bounds, else the distance to the nearest bound: positive when more was printed than expected."""
    gap_gib: Interval | None
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """The expectation under the rules of one release of the bracket."""

    release: Version
    expectation: Expectation
    comparison: Comparison


def threshold_gib(expectation: Expectation) -> float:
    """How large a gap may be and still count as a residual."""
    budget = expectation.kv_budget_gib
    return max(RESIDUAL_GIB, RESIDUAL_SHARE * (0.0 if budget is None else abs(budget.value)))


def compare(expectation: Expectation, actual_tokens: int | None, *, refused: bool) -> Comparison:
    """Status and gap of one expectation against the printed count.

    Printed pools whose size contradicts their own tokens leave the log unexplained, whatever its token count.
    `refused` is a start that SGLang ended itself for want of memory: it is explained when the formula leaves no
    room for a single page.
    """
    expected, missing = expectation.tokens, expectation.missing
    if actual_tokens is None:
        budget = expectation.kv_budget_gib
        if refused and ((expected is not None and expected.high <= 0) or (budget is not None and budget.high <= 0)):
            return Comparison("explained", None, expected, None, None, ())
        why = missing or ("a token count: the log holds no line with max_total_num_tokens or #tokens",)
        return Comparison("not_checkable", None, expected, None, None, why)
    if expected is None or missing:
        return Comparison("not_checkable", actual_tokens, expected, None, None, missing or ("the expected tokens",))
    gap = expected.gap(actual_tokens)
    gap_tokens = int(gap) if gap == int(gap) else int(gap + (0.5 if gap > 0 else -0.5))
    if expectation.bytes_per_token is None:
        gap_gib = None
    else:
        gap_gib = (Interval.exact(actual_tokens) - expected) * expectation.bytes_per_token / GIB
    if expectation.inconsistent:
        return Comparison("unexplained", actual_tokens, expected, gap_tokens, gap_gib, ())
    if gap == 0:
        return Comparison("explained", actual_tokens, expected, 0, gap_gib, ())
    size = 0.0 if expectation.bytes_per_token is None else abs(gap) * expectation.bytes_per_token.value / GIB
    if expectation.bytes_per_token is not None and size < threshold_gib(expectation):
        return Comparison("explained_with_residual", actual_tokens, expected, gap_tokens, gap_gib, ())
    return Comparison("unexplained", actual_tokens, expected, gap_tokens, gap_gib, ())


ORDER: dict[Status, int] = {"explained": 0, "explained_with_residual": 1, "unexplained": 2, "not_checkable": 3}


def choose(candidates: Sequence[Candidate]) -> Candidate:
    """The candidate that the report shows: the one that agrees best with the log, the newest release among equals.

    Where releases of the bracket size differently and more than one was tried, the choice is said as an assumption.
    """
    best = min(_rank(candidate.comparison) for candidate in candidates)
    chosen = [candidate for candidate in candidates if _rank(candidate.comparison) == best][-1]
    distinct = {(c.expectation.formula, _key(c.expectation.tokens)) for c in candidates}
    if len(distinct) < 2:
        return chosen
    others = sorted(
        {str(c.release) for c in candidates if _key(c.expectation.tokens) != _key(chosen.expectation.tokens)}
    )
    note = f"The log fits several releases whose rules differ; the rules of {chosen.release} are applied" + (
        f" (others in the bracket: {', '.join(others)})" if others else ""
    )
    expectation = replace(chosen.expectation, assumptions=(*chosen.expectation.assumptions, note))
    return replace(chosen, expectation=expectation)


def _rank(comparison: Comparison) -> tuple[int, int]:
    return (ORDER[comparison.status], abs(comparison.gap_tokens or 0))


def _key(tokens: Interval | None) -> tuple[int, int] | None:
    return None if tokens is None else (round(tokens.low), round(tokens.high))
