"""Why a cache differs from the plain budget: what the release's rules did, and what the log shows beside them."""

from __future__ import annotations

from dataclasses import replace

from logaudit.interval import GIB, Interval
from logaudit.reconcile.case import Case, Cause
from logaudit.reconcile.compare import Comparison, threshold_gib


def _user_cap(case: Case) -> Cause | None:
    """`--max-total-tokens` below what the budget holds."""
    expectation, actual = case.expectation, case.comparison.actual_tokens
    cap = case.launch.args.get("max_total_tokens")
    if expectation is None or actual is None or not isinstance(cap, int) or isinstance(cap, bool):
        return None
    uncapped = expectation.tokens_uncapped
    if uncapped is None or uncapped.low <= cap:
        return None
    tokens = actual - uncapped.value
    size = None
    if expectation.bytes_per_token is not None:
        size = (Interval.exact(actual) - uncapped) * expectation.bytes_per_token / GIB
    line = case.launch.args_line
    detail = f"--max-total-tokens {cap} is below the {uncapped.value:,.0f} tokens that the budget holds"
    return Cause("user_cap", size, tokens, () if line is None else (line,), detail)


def _inconsistent_lines(case: Case) -> Cause | None:
    """A pool's printed size contradicts its tokens under the model's config: another model, or altered figures."""
    expectation = case.expectation
    if expectation is None or not expectation.inconsistent:
        return None
    lines = tuple(pool.line for pool in (case.inputs.pools if case.inputs else ()) if pool.gib is not None)
    return Cause("inconsistent_lines", None, None, lines[:2], "; ".join(expectation.inconsistent))


def _shared_host_memory(case: Case) -> Cause | None:
    """On a CPU free memory is the host's: what ranks and other processes took before the pool was sized is in no line.

    The reading after the pool, plus the pool itself, is the least that can have been free when it was sized.
    """
    row, gap = case.row, case.comparison.gap_gib
    if case.inputs is None or case.inputs.device != "cpu" or row is None or gap is None or gap.value >= 0:
        return None
    if row["pool_end_gib"] is None or row["sizing_gib"] is None or case.kv_gib is None:
        return None
    least = min(0.0, row["pool_end_gib"] + case.kv_gib.value - row["sizing_gib"])
    lines = tuple(line for line in (row["sizing_line"], row["pool_end_line"]) if line is not None)
    detail = "free memory on a CPU is the host's and changes between the last reading and the sizing of the pool"
    return Cause("shared_host_memory", Interval(least / 2, least, 0.0), None, lines, detail)


EXPLANATIONS = (_shared_host_memory,)
"""Rules that can close a gap, each with its own bounds."""

EFFECTS = (_user_cap, _inconsistent_lines)
"""Rules that say what limited the cache; the formula already holds them."""


def causes_of(case: Case) -> tuple[Cause, ...]:
    """Every cause that applies, in the order of the rules."""
    rules = EFFECTS + (EXPLANATIONS if case.comparison.status == "unexplained" else ())
    return tuple(cause for rule in rules if (cause := rule(case)) is not None)


def settled(case: Case) -> Comparison:
    """The comparison once the causes of a gap are taken into account.

    A gap that the causes' own bounds close, but for a residual, is explained with a residual: no wider claim is
    made, because a cause's bounds are wider than the rounding of the log's figures.
    """
    comparison, expectation = case.comparison, case.expectation
    if comparison.status != "unexplained" or comparison.gap_gib is None or expectation is None:
        return comparison
    if expectation.inconsistent:
        return comparison
    closing = [cause.gib for cause in case.causes if cause.gib is not None and cause.code not in EFFECT_CODES]
    if not closing:
        return comparison
    rest = comparison.gap_gib - sum(closing[1:], closing[0])
    left = max(rest.low, -rest.high, 0.0)
    return replace(comparison, status="explained_with_residual") if left < threshold_gib(expectation) else comparison


EFFECT_CODES = frozenset({"user_cap", "inconsistent_lines"})


def with_causes(case: Case) -> Case:
    """The case with its causes, and its status in their light."""
    caused = replace(case, causes=causes_of(case))
    return replace(caused, comparison=settled(caused))
