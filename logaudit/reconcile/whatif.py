"""The same start under other arguments: what the formula would give, and what would be left at the end."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from packaging.version import Version

from logaudit.interval import GIB, Interval
from logaudit.reconcile.case import Case
from logaudit.sizing import automatic_fraction, expect
from logaudit.sizing.changes import fraction_for_tokens, with_changes
from logaudit.sizing.model import Expectation, SizingInputs, Term

DRAFT_COUNTED_SINCE = Version("0.5.14")
"""From here on bytes per token hold the draft's share; before, the draft's pool grows beside the target's."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Capacity under one set of arguments."""

    tokens: Interval | None
    swa_tokens: Interval | None
    max_running_requests: int | None
    headroom_gib: Interval | None
    """Free memory of the deciding rank once everything is allocated."""
    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Today's capacity beside that of a change."""

    today: Figures
    changed: Figures
    changes: Mapping[str, object]
    """The arguments that differ, by field name; a fraction solved for is among them."""
    assumptions: tuple[str, ...]
    missing: tuple[str, ...]


def _requests(expectation: Expectation, capped_at: int | None = None) -> int | None:
    bounds = expectation.max_running_requests
    return capped_at if bounds is None else int(bounds.value)


def _pools_gib(expectation: Expectation) -> Interval | None:
    """What the pools of a target take: tokens at their bytes, and the state."""
    if expectation.tokens is None or expectation.bytes_per_token is None:
        return None
    size = expectation.tokens * expectation.bytes_per_token / GIB
    return size if expectation.mamba_gib is None else size + expectation.mamba_gib


def _draft_gib(case: Case) -> Interval | None:
    """The draft pools that the deciding rank printed and bytes per token do not hold."""
    rank = case.rank
    if rank is None or (case.release is not None and case.release >= DRAFT_COUNTED_SINCE):
        return None
    sizes = [pool.gib for worker in rank.workers[1:] for pool in worker.pools if pool.gib is not None]
    return sum(sizes[1:], sizes[0]) if sizes else None


def _unprinted(expectation: Expectation) -> Interval:
    return sum(expectation.unprinted_gib.values(), Interval.exact(0.0))


def _dtype_bytes(inputs: SizingInputs) -> float:
    """Bytes of one element of the target's cache, for scaling a draft pool that follows it."""
    name = str(inputs.args.get("kv_cache_dtype") or inputs.kv_dtype or "")
    return 1.0 if "fp8" in name or "float8" in name else 0.5625 if "fp4" in name or "float4" in name else 2.0


def headroom(case: Case, before: Expectation, after: Expectation, inputs: SizingInputs) -> Interval | None:
    """What would be left at the end: today's last reading, less what the pools and tables grow by."""
    free = case.ledgers[0].free if case.ledgers else None
    old, new = _pools_gib(before), _pools_gib(after)
    if free is None or old is None or new is None or before.tokens is None or after.tokens is None:
        return None
    grown = new - old
    nominal = new.value - old.value
    if case.inputs is None:
        return None
    if (draft := _draft_gib(case)) is not None and before.tokens.value > 0:
        share = _dtype_bytes(inputs) / _dtype_bytes(case.inputs)
        counted = inputs.release >= DRAFT_COUNTED_SINCE
        nominal += draft.value * ((0.0 if counted else after.tokens.value / before.tokens.value * share) - 1)
    if tuple(inputs.readings) != tuple(case.inputs.readings) and inputs.release == case.inputs.release:
        nominal -= _lowest_after(inputs) - _lowest_after(case.inputs)
    nominal += _unprinted(after).value - _unprinted(before).value
    spread = max(grown.width / 2, free.width / 2)
    return Interval(free.value - nominal, free.value - nominal - spread, free.value - nominal + spread)


def _lowest_after(inputs: SizingInputs) -> float:
    """Free memory when the pool is sized, of the rank that has least."""
    return min((r.after_load.value for r in inputs.readings if r.after_load is not None), default=0.0)


def _with_draft_first(case: Case, inputs: SizingInputs) -> SizingInputs:
    """From 0.5.14 the draft's weights are loaded before the pool is sized: the readings less those weights."""
    rank = case.rank
    if rank is None or case.release is None or not case.release < DRAFT_COUNTED_SINCE <= inputs.release:
        return inputs
    weights = [worker.weights.gib for worker in rank.workers[1:] if worker.weights is not None]
    if not weights:
        return inputs
    taken = sum(weights[1:], weights[0])
    readings = tuple(
        r if r.after_load is None else replace(r, after_load=r.after_load - taken) for r in inputs.readings
    )
    return replace(inputs, readings=readings)


