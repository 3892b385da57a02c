"""Why a cache differs from the plain budget: what the release's rules did, and what the log shows beside them."""

from __future__ import annotations

from logaudit.interval import GIB, Interval
from logaudit.reconcile.case import Case, Cause


def _user_cap(case: Case) -> Cause | None:
    expectation, actual = case.expectation, case.comparison.actual_tokens
    cap = case.launch.args.get("max_total_tokens")
    if expectation is None or actual is None or not isinstance(cap, int) or isinstance(cap, bool):
        return None
    uncapped = expectation.tokens_uncapped
    if uncapped is None or uncapped.low <= cap:
        return None
    tokens = actual - uncapped.value
    size = None
    if expectation.bytes_per_token is not None:
        size = (Interval.exact(actual) - uncapped) * expectation.bytes_per_token / GIB
    line = case.launch.args_line
    detail = f"--max-total-tokens {cap} is below the {uncapped.value:,.0f} tokens that the budget holds"
    return Cause("user_cap", size, tokens, () if line is None else (line,), detail)


RULES = (_user_cap,)


def causes_of(case: Case) -> tuple[Cause, ...]:
    """Every cause that applies, in the order of the rules."""
    return tuple(cause for rule in RULES if (cause := rule(case)) is not None)
