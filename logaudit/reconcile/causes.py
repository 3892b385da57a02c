"""Why a cache differs from the plain budget: what the release's rules did, and what the log shows beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from packaging.version import Version

from logaudit.interval import GIB, Interval
from logaudit.launches.model import RankReadings
from logaudit.launches.ranks import FREE_KINDS
from logaudit.reconcile.case import Case, Cause
from logaudit.reconcile.compare import Comparison, threshold_gib
from logaudit.reconcile.inputs import interval
from logaudit.sizing.model import Expectation, Term

HEADROOM_UNTIL = Version("0.5.7")
"""The first release that adds no headroom for draft and verify tokens."""

# -- what the formula already holds -----------------------------------------------------------------------------------


def _term(expectation: Expectation | None, name: str) -> Term | None:
    return None if expectation is None else next((term for term in expectation.terms if term.name == name), None)


def _stored(expectation: Expectation) -> Interval | None:
    """Bytes that the pool keeps for a token."""
    return expectation.pool_bytes_per_token or expectation.bytes_per_token


def _args_line(case: Case) -> tuple[int, ...]:
    return () if case.launch.args_line is None else (case.launch.args_line,)


def _pool_lines(case: Case) -> tuple[int, ...]:
    """Lines of the pools that the first rank's target printed."""
    rank = case.rank
    return () if rank is None else tuple(dict.fromkeys(pool.line for pool in rank.workers[0].pools))


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
    if expectation.bytes_per_token is not None and expectation.kv_budget_gib is not None:
        size = Interval.exact(actual) * expectation.bytes_per_token / GIB - expectation.kv_budget_gib
    detail = f"--max-total-tokens {cap} is below the {uncapped.value:,.0f} tokens that the budget holds"
    return Cause("user_cap", size, tokens, _args_line(case), detail)


def _speculative_headroom(case: Case) -> Cause | None:
    """Until 0.5.6 the target's pool takes tokens for drafting and verifying that no budget backs."""
    expectation, actual = case.expectation, case.comparison.actual_tokens
    term = _term(expectation, "speculative headroom")
    if expectation is None or term is None or term.tokens is None or actual is None:
        return None
    each = _stored(expectation)
    if each is None or _user_cap(case) is not None:
        return None
    steps, topk, drafts = (
        case.launch.args.get(f"speculative_{name}") for name in ("num_steps", "eagle_topk", "num_draft_tokens")
    )
    detail = (
        f"requests x ({steps} steps x {topk} + {drafts} draft tokens) + 100 = {term.tokens.value:,.0f} tokens are "
        "added after the budget is divided"
    )
    if any(release >= HEADROOM_UNTIL for release in case.bracket.candidates):
        detail += f"; releases from {HEADROOM_UNTIL} on add none, the log leaves open whether this is one of them"
    return Cause("speculative_headroom", term.tokens * each / GIB, term.tokens.value, _args_line(case), detail)


def _stored_beyond_formula(case: Case) -> Cause | None:
    """A pool that keeps more bytes for a token than the formula counts takes them from the reserve."""
    expectation, actual = case.expectation, case.comparison.actual_tokens
    if expectation is None or actual is None:
        return None
    term, stored = _term(expectation, "pool over its budget"), expectation.pool_bytes_per_token
    counted = expectation.bytes_per_token
    if term is None or stored is None or counted is None or stored.value <= counted.value:
        return None
    on_npu = case.inputs is not None and case.inputs.device == "npu"
    size = _difference(case, stored, counted, actual)
    if on_npu:
        detail = "the indexer's keys are kept in bf16, the formula counts them as 8 bits with a scale"
        return Cause("indexer_dtype", size, None, _pool_lines(case), detail)
    detail = "the pool keeps block scales beside FP8 latent vectors, the formula does not count them"
    return Cause("fp8_scales_uncounted", size, None, _pool_lines(case), detail)


def _difference(case: Case, stored: Interval, counted: Interval, actual: int) -> Interval:
    """What the pool of `actual` tokens takes beyond what the formula counts for them.

    Where both were read off one printed pool their ratio is exact, so only one of them carries the rounding.
    """
    if case.expectation is not None and case.expectation.bytes_from_log:
        return stored * (1 - counted.value / stored.value) * float(actual) / GIB
    return (stored - counted) * float(actual) / GIB


