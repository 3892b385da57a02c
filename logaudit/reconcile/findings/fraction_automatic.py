"""The fraction is the one that the release chooses by itself."""

from __future__ import annotations

from logaudit.reconcile import measures as m
from logaudit.reconcile.case import Case, Found

CODE = "fraction_automatic"
SEVERITIES = ("info",)


def find(case: Case) -> Found | None:
    """Fires when the release's rule gives the fraction on the card: as given, else on some card of a likely size."""
    matching = m.cards_of_automatic(case)
    if not matching or case.fraction is None:
        return None
    size, rule = matching[len(matching) // 2]
    parts = [(term.name, term.gib.value, term.text) for term in rule.terms if term.gib is not None]
    numbers = {
        "value": case.fraction.interval.value,
        "release": str(case.release),
        "card": size,
        "guessed": m.card_gib(case) is None,
        "low": matching[0][0],
        "high": matching[-1][0],
        "parts": sorted(parts, key=lambda part: -part[1]),
        "reserved": None if rule.reserved_mib is None else rule.reserved_mib / 1024,
        "factor": next((term.text for term in rule.terms if term.name == "multimodal"), None),
    }
    return Found(CODE, "info", numbers, m.args_lines(case))
