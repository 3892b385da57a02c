"""What `logaudit diff` says of two starts, in its JSON form."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from logaudit import __version__
from logaudit.reconcile.compare_starts import IRRELEVANT
from logaudit.reconcile.differ import Attribution, Share, differing_arguments
from logaudit.report.document import SCHEMA_VERSION, Bounds, Document, LaunchDoc, LedgerItem
from logaudit.report.figures import release
from logaudit.report.sections.arguments import by_weight, matters


class Side(msgspec.Struct, frozen=True):
    """One of the two starts."""

    source: str
    launch: int
    outcome: str
    started_at: str | None
    sglang_version: str
    model: str | None
    status: str
    tokens: int | None
    """Of all replicas together where there are several."""


class ArgumentChange(msgspec.Struct, frozen=True):
    """A server argument that differs; null: not given, or not known to that release."""

    name: str
    before: Any
    after: Any
    bears_on_memory: bool


class FigureChange(msgspec.Struct, frozen=True):
    """A figure beside its counterpart; null where one start has none."""

    what: str
    before: float | None
    after: float | None
    unit: str
    """`GiB`, `tokens`, `requests`, `slots`."""


class ChangeShare(msgspec.Struct, frozen=True):
    """How many tokens one change accounts for, in the order given."""

    name: str
    before: str
    after: str
    tokens: float
    as_first: float | None
    """As the only change to the first start."""
    as_last: float | None
    """As the last of all changes."""


class Explained(msgspec.Struct, frozen=True):
    """The change of capacity, taken apart by the formula."""

    expected_before: Bounds | None
    expected_after: Bounds | None
    shares: list[ChangeShare]
    rest_tokens: float | None
    """What the printed counts changed beyond the formula's: rounding, or gaps it does not explain."""
    together_tokens: float | None
    """What the changes do only together."""
    order: str
    missing: list[str]
    assumptions: list[str]


class DiffDoc(msgspec.Struct, frozen=True):
    """What `logaudit diff --format json` prints."""

    schema_version: int
    logaudit_version: str
    before: Side
    after: Side
    tokens_change: int | None
    tokens_change_percent: float | None
    arguments: list[ArgumentChange]
    readings: list[FigureChange]
    ledger: list[FigureChange]
    capacity: list[FigureChange]
    explained: Explained


def tokens_of(launch: LaunchDoc) -> int | None:
    """What a server holds: of all replicas together where there are several."""
    capacity = launch.capacity
    return capacity.total_tokens if capacity.total_tokens is not None else capacity.max_total_num_tokens


def fell(document: DiffDoc, percent: float, *, strict: bool = False) -> bool:
    """Whether capacity fell by more than `percent`, or the second start holds none; `strict`: or that is not known."""
    before, after = document.before.tokens, document.after.tokens
    if document.after.outcome == "crashed" or (before is not None and after is None):
        return True
    if before is None or after is None:
        return strict
    return before - after > before * percent / 100


def diff_document(
    before: tuple[Document, LaunchDoc], after: tuple[Document, LaunchDoc], attribution: Attribution
) -> DiffDoc:
    """Two starts side by side; `attribution` is what the formula makes of them, texts redacted by the caller."""
    old, new = before[1], after[1]
    tokens = (tokens_of(old), tokens_of(new))
    change = None if tokens[0] is None or tokens[1] is None else tokens[1] - tokens[0]
    return DiffDoc(
        schema_version=SCHEMA_VERSION,
        logaudit_version=__version__,
        before=_side(*before),
        after=_side(*after),
        tokens_change=change,
        tokens_change_percent=None if change is None or not tokens[0] else round(100 * change / tokens[0], 3),
        arguments=_arguments(old, new),
        readings=_readings(old, new),
        ledger=_ledger(old, new),
        capacity=_capacity(old, new),
        explained=_explained(attribution),
    )


def _side(document: Document, launch: LaunchDoc) -> Side:
    source = document.sources[launch.source].name if launch.source < len(document.sources) else ""
    return Side(
        source,
        launch.index,
        launch.outcome,
        launch.started_at,
        release(launch.sglang_version),
        launch.model.path or launch.model.architecture,
        launch.reconciliation.status,
        tokens_of(launch),
    )


def _arguments(old: LaunchDoc, new: LaunchDoc) -> list[ArgumentChange]:
    if not old.server_args or not new.server_args:
        return []
    differing = set(differing_arguments(old.server_args, new.server_args)) - IRRELEVANT
    ordered = [name for name in by_weight({**old.server_args, **new.server_args}) if name in differing]
    ordered.sort(key=lambda name: not matters(name))
    return [
        ArgumentChange(name, old.server_args.get(name), new.server_args.get(name), matters(name)) for name in ordered
    ]