def _scales_beside_the_line(case: Case) -> Cause | None:
    """FP4 pools of the releases print values without scales: the memory after the pool shows what they take."""
    inputs, row = case.inputs, case.row
    if inputs is None or row is None or case.kv_gib is None or inputs.pools_taken_gib is None:
        return None
    if not _is_fp4(case) or inputs.pools_taken_gib.high < case.kv_gib.low * FP4_WITH_SCALES:
        return None
    taken = inputs.pools_taken_gib
    scales = case.kv_gib * (FP4_WITH_SCALES - 1)
    lines = (*_pool_lines(case), *(() if row["pool_end_line"] is None else (row["pool_end_line"],)))
    detail = (
        f"the pool prints {case.kv_gib.value:.2f} GiB of values, allocation took {taken.value:.2f}: one byte of scale "
        f"for 16 values is {scales.value:.2f} GiB of it"
    )
    return Cause("fp4_scales_not_printed", scales, None, lines, detail)


FP4_WITH_SCALES = 1.125
"""Values of half a byte, and a scale of one byte for 16 of them."""


def _is_fp4(case: Case) -> bool:
    row = case.row
    names = (None if row is None else row["kv_dtype"], case.launch.args.get("kv_cache_dtype"))
    return any(isinstance(name, str) and ("fp4" in name or "float4" in name) for name in names)


# -- what closes a gap ------------------------------------------------------------------------------------------------


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


def _shared_gpu_memory(case: Case) -> Cause | None:
    """A GPU of which nvidia-smi tells no memory, as where it shares the host's: its free memory drifts by itself.

    How far is read off two readings between which nothing was allocated; where the log has no such pair, the cause
    is named without a size.
    """
    fallback = next((record for record in case.launch.records if record.kind == "gpu_mem_fallback"), None)
    if fallback is None or case.comparison.gap_gib is None or case.comparison.gap_tokens in (None, 0):
        return None
    drift, lines = _idle_drift(case.rank)
    size = None
    if drift is not None:
        size = Interval(-drift / 2, -drift, 0.0) if case.comparison.gap_gib.value < 0 else Interval(drift / 2, 0, drift)
    detail = (
        "nvidia-smi tells no memory for this GPU, as where it shares the host's: free memory changes between the last "
        "reading and the sizing of the pool"
    )
    return Cause("shared_gpu_memory", size, None, (fallback.line, *lines), detail)


def _idle_drift(rank: RankReadings | None) -> tuple[float | None, tuple[int, ...]]:
    """The largest change between two readings of free memory with no allocation between them: GiB, and both lines."""
    if rank is None:
        return None, ()
    free = [record for record in rank.readings if record.kind in FREE_KINDS | {"kv_cache_allocated"}]
    found: tuple[float | None, tuple[int, ...]] = (None, ())
    for first, second in pairwise(free):
        if (first.kind, second.kind) not in IDLE_PAIRS:
            continue
        before, after = first.fields.get("avail_gib"), second.fields.get("avail_gib")
        if not isinstance(before, Interval) or not isinstance(after, Interval):
            continue
        change = before - after
        size = max(abs(change.low), abs(change.high))
        if found[0] is None or size > found[0]:
            found = (size, (first.line, second.line))
    return found


IDLE_PAIRS = frozenset(
    {("load_weight_end", "load_weight_begin"), ("capture_end", "scheduler_ready"), ("capture_end", "load_weight_begin")}
)
"""Kinds of two readings in a row between which a rank allocates nothing."""