def _figures(expectation: Expectation, left: Interval | None, requests: int | None) -> Figures:
    return Figures(expectation.tokens, expectation.swa_tokens, requests, left, expectation.terms)


def today(case: Case) -> Figures:
    """Today's figures: as printed where the log has them, else as the formula gives them."""
    expectation, actual = case.expectation, case.comparison.actual_tokens
    row = case.row
    tokens = None if expectation is None else expectation.tokens
    swa = None if expectation is None else expectation.swa_tokens
    requests = None if row is None or row["max_running_requests"] is None else int(row["max_running_requests"])
    if requests is None and expectation is not None:
        requests = _requests(expectation)
    left = case.ledgers[0].free if case.ledgers else None
    return Figures(
        tokens if actual is None else Interval.exact(actual),
        Interval.exact(row["swa_tokens"]) if row is not None and row["swa_tokens"] is not None else swa,
        requests,
        left,
        () if expectation is None else expectation.terms,
    )


def _rule(case: Case, inputs: SizingInputs, gpu_memory_gib: float) -> float | None:
    mla = None if case.expectation is None else case.expectation.attention in {"mla", "dsa"}
    found = automatic_fraction(inputs.release, inputs.args, inputs.config, gpu_memory_gib, inputs.device, mla=mla)
    return None if found is None else found.value


def _automatic(case: Case, inputs: SizingInputs) -> tuple[SizingInputs, str]:
    """A fraction that SGLang chose by itself is chosen anew under other arguments.

    Whether it did is only known with the GPU's memory: then the release's rule gives today's fraction exactly.
    """
    memory, fraction = case.given.gpu_memory_gib, case.fraction
    if memory is None or fraction is None or case.inputs is None:
        return inputs, ""
    now, then = _rule(case, case.inputs, memory), _rule(case, inputs, memory)
    if now is None or then is None or abs(now - fraction.interval.value) > 1e-9 or then == now:
        return inputs, ""
    note = f"mem_fraction_static was chosen by SGLang ({now:.4g}); under these arguments it chooses {then:.4g}"
    return replace(inputs, mem_fraction_static=Interval.exact(then)), note


EMPTY = Figures(None, None, None, None, ())


def what_if(
    case: Case, changes: Mapping[str, object], *, release: Version | None = None, tokens: int | None = None
) -> WhatIf:
    """The start under changed arguments (by field name) or another release; `tokens` solves for the fraction.

    A fraction that is solved for is the smallest with three decimals that surely holds the tokens. Nothing is
    computed where the start itself could not be: `missing` says why.
    """
    now = today(case)
    if case.inputs is None or case.expectation is None:
        return WhatIf(now, EMPTY, changes, (), case.comparison.missing or ("the inputs of the formula",))
    changed = with_changes(case.inputs, changes, release=release)
    inputs, said = _with_draft_first(case, changed.inputs), list(changed.assumptions)
    wanted = dict(changes)
    if changed.missing:
        return WhatIf(now, EMPTY, wanted, tuple(said), changed.missing)
    if "mem_fraction_static" not in changes and tokens is None:
        inputs, note = _automatic(case, inputs)
        said += [note] if note else []
    if tokens is not None:
        fraction = fraction_for_tokens(inputs, tokens)
        if fraction is None or math.ceil(fraction.high * 1000) >= 1000:
            why = f"no mem_fraction_static below 1 holds {tokens:,} tokens: the weights leave too little"
            return WhatIf(now, EMPTY, wanted, tuple(said), (why,))
        solved = math.ceil(fraction.high * 1000 - 1e-9) / 1000
        wanted["mem_fraction_static"] = solved
        inputs = replace(inputs, mem_fraction_static=Interval.exact(solved), fraction_origin="given")
    expectation = expect(inputs)
    left = headroom(case, case.expectation, expectation, inputs)
    said += [text for text in expectation.assumptions if text not in said]
    if left is not None and left.low < 0:
        said.append("more is allocated than there is: the start would run out of memory")
    figures = _figures(expectation, left, _requests(expectation))
    return WhatIf(now, figures, wanted, tuple(said), expectation.missing)
