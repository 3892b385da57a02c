"""What someone who runs a thousand servers asks of their logs, answered from the fleet's table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

GIB = 1 << 30
CONFIGURATION = (
    "model_path",
    "quantization",
    "device",
    "sglang_low",
    "sglang_high",
    "tp_size",
    "pp_size",
    "dp_size",
    "nnodes",
    "kv_cache_dtype",
    "speculative_algorithm",
)
"""Starts alike in these are of one configuration; the fraction and a cap are not among them, being causes."""

SAME_CARD = 1.1
"""Free memory before loading within this factor of the next larger is that of the same card, with more in use."""
FEWER_SHARE = 0.02
"""Holding so much less than the others of a configuration is worth a line."""
NOTABLE_GIB = 0.25
SCARCE_GIB = 1.0
"""Less than this at the end is close to running out."""
WASTE_GIB = 2.0
WASTE_SHARE_OF_CARD = 0.02
"""Headroom above the release's own reserve by more than both is wasted."""


@dataclass(frozen=True, slots=True)
class Start:
    """One start of the fleet: its columns, and the figures of its ranks that the answers need."""

    row: Mapping[str, Any]
    before_gib: float | None
    """Lowest free memory before loading."""
    sizing_gib: float | None
    """Lowest free memory when the pool was sized."""
    spread_gib: float
    """How far its ranks lie apart when the pool is sized."""
    ranks: int

    def __getitem__(self, name: str) -> Any:
        return self.row.get(name)

    @property
    def taken_gib(self) -> float | None:
        """What loading took."""
        if self.before_gib is None or self.sizing_gib is None:
            return None
        return self.before_gib - self.sizing_gib

    @property
    def name(self) -> str:
        """`logs/a.log#0`."""
        return f"{self['source']}#{self['launch']}"


@dataclass(frozen=True, slots=True)
class Group:
    """The starts of one configuration, with the flags that they share."""

    configuration: Mapping[str, Any]
    flags: Mapping[str, Any]
    starts: tuple[Start, ...]

    def values(self, name: str) -> list[float]:
        """The known values of a column."""
        return [float(start[name]) for start in self.starts if start[name] is not None]


@dataclass(frozen=True, slots=True)
class Fewer:
    """A start that holds fewer tokens than others of its configuration."""

    start: Start
    others_tokens: float
    """Their median."""
    causes: tuple[tuple[str, float | None], ...]
    """Each in words, with the tokens that it accounts for where that follows from the formula's budget."""


@dataclass(frozen=True, slots=True)
class Drift:
    """What changed on one host between its first start of a configuration and its last."""

    host: str
    first: Start
    last: Start
    starts: int
    before_gib: float | None
    tokens: int | None
    headroom_gib: float | None


@dataclass(frozen=True, slots=True)
class Waste:
    """Headroom well above what the release keeps for itself."""

    start: Start
    gib: float
    """On one rank."""
    tokens: float | None


def starts_of(rows: Sequence[Mapping[str, Any]]) -> list[Start]:
    """The starts of the table, in its order."""
    by_start: dict[tuple[Any, Any], list[Mapping[str, Any]]] = {}
    for row in rows:
        if row.get("launch") is not None:
            by_start.setdefault((row["source"], row["launch"]), []).append(row)
    return [_start(ranks) for ranks in by_start.values()]


def _start(rows: Sequence[Mapping[str, Any]]) -> Start:
    targets = [row for row in rows if row.get("worker") == "target"] or list(rows)
    before = [row["before_load_gib"] for row in targets if row.get("before_load_gib") is not None]
    sized = [row["sizing_gib"] for row in targets if row.get("sizing_gib") is not None]
    spread = max(sized) - min(sized) if sized else 0.0
    return Start(targets[0], min(before, default=None), min(sized, default=None), spread, len(targets))


def groups_of(starts: Sequence[Start]) -> list[Group]:
    """Starts by configuration and kind of card, the largest group first."""
    alike: dict[tuple[Any, ...], list[Start]] = {}
    for start in starts:
        alike.setdefault(tuple(start[name] for name in CONFIGURATION), []).append(start)
    groups = []
    for key, members in alike.items():
        for same_card in _by_card(members):
            cards = [float(start["card_gib"]) for start in same_card if start["card_gib"] is not None]
            configuration = dict(zip(CONFIGURATION, key, strict=True)) | {"card_gib": max(cards, default=None)}
            groups.append(Group(configuration, _common_flags(same_card), tuple(same_card)))
    return sorted(groups, key=lambda group: (-len(group.starts), str(group.configuration)))


def _by_card(starts: Sequence[Start]) -> list[list[Start]]:
    """Starts by the size of their cards, which no line prints: where the free memory leaps, another card begins."""
    unknown = [start for start in starts if start.before_gib is None]
    found: list[list[Start]] = [unknown] if unknown else []
    last: float | None = None
    for start in sorted((s for s in starts if s.before_gib is not None), key=lambda s: s.before_gib or 0.0):
        if last is None or (start.before_gib or 0.0) > last * SAME_CARD:
            found.append([])
        found[-1].append(start)
        last = start.before_gib
    return found


def _common_flags(starts: Sequence[Start]) -> dict[str, Any]:
    flags = [json.loads(start["flags"]) if _whole_json(start["flags"]) else {} for start in starts]
    if not flags:
        return {}
    return {name: value for name, value in flags[0].items() if all(other.get(name) == value for other in flags)}


def _whole_json(text: Any) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (TypeError, ValueError):
        return False


