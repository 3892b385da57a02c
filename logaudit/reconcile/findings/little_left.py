"""Little is left at the end for activations."""

from __future__ import annotations

from logaudit.reconcile import measures as m
from logaudit.reconcile.case import Case, Found

CODE = "little_left"
SEVERITIES = ("notice", "warning")


NOTICE_SHARE = 0.8
WARNING_SHARE = 0.4
LEAST_GIB = 1.0
WARNING_SHARE_OF_CARD = 0.025


def find(case: Case) -> Found | None:
    """Fires when less is left than the release's own rule for the fraction keeps for activations, or under 1 GiB.

    A notice under 80 % of the rule's figure; a warning under 1 GiB, or under 40 % and 2.5 % of what was free before
    loading: the rule is careful, many servers run well with less. No notice where the rule itself chose the fraction.
    """
    free, start = m.left(case), m.before(case)
    if free is None or start is None or start.value <= 0 or not m.served(case):
        return None
    if case.inputs is not None and case.inputs.device == "cpu":
        return None
    rule = m.yardstick(case)
    scarce = free.value < LEAST_GIB
    if rule is None and not scarce:
        return None
    if rule is not None and not scarce and free.value >= NOTICE_SHARE * rule.gib:
        return None
    tight = free.value < WARNING_SHARE_OF_CARD * start.value
    low = scarce or (rule is not None and tight and free.value < WARNING_SHARE * rule.gib)
    if not low and m.cards_of_automatic(case):
        return None
    fraction = None if case.fraction is None else case.fraction.interval.value
    wanted = LEAST_GIB if rule is None else rule.gib
    lower, smallest = None, None
    if fraction is not None:
        lower = m.down(fraction - (wanted - free.value) / start.value)
        after = m.after(case)
        smallest = None if after is None else 1 - after.value / start.value
        if smallest is not None and lower <= smallest:
            lower = None
    chunk = m.number(case, "chunked_prefill_size")
    numbers = {
        "left": free.value,
        "rule": None if rule is None else rule.gib,
        "text": "" if rule is None else rule.text,
        "release": str(case.release),
        "fraction": fraction,
        "lower": lower,
        "tokens": m.tokens_of(wanted - free.value, case),
        "chunk": chunk if chunk is not None and chunk >= 2048 else None,
        "low": low,
    }
    lines = [item.evidence[0] for ledger in case.ledgers[:1] for item in ledger.items if item.kind == "left"]
    changes = {"mem_fraction_static": lower} if low and lower is not None and lower > 0 else {}
    return Found(CODE, "warning" if low else "notice", numbers, tuple(lines), changes)
