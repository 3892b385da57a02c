"""Which change between two starts accounts for how many tokens: the formula again, with one input changed at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from logaudit.interval import Interval
from logaudit.reconcile.case import Case
from logaudit.reconcile.compare_starts import IRRELEVANT, MEMORY_ARGUMENTS
from logaudit.sizing import expect
from logaudit.sizing.model import SizingInputs, StageReadings

PARALLEL = (
    "tp_size",
    "pp_size",
    "dp_size",
    "attn_dp_size",
    "enable_dp_attention",
    "attn_cp_size",
    "dcp_size",
    "ep_size",
    "moe_dp_size",
    "moe_dense_tp_size",
    "nnodes",
)
CACHE_TYPE = ("kv_cache_dtype",)
MODEL = ("model_path", "quantization", "dtype", "json_model_override_args", "load_format")
LAST = ("max_total_tokens",)
"""A limit comes after everything that it limits."""

REST = "other figures that the log prints"
"""The last change, which takes over whatever no other one did."""
LEAST_TOKENS = 0.5
"""A change that moves less has no part in it."""

Change = Callable[[SizingInputs, SizingInputs], SizingInputs]
"""Takes one kind of input over from the second inputs into the first."""


@dataclass(frozen=True, slots=True)
class Factor:
    """One thing that differs between two starts."""

    name: str
    before: str
    after: str
    change: Change


@dataclass(frozen=True, slots=True)
class Share:
    """How many tokens one change accounts for."""

    name: str
    before: str
    after: str
    tokens: float
    """In this order: after the changes above it and before those below."""
    first_tokens: float | None
    """As the only change to the first start; None where the formula gives nothing then."""
    last_tokens: float | None
    """As the last of all changes: the second start less the same start without it."""

    @property
    def depends_on_order(self) -> bool:
        """Whether the figure would be another one in another place, by more than a page or two of tokens."""
        others = [value for value in (self.first_tokens, self.last_tokens) if value is not None]
        return any(abs(value - self.tokens) > max(64.0, abs(self.tokens) * 0.02) for value in others)


@dataclass(frozen=True, slots=True)
class Attribution:
    """The change of capacity, taken apart; the shares and the rest add up to it."""

    shares: tuple[Share, ...]
    expected_before: Interval | None
    expected_after: Interval | None
    rest_tokens: float | None
    """By how much more the printed count changed than the formula's: rounding, or a gap that it does not explain."""
    together_tokens: float | None
    """What the changes do only together: the whole less the sum of each one alone."""
    missing: tuple[str, ...] = ()
    """Why nothing could be computed."""
    assumptions: tuple[str, ...] = ()


def attribute(before: Case, after: Case) -> Attribution:
    """The tokens between two starts by the change that accounts for them; nothing is computed that cannot be."""
    missing = [
        f"{name} start: {text}"
        for name, case in (("first", before), ("second", after))
        for text in (case.expectation.missing if case.expectation is not None else case.comparison.missing)
    ]
    a, b = before.inputs, after.inputs
    if a is None or b is None or missing or _tokens(a) is None or _tokens(b) is None:
        return Attribution((), None, None, None, None, tuple(missing) or ("the inputs of the formula",))
    factors = [*_factors(a, b), _rest_factor()]
    shares = _shares(a, b, factors)
    start, end = _tokens(a) or 0.0, _tokens(b) or 0.0
    alone = [share.first_tokens for share in shares if share.name != REST]
    together = None if None in alone else (end - start) - sum(value for value in alone if value is not None)
    actual_before, actual_after = before.comparison.actual_tokens, after.comparison.actual_tokens
    rest = None
    if actual_before is not None and actual_after is not None:
        rest = (actual_after - actual_before) - (end - start)
    said = dict.fromkeys((*expect(a).assumptions, *expect(b).assumptions))
    return Attribution(shares, expect(a).tokens, expect(b).tokens, rest, together, (), tuple(said))


def _tokens(inputs: SizingInputs) -> float | None:
    found = expect(inputs)
    return None if found.tokens is None or found.missing else found.tokens.value


def _shares(a: SizingInputs, b: SizingInputs, factors: Sequence[Factor]) -> tuple[Share, ...]:
    """Changes one after the other; one after which the formula gives nothing is told together with the next."""
    shares: list[Share] = []
    now, reached = a, _tokens(a)
    waiting: list[Factor] = []
    for factor in factors:
        now = factor.change(now, b)
        waiting.append(factor)
        tokens = _tokens(now)
        if tokens is None or reached is None:
            continue
        difference = tokens - reached
        group, waiting, reached = waiting, [], tokens
        # The last takes over all that is left, so it has no figure of its own in another place.
        first, final = (None, None) if factor is factors[-1] else _alone(a, b, group)
        if max(abs(difference), abs(first or 0.0), abs(final or 0.0)) < LEAST_TOKENS:
            continue
        shares.append(
            Share(
                " and ".join(part.name for part in group),
                ", ".join(part.before for part in group if part.before),
                ", ".join(part.after for part in group if part.after),
                difference,
                first,
                final,
            )
        )
    return tuple(shares)