def holding_fewer(groups: Sequence[Group]) -> list[Fewer]:
    """Starts that hold fewer tokens than the others of their configuration; a group of one has no others."""
    found: list[Fewer] = []
    for group in groups:
        known = [start for start in group.starts if start["tokens"] is not None]
        for start in known:
            others = [other for other in known if other is not start]
            if not others:
                continue
            middle = median(float(other["tokens"]) for other in others)
            if start["tokens"] < middle * (1 - FEWER_SHARE):
                found.append(Fewer(start, middle, _causes(start, others)))
    return sorted(found, key=lambda one: float(one.start["tokens"]) - one.others_tokens)


def _middle(others: Sequence[Start], name: str) -> float | None:
    values = [
        float(value)
        for other in others
        if (value := getattr(other, name) if hasattr(type(other), name) else other[name]) is not None
    ]
    return median(values) if values else None


def _causes(start: Start, others: Sequence[Start]) -> tuple[tuple[str, float | None], ...]:
    """Why a start holds fewer: the parts of `after - before x (1 - fraction)` that differ, and a cap."""
    found: list[tuple[str, float | None]] = []
    fraction, theirs = start["mem_fraction_static"], _middle(others, "mem_fraction_static")
    if "user_cap" in (start["causes"] or ()):
        found.append((f"a cap, --max-total-tokens {start['max_total_tokens']:,}", None))
    if fraction is not None and theirs is not None and theirs - fraction > 1e-4:
        gib = None if start.before_gib is None else (fraction - theirs) * start.before_gib
        found.append((f"another fraction, {fraction:.4g} instead of {theirs:.4g}", _tokens(start, gib)))
    before, usual = start.before_gib, _middle(others, "before_gib")
    if before is not None and usual is not None and usual - before > NOTABLE_GIB:
        gib = None if fraction is None else (before - usual) * float(fraction)
        text = f"less free before loading, {before:.2f} GiB instead of {usual:.2f}"
        found.append((text, _tokens(start, gib)))
    spread, even = start.spread_gib, _middle(others, "spread_gib") or 0.0
    if spread - even > NOTABLE_GIB:
        found.append((f"an unbalanced rank, {spread:.2f} GiB below the others", _tokens(start, even - spread)))
    taken, normal = start.taken_gib, _middle(others, "taken_gib")
    if taken is not None and normal is not None and taken - normal > NOTABLE_GIB and spread - even <= NOTABLE_GIB:
        text = f"more taken while loading, {taken:.2f} GiB instead of {normal:.2f}"
        found.append((text, _tokens(start, normal - taken)))
    return tuple(found)


def _tokens(start: Start, gib: float | None) -> float | None:
    each = start["bytes_per_token"]
    return None if gib is None or not each else gib * GIB / float(each)


def crashes(starts: Sequence[Start]) -> list[tuple[str, str, list[Start]]]:
    """Kind, phase and starts of those that crashed, the most frequent first."""
    found: dict[tuple[str, str], list[Start]] = {}
    for start in starts:
        if start["outcome"] == "crashed":
            key = (start["failure_kind"] or "unknown", start["failure_phase"] or "unknown")
            found.setdefault(key, []).append(start)
    return sorted(((*key, members) for key, members in found.items()), key=lambda entry: -len(entry[2]))


def running_out(starts: Sequence[Start]) -> list[Start]:
    """Servers that came up with little left: under SCARCE_GIB, or as the finding on it warns; the least first."""
    found = [
        start
        for start in starts
        if start["headroom_gib"] is not None
        and start["outcome"] in ("ready", "initialised")
        and (start["headroom_gib"] < SCARCE_GIB or "little_left" in (start["warnings"] or ()))
    ]
    return sorted(found, key=lambda start: float(start["headroom_gib"]))


def wasted(starts: Sequence[Start]) -> list[Waste]:
    """Servers that leave well more free than their release would, in GiB of one rank and tokens of one replica."""
    found: list[Waste] = []
    for start in starts:
        free, rule, card = start["headroom_gib"], start["reserve_rule_gib"], start["card_gib"] or 0.0
        if free is None or rule is None or start["outcome"] not in ("ready", "initialised"):
            continue
        surplus = float(free) - float(rule)
        if surplus > max(WASTE_GIB, WASTE_SHARE_OF_CARD * float(card)):
            found.append(Waste(start, surplus, _tokens(start, surplus)))
    return sorted(found, key=lambda waste: -waste.gib * waste.start.ranks)


def drifts(groups: Sequence[Group]) -> list[Drift]:
    """Hosts on which a configuration's free memory, tokens or headroom changed from its first start to its last."""
    found: list[Drift] = []
    by_host: dict[tuple[Any, int], list[Start]] = {}
    for number, group in enumerate(groups):
        for start in group.starts:
            if start["host"] and start["started_at"] and start["outcome"] in ("ready", "initialised"):
                by_host.setdefault((start["host"], number), []).append(start)
    for (host, _), members in by_host.items():
        if len(members) < 2:
            continue
        ordered = sorted(members, key=lambda start: str(start["started_at"]))
        first, last = ordered[0], ordered[-1]
        before = _difference(first.before_gib, last.before_gib)
        tokens = _difference(first["tokens"], last["tokens"])
        headroom = _difference(first["headroom_gib"], last["headroom_gib"])
        moved = tokens is not None and abs(tokens) > FEWER_SHARE * float(first["tokens"])
        if moved or any(value is not None and abs(value) > NOTABLE_GIB for value in (before, headroom)):
            whole = None if tokens is None else int(tokens)
            found.append(Drift(str(host), first, last, len(ordered), before, whole, headroom))
    return sorted(found, key=lambda drift: -abs(drift.tokens or 0))


def _difference(first: Any, last: Any) -> float | None:
    return None if first is None or last is None else float(last) - float(first)
