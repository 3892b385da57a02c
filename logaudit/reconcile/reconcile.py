"""Holds one start against SGLang's formula: release by release of its bracket, with all that follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from logaudit.interval import Interval
from logaudit.launches.model import Launch
from logaudit.reconcile.case import Case
from logaudit.reconcile.causes import with_causes
from logaudit.reconcile.compare import Candidate, Comparison, choose, compare
from logaudit.reconcile.fraction import Fraction, inferred_fraction, share_of_card, stated_fraction
from logaudit.reconcile.inputs import Given, absent_ranks, interval, primary_ranks, sizing_inputs
from logaudit.reconcile.ledger import Ledger, build_ledger
from logaudit.reconcile.naive import Naive, naive_sums
from logaudit.sglang.versions import Bracket
from logaudit.sizing import automatic_fraction, expect
from logaudit.sizing.model import Expectation

REFUSALS = frozenset({"err_not_enough_memory"})
"""Kinds by which SGLang itself refuses a start for want of GPU memory."""


def actual_tokens(launch: Launch, rows: Sequence[Mapping[str, Any]]) -> int | None:
    """max_total_num_tokens of the report's replica: the scheduler's figure, else the target's pool."""
    keys = {(rank.key.pp, rank.key.dp) for rank in primary_ranks(launch)}
    for scheduler in launch.schedulers:
        if not keys or (scheduler.rank.pp, scheduler.rank.dp) in keys or scheduler.rank.dp is None:
            return scheduler.max_total_num_tokens
    pools = [row["kv_tokens"] for row in rows if row["worker"] == "target" and row["kv_tokens"] is not None]
    return min(pools, default=None)


def refused(launch: Launch) -> bool:
    """Whether SGLang itself ended the start for want of GPU memory."""
    return launch.outcome == "crashed" and any(record.kind in REFUSALS for record in launch.records)


