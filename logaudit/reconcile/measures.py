"""Figures of a case that several findings and the advice after a failure need."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from packaging.version import Version

from logaudit.extract.extractor import Record
from logaudit.interval import GIB, Interval
from logaudit.launches.model import RankKey
from logaudit.reconcile.case import Case
from logaudit.reconcile.naive import card_size_gb
from logaudit.sglang.versions import all_field_names, defaults
from logaudit.sizing import automatic_fraction
from logaudit.sizing import draft as drafts
from logaudit.sizing.arguments import Arguments, speculation
from logaudit.sizing.fraction import AutomaticFraction
from logaudit.sizing.model import StageReadings
from logaudit.sizing.parallel import Layout, layout

_LATENT = frozenset({"mla", "dsa"})
_RUNTIME_PARTS = frozenset({"metadata", "activations", "DP attention", "DeepEP buffers"})
_NAMED_PARTS_SINCE = Version("0.5.3")
_SPLIT_GRAPH_FLAGS_SINCE = Version("0.5.14")


@dataclass(frozen=True, slots=True)
class Yardstick:
    """What the release's own rule for the fraction keeps free for the running server, beside graphs and draft."""

    gib: float
    text: str
    """What it is made of, in words."""
    card_gib: float
    guessed: bool
    """Whether the card's size is a guess."""


def rank_name(key: RankKey | StageReadings) -> str:
    """`PP0 DP1 TP3`, as far as the log names it."""
    parts = (("PP", key.pp), ("DP", key.dp), ("TP", key.tp))
    return " ".join(f"{name}{number}" for name, number in parts if number is not None) or "the only rank"


def readings(case: Case) -> tuple[StageReadings, ...]:
    """The readings of the deciding replica."""
    return () if case.inputs is None else case.inputs.readings


def _lowest(values: Iterable[Interval | None]) -> Interval | None:
    known = [value for value in values if value is not None]
    return Interval.minimum(*known) if known else None


def before(case: Case) -> Interval | None:
    """Lowest free memory before loading, GiB."""
    return _lowest(reading.before_load for reading in readings(case))


def after(case: Case) -> Interval | None:
    """Lowest free memory when the pool was sized, GiB."""
    return _lowest(reading.after_load for reading in readings(case))


def budget(case: Case) -> Interval | None:
    """What the fraction leaves for state and KV pools: after - before x (1 - fraction), GiB."""
    start, end = before(case), after(case)
    if start is None or end is None or case.fraction is None:
        return None
    return end - start * (1 - case.fraction.interval)


def left(case: Case) -> Interval | None:
    """Least that any rank had free at its last reading, GiB."""
    return _lowest(ledger.free for ledger in case.ledgers)


def started(case: Case) -> bool:
    """Whether the start came to its end."""
    return case.launch.outcome in {"ready", "initialised"}


def served(case: Case) -> bool:
    """Whether the server came up, if only to die later."""
    failure = case.launch.failure
    return started(case) or (failure is not None and failure.phase in {"serving", "warmup"})


def arguments(case: Case) -> Arguments | None:
    """The server arguments under the release's defaults; None where no release is known."""
    if case.release is None or case.inputs is None:
        return None
    return Arguments(case.inputs.args, known=case.inputs.args_known, release=case.release, line=case.launch.args_line)


def groups(case: Case) -> Layout | None:
    """The parallel groups of the start."""
    args = arguments(case)
    return None if args is None else layout(args)


def number(case: Case, name: str) -> int | None:
    """A whole-number argument as the log holds it."""
    value = case.launch.args.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def args_lines(case: Case) -> tuple[int, ...]:
    """The line of the server arguments, as evidence."""
    line = case.launch.args_line
    return () if line is None else (line,)


def records(case: Case, *kinds: str) -> list[Record]:
    """The records of some kinds, traffic included, in order of their lines."""
    found = [record for record in (*case.launch.records, *case.launch.traffic) if record.kind in kinds]
    return sorted(found, key=lambda record: record.line)


def gib_of(record: Record, name: str) -> Interval | None:
    """A memory figure of a record."""
    value = record.fields.get(name)
    return value if isinstance(value, Interval) else None


def count_of(record: Record, name: str) -> int | None:
    """A whole-number figure of a record."""
    value = record.fields.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def failing_record(case: Case) -> Record | None:
    """The record that the failure was read from."""
    failure = case.launch.failure
    if failure is None:
        return None
    at = [r for r in (*case.launch.records, *case.launch.traffic) if r.line == failure.line]
    named = [record for record in at if record.text[:200] == failure.text[:200]]
    found = named or at
    return found[0] if found else None


def card_gib(case: Case) -> float | None:
    """The card's memory where it is known: as given, or as an out-of-memory text states it."""
    if case.given.gpu_memory_gib is not None:
        return case.given.gpu_memory_gib
    totals = [gib_of(record, "total_gib") for record in records(case, "oom_device")]
    return next((total.value for total in totals if total is not None), None)


def automatic(case: Case, card: float) -> AutomaticFraction | None:
    """The fraction that the release chooses by itself for this start on a card of `card` GiB."""
    if case.release is None or case.inputs is None or not case.launch.args:
        return None
    attention = None if case.expectation is None else case.expectation.attention
    known = attention not in {None, "unknown"}
    return automatic_fraction(
        case.release,
        case.launch.args,
        case.given.config,
        card,
        case.inputs.device,
        mla=attention in _LATENT if known else None,
    )