def _least(launch: LaunchDoc, name: str) -> float | None:
    known = [getattr(row, name) for row in launch.ranks if row.worker == "target"]
    return min((value for value in known if value is not None), default=None)


def _readings(old: LaunchDoc, new: LaunchDoc) -> list[FigureChange]:
    """The lowest rank's readings."""
    names = (
        ("free before loading", "before_load_gib"),
        ("free after loading", "after_load_gib"),
        ("free after the pools", "pool_end_gib"),
        ("free at the end", "final_gib"),
    )
    found = [FigureChange(what, _least(old, name), _least(new, name), "GiB") for what, name in names]
    return [change for change in found if change.before is not None or change.after is not None]


LEDGER_WORDS = {
    "weights": "weights",
    "kv": "KV cache",
    "state": "state pools",
    "graphs": "CUDA graphs",
    "draft-weights": "draft weights",
    "draft-kv": "draft KV cache",
    "other": "computed, printed by no line",
    "rest": "not accounted for between readings",
    "left": "free at the end",
}


def _ledger(old: LaunchDoc, new: LaunchDoc) -> list[FigureChange]:
    """The deciding rank's ledgers by kind of item: the words of an item hold figures of their start."""
    totals = [_by_kind(launch.ledger[0].items) if launch.ledger else {} for launch in (old, new)]
    kinds = [kind for kind in LEDGER_WORDS if kind in totals[0] or kind in totals[1]]
    return [
        FigureChange(
            LEDGER_WORDS[kind],
            totals[0].get(kind, 0.0) if totals[0] else None,
            totals[1].get(kind, 0.0) if totals[1] else None,
            "GiB",
        )
        for kind in kinds
    ]


def _by_kind(items: Iterable[LedgerItem]) -> dict[str, float]:
    total: dict[str, float] = {}
    for item in items:
        kind = item.kind if item.kind in LEDGER_WORDS else "other"
        total[kind] = round(total.get(kind, 0.0) + item.gib.value, 6)
    return total


def _capacity(old: LaunchDoc, new: LaunchDoc) -> list[FigureChange]:
    names = (
        ("tokens", "max_total_num_tokens", "tokens"),
        ("tokens of all replicas", "total_tokens", "tokens"),
        ("tokens of the full-attention pool", "full_tokens", "tokens"),
        ("tokens of the sliding-window pool", "swa_tokens", "tokens"),
        ("state slots", "mamba_slots", "slots"),
        ("requests at once", "max_running_requests", "requests"),
        ("context length", "context_length", "tokens"),
    )
    found = [
        FigureChange(what, getattr(old.capacity, name), getattr(new.capacity, name), unit) for what, name, unit in names
    ]
    return [change for change in found if change.before is not None or change.after is not None]


def _bounds(interval: Any) -> Bounds | None:
    return None if interval is None else Bounds.of(interval)


def _share(share: Share) -> ChangeShare:
    return ChangeShare(share.name, share.before, share.after, share.tokens, share.first_tokens, share.last_tokens)


def _explained(found: Attribution) -> Explained:
    return Explained(
        expected_before=_bounds(found.expected_before),
        expected_after=_bounds(found.expected_after),
        shares=[_share(share) for share in found.shares],
        rest_tokens=found.rest_tokens,
        together_tokens=found.together_tokens,
        order=order_words(found),
        missing=list(found.missing),
        assumptions=list(found.assumptions),
    )


def order_words(found: Attribution) -> str:
    """What the order of the changes does to their shares."""
    if len(found.shares) < 2 or found.missing:
        return ""
    moved = [share for share in found.shares if share.depends_on_order]
    if not moved:
        return "Each change accounts for the same number of tokens in any order."
    widest = max(moved, key=lambda share: max(_spread(share)) - min(_spread(share)))
    low, high = min(_spread(widest)), max(_spread(widest))
    text = (
        "The changes act on each other, so a share depends on when its change is made. The shares are those of the "
        f"order shown, which is the order in which a start meets them. {widest.name} moves the most: between "
        f"{_signed(low)} and {_signed(high)} tokens."
    )
    if found.together_tokens is not None:
        text += f" What the changes do only together comes to {_signed(found.together_tokens)} tokens."
    return text


def _signed(tokens: float) -> str:
    return f"{tokens:+,.0f}".replace("-", "−")


def _spread(share: Share) -> list[float]:
    return [value for value in (share.tokens, share.first_tokens, share.last_tokens) if value is not None]