def _alone(a: SizingInputs, b: SizingInputs, group: Sequence[Factor]) -> tuple[float | None, float | None]:
    only, without = a, b
    for factor in group:
        only = factor.change(only, b)
        without = factor.change(without, a)
    start, end = _tokens(a), _tokens(b)
    first, final = _tokens(only), _tokens(without)
    return (
        None if first is None or start is None else first - start,
        None if final is None or end is None else end - final,
    )


def _factors(a: SizingInputs, b: SizingInputs) -> list[Factor]:
    """What differs, in the order in which a start meets it: release, model, layout, memory, fraction, limits."""
    found: list[Factor] = []
    if a.release != b.release:
        found.append(Factor("SGLang's rules", str(a.release), str(b.release), _take("release")))
    found += _layout_factors(a, b)
    found += _memory_factors(a, b)
    if a.mem_fraction_static != b.mem_fraction_static:
        take = _take("mem_fraction_static", "fraction_origin", args=("mem_fraction_static",))
        found.append(Factor("--mem-fraction-static", _fraction(a), _fraction(b), take))
    told = {*PARALLEL, *CACHE_TYPE, *MODEL, *LAST, *IRRELEVANT, "mem_fraction_static"}
    names = [name for name in differing_arguments(a.args, b.args) if name not in told and not _speculative(name)]
    known = [name for name in MEMORY_ARGUMENTS if name in names]
    fields = {"page_size": ("page_size",), "context_length": ("context_length",)}
    for name in known:
        take = _take(*fields.get(name, ()), args=(name,))
        found.append(Factor(_flag(name), _shown(a.args.get(name)), _shown(b.args.get(name)), take))
    others = tuple(name for name in names if name not in known)
    if others:
        found.append(Factor("other arguments", "", f"{len(others)} of them", _take(args=others)))
    for name in LAST:
        if a.args.get(name) != b.args.get(name):
            found.append(Factor(_flag(name), _shown(a.args.get(name)), _shown(b.args.get(name)), _take(args=(name,))))
    return found


def _layout_factors(a: SizingInputs, b: SizingInputs) -> list[Factor]:
    """Model, parallelism, draft and type of the cache.

    Without a model config bytes per token come from the printed pools, which follow all four: they are one change then.
    """
    model_fields = ("config", "architecture", "dsv4_bytes_per_token", "dsv4_fixed_gib")
    draft_fields = ("draft_config", "draft_architecture", "draft_kv_dtype")
    draft_args = tuple(sorted(name for name in {*a.args, *b.args} if _speculative(name)))
    found: list[Factor] = []
    if a.args.get("model_path") != b.args.get("model_path") or a.architecture != b.architecture or a.config != b.config:
        names = (_model(a), _model(b))
        found.append(Factor("the model", *names, _take(*model_fields, args=MODEL)))
    elif _differ(a, b, MODEL):
        found.append(Factor("the model's types", *_texts(a, b, MODEL), _take(args=MODEL)))
    if _differ(a, b, PARALLEL):
        found.append(Factor("parallelism", *_texts(a, b, PARALLEL), _parallel))
    if _differ(a, b, draft_args) or a.draft_config != b.draft_config:
        name = "speculative_algorithm"
        shown = (_shown(a.args.get(name)), _shown(b.args.get(name)))
        found.append(Factor("speculative decoding", *shown, _take(*draft_fields, args=draft_args)))
    if a.kv_dtype != b.kv_dtype or _differ(a, b, CACHE_TYPE):
        shown = (_cache_type(a), _cache_type(b))
        found.append(Factor("--kv-cache-dtype", *shown, _take("kv_dtype", args=CACHE_TYPE)))
    if not found or (a.config is not None and b.config is not None):
        return found
    one = " and ".join(factor.name for factor in found)
    before, after = (
        ", ".join(filter(None, texts)) for texts in zip(*((f.before, f.after) for f in found), strict=True)
    )
    changes = [factor.change for factor in found]

    def all_at_once(into: SizingInputs, source: SizingInputs) -> SizingInputs:
        for change in changes:
            into = change(into, source)
        return replace(into, pools=source.pools)

    return [Factor(one, before, after, all_at_once)]


def _memory_factors(a: SizingInputs, b: SizingInputs) -> list[Factor]:
    found: list[Factor] = []
    old, new = _lowest(a.readings), _lowest(b.readings)
    if old is None or new is None:
        return found
    if [_figures(r)[0] for r in a.readings] != [_figures(r)[0] for r in b.readings]:
        found.append(Factor("free before loading", _gib(old.before_load), _gib(new.before_load), _free))
    if [_figures(r) for r in a.readings] != [_figures(r) for r in b.readings]:
        found.append(Factor("taken while loading", _gib(_taken(old)), _gib(_taken(new)), _loaded))
    return found


def _rest_factor() -> Factor:
    """Whatever the log prints besides: reserves, the resolved page size, pools, request counts."""
    return Factor(REST, "", "", lambda _, source: source)