def _uneven_ranks(case: Case) -> Cause | None:
    """Ranks that size their pools each by its own readings, where the formula takes the lowest of all."""
    rows = [row for row in case.rows if row["worker"] == "target" and row["kv_tokens"] is not None]
    row = _counted_row(case)
    if row is None or case.fraction is None or len(rows) < 2:
        return None
    stage = [other for other in rows if (other["pp"], other["dp"]) == (row["pp"], row["dp"])]
    if len({other["kv_tokens"] for other in stage}) < 2:
        return None
    budgets = []
    for other in stage:
        before, after = interval(other, "before_load_gib"), interval(other, "sizing_gib")
        if before is None or after is None:
            return None
        budgets.append(after - before * (1 - case.fraction.interval))
    own = budgets[stage.index(row)]
    size = own - Interval.minimum(*budgets)
    lines = tuple(other["pool_line"] for other in stage if other["pool_line"] is not None)
    counts = sorted({other["kv_tokens"] for other in stage})
    detail = f"the ranks hold between {counts[0]:,} and {counts[-1]:,} tokens: each sized its pool by its own readings"
    return Cause("uneven_ranks", Interval(max(0.0, size.value), max(0.0, size.low), size.high), None, lines[:8], detail)


def _counted_row(case: Case) -> Mapping[str, Any] | None:
    """The target row whose pool holds the tokens that the start reports."""
    rows = [row for row in case.rows if row["worker"] == "target"]
    return next((row for row in rows if row["kv_tokens"] == case.comparison.actual_tokens), None)


# -- what speaks against the lines themselves -------------------------------------------------------------------------


def _inconsistent_lines(case: Case) -> Cause | None:
    """Printed pools whose size is not that of their own tokens: one of the two figures is not what was allocated."""
    expectation = case.expectation
    if expectation is None or not expectation.inconsistent:
        return None
    return Cause("inconsistent_lines", None, None, _pool_lines(case), "; ".join(expectation.inconsistent))


EXPLANATIONS = (_shared_host_memory, _uneven_ranks)
"""Rules that can close a gap, each with its own bounds."""

RESIDUAL = (_shared_gpu_memory,)
"""Rules that say what a gap of any size may come from, and can close it."""

EFFECTS = (_user_cap, _speculative_headroom, _stored_beyond_formula, _scales_beside_the_line)
"""Rules that say what lies outside the plain budget; the formula already holds them."""

CONTRADICTIONS = (_inconsistent_lines,)
"""Rules that find figures of the log at odds with each other: then nothing is explained."""


Rule = Callable[[Case], Cause | None]


def causes_of(case: Case) -> tuple[Cause, ...]:
    """Every cause that applies, in the order of the rules."""
    rules: tuple[Rule, ...] = CONTRADICTIONS + EFFECTS
    if case.comparison.status == "unexplained":
        rules += EXPLANATIONS
    if case.comparison.status in ("unexplained", "explained_with_residual"):
        rules += RESIDUAL
    return tuple(cause for rule in rules if (cause := rule(case)) is not None)


def settled(case: Case) -> Comparison:
    """The comparison once the causes of a gap are taken into account.

    A gap that the causes' own bounds close, but for a residual, is explained with a residual: no wider claim is
    made, because a cause's bounds are wider than the rounding of the log's figures. Lines that contradict each other
    leave nothing explained, whatever decides the count.
    """
    comparison, expectation = case.comparison, case.expectation
    codes = {cause.code for cause in case.causes}
    if codes & CONTRADICTION_CODES and comparison.status in ("explained", "explained_with_residual"):
        return replace(comparison, status="unexplained")
    if comparison.status != "unexplained" or comparison.gap_gib is None or expectation is None:
        return comparison
    closing = [cause.gib for cause in case.causes if cause.gib is not None and cause.code not in EFFECT_CODES]
    if not closing or codes & CONTRADICTION_CODES:
        return comparison
    left = _left(comparison.gap_gib, closing)
    return replace(comparison, status="explained_with_residual") if left < threshold_gib(expectation) else comparison


def _left(gap: Interval, closing: Sequence[Interval]) -> float:
    """GiB of a gap that the causes do not close."""
    rest = gap - sum(closing[1:], closing[0])
    return max(rest.low, -rest.high, 0.0)


EFFECT_CODES = frozenset(
    {"user_cap", "speculative_headroom", "indexer_dtype", "fp8_scales_uncounted", "fp4_scales_not_printed"}
)
CONTRADICTION_CODES = frozenset({"inconsistent_lines"})


def with_causes(case: Case) -> Case:
    """The case with its causes, and its status in their light."""
    caused = replace(case, causes=causes_of(case))
    return replace(caused, comparison=settled(caused))
