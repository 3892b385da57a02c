"""One pipeline stage decides the cache of all stages."""

from __future__ import annotations

from logaudit.reconcile import measures as m
from logaudit.reconcile.case import Case, Found

CODE = "pp_stage_binds"
SEVERITIES = ("info", "notice")


LARGE_GIB = 1.0


def find(case: Case) -> Found | None:
    """Fires when pipeline stages differ in free memory, or in the tokens that they would hold."""
    layout = m.groups(case)
    if layout is None or layout.pp < 2 or case.expectation is None:
        return None
    stages: dict[int, float] = {}
    lines: dict[int, int] = {}
    for reading in m.readings(case):
        if reading.pp is None or reading.after_load is None:
            continue
        if reading.pp not in stages or reading.after_load.value < stages[reading.pp]:
            stages[reading.pp] = reading.after_load.value
            if reading.after_line is not None:
                lines[reading.pp] = reading.after_line
    term = next((term for term in case.expectation.terms if term.name == "stage minimum"), None)
    if len(stages) < 2 or (term is None and max(stages.values()) - min(stages.values()) < 0.05):
        return None
    lowest = min(stages, key=lambda stage: stages[stage])
    spread = max(stages.values()) - min(stages.values())
    numbers = {
        "stage": lowest,
        "stages": sorted(stages.items()),
        "spread": spread,
        "tokens": None if term is None else term.text,
    }
    return Found(CODE, "notice" if spread >= LARGE_GIB else "info", numbers, tuple(lines[s] for s in sorted(lines)))