def _take(*fields: str, args: Sequence[str] = ()) -> Change:
    def change(into: SizingInputs, source: SizingInputs) -> SizingInputs:
        merged = {name: value for name, value in into.args.items() if name not in args}
        merged |= {name: source.args[name] for name in args if name in source.args}
        taken = {name: getattr(source, name) for name in fields}
        # A budget that the build printed would hide every change of what it was computed from.
        return replace(into, args=merged, printed_budget_gib=None, **taken)

    return change


def _parallel(into: SizingInputs, source: SizingInputs) -> SizingInputs:
    """The other layout: its ranks, each with the lowest readings there were, where there are other ranks."""
    into = _take("all_ranks_print", args=PARALLEL)(into, source)
    if _keys(into.readings) == _keys(source.readings):
        return into
    lowest = _lowest(into.readings)
    if lowest is None:
        return into
    readings = tuple(
        replace(reading, before_load=lowest.before_load, after_load=lowest.after_load) for reading in source.readings
    )
    return replace(into, readings=readings)


def _free(into: SizingInputs, source: SizingInputs) -> SizingInputs:
    """The other free memory before loading, with the same taken by loading."""
    return _with_readings(into, source, lambda reading, other: (other.before_load, _taken(reading)))


def _loaded(into: SizingInputs, source: SizingInputs) -> SizingInputs:
    """The same free memory before loading, with as much taken by loading as in the other start."""
    return _with_readings(into, source, lambda reading, other: (reading.before_load, _taken(other)))


def _with_readings(
    into: SizingInputs,
    source: SizingInputs,
    choose: Callable[[StageReadings, StageReadings], tuple[Interval | None, Interval | None]],
) -> SizingInputs:
    """Each rank with the free memory and the taken memory that `choose` gives for it and its like, nominal figures."""
    into = _take()(into, source)
    theirs = dict(zip(_keys(source.readings), source.readings, strict=True))
    lowest = _lowest(source.readings)
    readings = []
    for key, reading in zip(_keys(into.readings), into.readings, strict=True):
        other = theirs.get(key, lowest)
        before, taken = (None, None) if other is None else choose(reading, other)
        if before is not None and taken is not None:
            reading = replace(reading, before_load=before, after_load=before - Interval.exact(taken.value))
        readings.append(reading)
    return replace(into, readings=tuple(readings))


def _keys(readings: Sequence[StageReadings]) -> list[tuple[int | None, int | None, int | None]]:
    return [(reading.tp, reading.pp, reading.dp) for reading in readings]


def _figures(reading: StageReadings) -> tuple[Interval | None, Interval | None]:
    return reading.before_load, reading.after_load


def _taken(reading: StageReadings) -> Interval | None:
    if reading.before_load is None or reading.after_load is None:
        return None
    return reading.before_load - reading.after_load


def _lowest(readings: Sequence[StageReadings]) -> StageReadings | None:
    """The rank with least free memory when its pool was sized."""
    known = [reading for reading in readings if reading.before_load is not None and reading.after_load is not None]
    return min(known, key=lambda reading: reading.after_load.value if reading.after_load else 0.0, default=None)


def differing_arguments(a: Mapping[str, object], b: Mapping[str, object]) -> list[str]:
    """Names whose values differ; one that a release does not know yet counts as off, or as one of its kind."""
    return sorted(name for name in {*a, *b} if _worth(name, a) != _worth(name, b) and not name.startswith("_"))


def _worth(name: str, args: Mapping[str, object]) -> object:
    value = args.get(name)
    return None if value is False or (value == 1 and name in PARALLEL) else value


def _differ(a: SizingInputs, b: SizingInputs, names: Sequence[str]) -> bool:
    return bool(set(names) & set(differing_arguments(a.args, b.args)))


def _texts(a: SizingInputs, b: SizingInputs, names: Sequence[str]) -> tuple[str, str]:
    differing = differing_arguments(a.args, b.args)
    changed = [name for name in names if name in differing]
    before, after = (", ".join(f"{_flag(n)} {_shown(i.args.get(n))}" for n in changed) for i in (a, b))
    return before, after


def _speculative(name: str) -> bool:
    return name.startswith("speculative_") or name == "enable_multi_layer_eagle"


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _shown(value: object) -> str:
    return "not given" if value is None else str(value)[:80]


def _fraction(inputs: SizingInputs) -> str:
    value = inputs.mem_fraction_static
    return "unknown" if value is None else f"{value.value:.4g}"


def _gib(value: Interval | None) -> str:
    return "unknown" if value is None else f"{value.value:.2f} GiB"


def _model(inputs: SizingInputs) -> str:
    path = inputs.args.get("model_path")
    return str(path)[:120] if isinstance(path, str) else inputs.architecture or "unknown"


def _cache_type(inputs: SizingInputs) -> str:
    asked = inputs.args.get("kv_cache_dtype")
    printed = (inputs.kv_dtype or "").removeprefix("torch.")
    return f"{asked or 'auto'} ({printed})" if printed and printed != asked else str(asked or "auto")