def yardstick(case: Case) -> Yardstick | None:
    """What the release's own rule keeps free for activations once graphs and draft have taken their part.

    From 0.5.3 the rule names its parts; before, what graphs and draft took of its lump is taken off.
    """
    start = before(case)
    if start is None or start.value <= 0 or case.release is None:
        return None
    known = card_gib(case)
    card, guessed = card_size_gb(start.value, known)
    rule = automatic(case, card)
    if rule is None:
        return None
    if case.release >= _NAMED_PARTS_SINCE:
        parts = [term for term in rule.terms if term.name in _RUNTIME_PARTS and term.gib is not None]
        total = sum(term.gib.value for term in parts if term.gib is not None)
        text = ", ".join(f"{term.text}" for term in parts)
    else:
        kept = card * (1 - rule.value)
        taken = 0.0
        if case.ledgers:
            taken = case.ledgers[0].total("graphs", "draft-graphs", "draft-weights", "draft-kv").value
        total = kept - max(0.0, taken)
        text = f"{kept:.2f} GiB of the card, less {max(0.0, taken):.2f} GiB that graphs and draft took"
    return Yardstick(total, text, card, guessed) if total > 0 else None


def bytes_per_token(case: Case) -> float | None:
    """Bytes of one token on one rank, also from the last good start of the same model."""
    for known in (case, case.previous):
        if known is None or known.expectation is None:
            continue
        if known.launch.args.get("model_path") != case.launch.args.get("model_path"):
            continue
        per = known.expectation.bytes_per_token
        if per is not None and per.value > 0:
            return per.value
    return None


def context_length(case: Case) -> int | None:
    """Tokens of a full-length request, also as the last good start had it."""
    known = (case, case.previous)
    return next((found for one in known if one is not None and (found := _context_length(one)) is not None), None)


def _context_length(case: Case) -> int | None:
    printed = next((s.context_length for s in case.launch.schedulers if s.context_length), None)
    if printed is not None:
        return printed
    asked = number(case, "context_length")
    if asked:
        return asked
    return None if case.given.config is None else case.given.config.context_length


def requests(case: Case) -> int | None:
    """max_running_requests of the scheduler line."""
    return next((s.max_running_requests for s in case.launch.schedulers if s.max_running_requests), None)


def tokens_of(gib: float, case: Case) -> float | None:
    """How many tokens some GiB hold."""
    per = bytes_per_token(case)
    return None if per is None else gib * GIB / per


def up(fraction: float) -> float:
    """The next larger fraction of three decimals."""
    return math.ceil(round(fraction * 1000, 6)) / 1000


def down(fraction: float) -> float:
    """The next smaller fraction of three decimals."""
    return math.floor(round(fraction * 1000, 6)) / 1000


def flag(name: str) -> str:
    """The flag of an argument: `--mem-fraction-static`."""
    return "--" + name.replace("_", "-")


def graph_argument(case: Case) -> str:
    """The argument that bounds the batch sizes decode graphs are captured for."""
    late = case.release is not None and case.release >= _SPLIT_GRAPH_FLAGS_SINCE
    return "cuda_graph_max_bs_decode" if late else "cuda_graph_max_bs"


def largest_graph_batch(case: Case) -> int | None:
    """The largest batch that decode graphs were captured for, as the arguments hold it."""
    config = case.launch.args.get("cuda_graph_config")
    decode = config.get("decode") if isinstance(config, dict) else None
    value = decode.get("max_bs") if isinstance(decode, dict) else None
    return value if isinstance(value, int) else number(case, graph_argument(case)) or number(case, "cuda_graph_max_bs")


def is_default(case: Case, name: str, value: object) -> bool:
    """Whether an argument has its release's default."""
    if case.release is None or name not in all_field_names():
        return False
    known = defaults(case.release)
    return name in known and known[name] == value


def draft_weights_are_counted(case: Case) -> bool:
    """Whether the release loads the draft's weights before it sizes the target's pool (from 0.5.14)."""
    args = arguments(case)
    return (
        args is not None
        and case.release is not None
        and case.release >= drafts.COUNTED_SINCE
        and speculation(args) is not None
    )


def draft_is_paid(case: Case) -> bool:
    """Whether the target's formula pays for the draft's KV cache as well."""
    args = arguments(case)
    return args is not None and case.inputs is not None and drafts.counted_layers(case.inputs, args) is not None


CARDS_TRIED = 80
LARGEST_CARD = 1.10
"""Without the card's size: cards from what was free before loading up to this multiple of it are tried."""
SAME_FRACTION = 0.0006


def cards_of_automatic(case: Case) -> list[tuple[float, AutomaticFraction]]:
    """The cards (GiB) on which the release's own rule gives this start's fraction; none where a person set it.

    Without the card's size a fraction of at most two decimals counts as set by a person.
    """
    start, card = before(case), card_gib(case)
    if case.fraction is None or start is None or start.value <= 0:
        return []
    value = case.fraction.interval.value
    if card is None and abs(value * 100 - round(value * 100)) < 1e-9:
        return []
    step = (LARGEST_CARD - 1) / CARDS_TRIED
    sizes = [card] if card is not None else [start.value * (1 + step * i) for i in range(CARDS_TRIED + 1)]
    found = [(size, automatic(case, size)) for size in sizes]
    return [(size, rule) for size, rule in found if rule is not None and abs(rule.value - value) < SAME_FRACTION]
