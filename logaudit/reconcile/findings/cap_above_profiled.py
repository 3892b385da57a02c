"""--max-total-tokens is larger than what fits and has no effect."""

from __future__ import annotations

from logaudit.reconcile import measures as m
from logaudit.reconcile.case import Case, Found

CODE = "cap_above_profiled"
SEVERITIES = ("notice", "warning")


def find(case: Case) -> Found | None:
    """Fires on SGLang's own warning, or when the cap lies above the budget's tokens; a warning when no token fits."""
    clamped = m.records(case, "max_total_tokens_clamped")
    if clamped:
        asked, profiled = m.count_of(clamped[0], "asked_tokens"), m.count_of(clamped[0], "profiled_tokens")
        if asked is not None and profiled is not None:
            severity = "notice" if profiled > 0 else "warning"
            return Found(CODE, severity, {"cap": asked, "fits": profiled}, (clamped[0].line,))
    cap, actual = m.number(case, "max_total_tokens"), case.comparison.actual_tokens
    uncapped = None if case.expectation is None else case.expectation.tokens_uncapped
    if cap is None or actual is None or uncapped is None or not uncapped.high < cap:
        return None
    return Found(CODE, "notice", {"cap": cap, "fits": actual}, m.args_lines(case))
