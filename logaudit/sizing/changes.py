"""Sizing inputs with changed server arguments: what follows from a change, what is assumed, what it needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from packaging.version import Version

from logaudit.interval import Interval
from logaudit.sizing import attention as kinds
from logaudit.sizing import kv_dtype, requests
from logaudit.sizing.arguments import Arguments
from logaudit.sizing.expectation import expect
from logaudit.sizing.model import Expectation, PrintedPool, SizingInputs, StageReadings
from logaudit.sizing.parallel import layout

_WORLD = ("tp_size", "pp_size", "dp_size", "attn_dp_size", "enable_dp_attention", "attn_cp_size", "dcp_size")
_STEPS = 50


@dataclass(frozen=True, slots=True)
class Changed:
    """Inputs after a change."""

    inputs: SizingInputs
    assumptions: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    """What would have to be known for the answer to hold; the expectation of `inputs` means nothing then."""


def with_changes(inputs: SizingInputs, changes: Mapping[str, object], *, release: Version | None = None) -> Changed:
    """The inputs of the same launch with other arguments (by field name) or another release.

    `mem_fraction_static` replaces the fraction; the other names are server arguments as the dump spells them. What was
    printed for the old arguments and depends on a changed one (page size, context length, KV dtype, state slots) is
    dropped, so that it is derived anew. A changed `tp_size` divides the weights that the readings show anew. Without
    a model config the printed pools are rescaled for another KV dtype; head counts per rank cannot be.
    """
    assumptions: list[str] = []
    missing: list[str] = []
    old = Arguments(inputs.args, known=inputs.args_known, release=inputs.release)
    args = {**inputs.args, **{k: v for k, v in changes.items() if k != "mem_fraction_static"}}
    if "attn_dp_size" in inputs.args and {"dp_size", "enable_dp_attention"} & set(changes):
        args = _attention_groups(args)
    if changes.get("speculative_algorithm"):
        known = Arguments(args, known=True, release=release or inputs.release)
        default = requests.speculative_default(known, known.release)
        args = args if default is None else {**args, "max_running_requests": default}
    result = replace(inputs, args=args, printed_mamba_slots=None, printed_requests=None)
    fraction = changes.get("mem_fraction_static")
    if isinstance(fraction, int | float):
        result = replace(result, mem_fraction_static=Interval.exact(float(fraction)), fraction_origin="given")
    if release is not None:
        result = replace(result, release=release)
        assumptions.append(f"the readings would be the same under {release}")
    if "page_size" in changes:
        result = replace(result, page_size=None)
    context = changes.get("context_length")
    if isinstance(context, int):
        result = replace(result, context_length=context)
    if "kv_cache_dtype" in changes:
        result = _other_dtype(result, inputs, old, missing)
    if any(name in changes for name in _WORLD):
        result = _other_world(result, inputs, old, assumptions, missing)
    return Changed(result, tuple(assumptions), tuple(missing))


def _attention_groups(args: Mapping[str, object]) -> dict[str, object]:
    """From 0.5.22 on the groups of DP attention are counted in `attn_dp_size`, separate replicas in `dp_size`."""
    if not args.get("enable_dp_attention"):
        return {**args, "attn_dp_size": 1}
    groups = args.get("dp_size")
    return {**args, "dp_size": 1, "attn_dp_size": groups} if isinstance(groups, int) and groups > 1 else dict(args)


def _other_dtype(result: SizingInputs, before: SizingInputs, old: Arguments, missing: list[str]) -> SizingInputs:
    """Printed pools as they would be in the new type; with a config the cell is computed anew without them."""
    was = kv_dtype.resolve(before, old)
    result = replace(result, kv_dtype=None)
    new = kv_dtype.resolve(result, Arguments(result.args, known=True, release=result.release))
    if before.config is not None:
        return replace(result, pools=tuple(p for p in result.pools if p.gib is None))
    kind, _ = kinds.classify(before, old)
    if was is None or new is None or was.scheme != "plain" or new.scheme != "plain" or kind in {"dsa", "dsv4"}:
        missing.append("the model config (what this KV cache type takes is not in the log)")
        return result
    ratio = new.element_bytes / was.element_bytes

    def rescaled(pool: PrintedPool) -> PrintedPool:
        return pool if pool.gib is None or pool.name.startswith("mamba") else replace(pool, gib=pool.gib * ratio)

    return replace(result, pools=tuple(rescaled(pool) for pool in result.pools))


def _other_world(
    result: SizingInputs, before: SizingInputs, old: Arguments, assumptions: list[str], missing: list[str]
) -> SizingInputs:
    """Readings and pools under another number of ranks; DP attention shares the prefill chunk out, as SGLang does."""
    then = layout(old)
    now = layout(Arguments(result.args, known=True, release=result.release))
    kind, _ = kinds.classify(before, old)
    same_heads = then.attn_tp == now.attn_tp and then.pp == now.pp
    if before.config is None and not same_heads and (kind != "mla" or then.pp != now.pp):
        missing.append("the model config (the heads and layers of one rank change)")
    readings = result.readings
    if then.world != now.world:
        share = then.world / now.world
        readings = tuple(_divided(reading, share) for reading in readings)
        assumptions.append(f"the weights of one rank shrink or grow with the number of ranks: x {share:g}")
        assumptions.append("memory taken by communication stays as it is")
    elif now.attn_dp != then.attn_dp:
        assumptions.append(
            "the weights of one rank stay as they are, though DP attention keeps attention whole on each"
        )
    lowest = _lowest(readings)
    if lowest is not None and then.world != now.world:
        readings = (lowest,)
    chunk = old.whole("chunked_prefill_size")
    if chunk is not None and chunk > 0 and now.attn_dp != then.attn_dp:
        args = {**result.args, "chunked_prefill_size": chunk * then.attn_dp // now.attn_dp}
        result = replace(result, args=args)
    return replace(result, readings=readings, pools=result.pools if before.config is None else ())


def _divided(reading: StageReadings, share: float) -> StageReadings:
    if reading.before_load is None or reading.after_load is None:
        return reading
    return replace(reading, after_load=reading.before_load * (1 - share) + reading.after_load * share)


def _lowest(readings: tuple[StageReadings, ...]) -> StageReadings | None:
    """One rank with the lowest of all readings, standing for ranks that did not run."""
    before = [r.before_load for r in readings if r.before_load is not None]
    after = [r.after_load for r in readings if r.after_load is not None]
    if not before or not after:
        return None
    return StageReadings(None, None, None, Interval.minimum(*before), None, Interval.minimum(*after), None)


def fraction_for_tokens(inputs: SizingInputs, tokens: int) -> Interval | None:
    """The mem_fraction_static from which `tokens` fit, with the rounding's bounds; None where no fraction below 1 does.

    The low bound is the smallest fraction that can give them, the high bound the smallest that surely does.
    """
    free = replace(inputs, args={**inputs.args, "max_total_tokens": None}, printed_mamba_slots=None)

    def answer(fraction: float) -> Expectation:
        return expect(replace(free, mem_fraction_static=Interval.exact(fraction)))

    def smallest(end: str) -> float | None:
        low, high = 0.0, 1.0
        top = answer(high).tokens
        if top is None or getattr(top, end) < tokens:
            return None
        for _ in range(_STEPS):
            middle = (low + high) / 2
            found = answer(middle).tokens
            if found is not None and getattr(found, end) >= tokens:
                high = middle
            else:
                low = middle
        return high

    least, nominal, sure = smallest("high"), smallest("value"), smallest("low")
    if least is None or nominal is None:
        return None
    return Interval(nominal, least, sure if sure is not None else 1.0)
