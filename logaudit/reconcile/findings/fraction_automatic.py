"""The fraction is the one that the release chooses by itself."""

from __future__ import annotations

from logaudit.reconcile import measures as m
from logaudit.reconcile.case import Case, Found
from logaudit.sizing.fraction import AutomaticFraction

CODE = "fraction_automatic"
SEVERITIES = ("info",)


STEPS = 80
WIDEST = 1.10
"""Without the card's size: cards from what was free before loading up to this multiple of it are tried."""
SAME = 0.0006


def find(case: Case) -> Found | None:
    """Fires when the release's rule gives the fraction on the card: as given, else on some card of a likely size."""
    start = m.before(case)
    if (
        case.fraction is None
        or start is None
        or start.value <= 0
        or (case.given.gpu_memory_gib is None and _round(case))
    ):
        return None
    value = case.fraction.interval.value
    card = m.card_gib(case)
    guessed = card is None
    matching = [(size, rule) for size, rule in _tried(case, card, start.value) if abs(rule.value - value) < SAME]
    if not matching:
        return None
    size, rule = matching[len(matching) // 2]
    parts = [(term.name, term.gib.value, term.text) for term in rule.terms if term.gib is not None]
    numbers = {
        "value": value,
        "release": str(case.release),
        "card": size,
        "guessed": guessed,
        "low": matching[0][0],
        "high": matching[-1][0],
        "parts": sorted(parts, key=lambda part: -part[1]),
        "reserved": None if rule.reserved_mib is None else rule.reserved_mib / 1024,
        "factor": next((term.text for term in rule.terms if term.name == "multimodal"), None),
    }
    return Found(CODE, "info", numbers, m.args_lines(case))


def _round(case: Case) -> bool:
    """Whether the fraction has at most two decimals, as a person writes it."""
    value = 0.0 if case.fraction is None else case.fraction.interval.value
    return abs(value * 100 - round(value * 100)) < 1e-9


def _tried(case: Case, card: float | None, start_gib: float) -> list[tuple[float, AutomaticFraction]]:
    sizes = [card] if card is not None else [start_gib * (1 + (WIDEST - 1) * i / STEPS) for i in range(STEPS + 1)]
    found = [(size, m.automatic(case, size)) for size in sizes]
    return [(size, rule) for size, rule in found if rule is not None]