def deciding_row(rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The target row with least free memory when the pool was sized."""
    sized = [row for row in rows if row["worker"] == "target" and row["sizing_gib"] is not None]
    if sized:
        return min(sized, key=lambda row: float(row["sizing_gib"]))
    return next((row for row in rows if row["worker"] == "target"), None)


def _taken_gib(row: Mapping[str, Any]) -> Interval | None:
    """What the printed pools of a target row took from the static budget."""
    kv, mamba = interval(row, "kv_gib"), interval(row, "mamba_gib")
    if kv is None:
        return None
    return kv if mamba is None else kv + mamba


def resolve_fraction(
    launch: Launch, rows: Sequence[Mapping[str, Any]], given: Given, bracket: Bracket
) -> tuple[Fraction | None, bool]:
    """The fraction, and whether it leaves something to check.

    A stated fraction does. One inferred from the pools does only when the release's own automatic rule, with the
    GPU's memory, gives a value inside the inferred bounds: then the rule's exact value is used.
    """
    if (stated := stated_fraction(launch)) is not None:
        return stated, True
    row = deciding_row(rows)
    inferred = None
    if row is not None:
        before, after, taken = interval(row, "before_load_gib"), interval(row, "sizing_gib"), _taken_gib(row)
        if before is not None and after is not None and taken is not None:
            inferred = inferred_fraction(before, after, taken)
    if given.gpu_memory_gib is not None and launch.args_origin == "dump":
        for release in reversed(bracket.candidates):
            automatic = automatic_fraction(release, launch.args, given.config, given.gpu_memory_gib)
            if automatic is not None and (inferred is None or inferred.interval.holds(automatic.value)):
                return Fraction(Interval.exact(automatic.value), "inferred", None), True
    return inferred, False


def _ledgers(launch: Launch, expectation: Expectation | None, deciding: Mapping[str, Any] | None) -> tuple[Ledger, ...]:
    """One ledger per rank, that of the deciding rank first."""
    unprinted = {} if expectation is None else expectation.unprinted_gib
    ledgers = [ledger for rank in launch.ranks if (ledger := build_ledger(rank, unprinted)) is not None]
    if deciding is None:
        return tuple(ledgers)
    key = (deciding["tp"], deciding["pp"], deciding["dp"])
    first = [x for x in ledgers if (x.rank.key.tp, x.rank.key.pp, x.rank.key.dp) == key]
    return tuple(first + [x for x in ledgers if x not in first])


def _naive(
    fraction: Fraction | None, row: Mapping[str, Any] | None, expectation: Expectation | None, given: Given
) -> tuple[Naive, ...]:
    if fraction is None or row is None:
        return ()
    before, after = interval(row, "before_load_gib"), interval(row, "sizing_gib")
    if before is None or after is None:
        return ()
    bytes_per_token = None if expectation is None else expectation.bytes_per_token
    return naive_sums(
        fraction.interval,
        before,
        after,
        interval(row, "weights_gib"),
        interval(row, "kv_gib"),
        bytes_per_token,
        given.gpu_memory_gib,
    )


NOTHING = Comparison("not_checkable", None, None, None, None, ("the releases that could have printed this log",))


def reconcile(launch: Launch, rows: Sequence[Mapping[str, Any]], bracket: Bracket, given: Given) -> Case:
    """The case of one start: expectation under the best-fitting release of the bracket, status, ledger, causes."""
    fraction, checkable = resolve_fraction(launch, rows, given, bracket)
    actual = actual_tokens(launch, rows)
    candidates: list[Candidate] = []
    inputs_by_release = {}
    absent = absent_ranks(launch) or ("of which the log does not say how many there are",)
    for release in bracket.candidates:
        inputs = sizing_inputs(launch, rows, release, fraction, given)
        expectation = expect(inputs)
        comparison = compare(expectation, actual, refused=refused(launch))
        if inputs.printed_budget_gib is None:
            comparison = _honest(comparison, fraction, checkable, () if inputs.all_ranks_print else absent)
            comparison = _of_a_stage(comparison, share_of_card(launch))
            comparison = _cut_short(comparison, launch)
        candidates.append(Candidate(release, expectation, comparison))
        inputs_by_release[release] = inputs
    deciding = deciding_row(rows)
    if not candidates:
        return Case(
            launch,
            tuple(rows),
            bracket,
            None,
            fraction,
            given,
            None,
            None,
            NOTHING,
            _ledgers(launch, None, deciding),
            _naive(fraction, deciding, None, given),
            None if deciding is None else interval(deciding, "kv_gib"),
        )
    chosen = choose(candidates)
    case = Case(
        launch=launch,
        rows=tuple(rows),
        bracket=bracket,
        release=chosen.release,
        fraction=fraction,
        given=given,
        inputs=inputs_by_release[chosen.release],
        expectation=chosen.expectation,
        comparison=chosen.comparison,
        ledgers=_ledgers(launch, chosen.expectation, deciding),
        naive=_naive(fraction, deciding, chosen.expectation, given),
        kv_gib=None if deciding is None else interval(deciding, "kv_gib"),
    )
    return with_causes(case)


def _of_a_stage(comparison: Comparison, share: float | None) -> Comparison:
    """A stage of sglang-omni gets a share of the card, from which it takes off what its own process holds already."""
    if share is None:
        return comparison
    why = f"the card's memory and what this stage held of it: its share ({share:g}) is one of the whole card"
    return replace(comparison, status="not_checkable", missing=(why,))


def _cut_short(comparison: Comparison, launch: Launch) -> Comparison:
    """A log that ends among the lines of the pools may lack the line of the pool that the formula speaks of."""
    if launch.outcome != "incomplete" or comparison.status not in {"unexplained", "explained_with_residual"}:
        return comparison
    kinds = [record.kind for record in launch.records]
    if "memory_pool_end" in kinds or "kv_cache_allocated" not in kinds[-2:]:
        return comparison
    return replace(comparison, status="not_checkable", missing=("the rest of the log: it ends among the pools' lines",))


def _honest(comparison: Comparison, fraction: Fraction | None, checkable: bool, absent: tuple[str, ...]) -> Comparison:
    """Takes back a verdict that the log cannot carry; `absent` names the ranks whose readings it lacks."""
    if fraction is None and comparison.status != "not_checkable":
        return replace(comparison, status="not_checkable", missing=("mem_fraction_static",))
    if not checkable and fraction is not None:
        why = "mem_fraction_static: it was inferred from the pool itself, so nothing is left to check"
        return replace(comparison, status="not_checkable", missing=(why,))
    if absent and comparison.status in {"unexplained", "explained_with_residual"}:
        why = f"the readings of the other ranks: {', '.join(absent)}"
        return replace(comparison, status="not_checkable", missing=(why,))
    return comparison
