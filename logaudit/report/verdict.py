"""The first words of the report: whether it started, what the cache got and why, in sentences for a tired reader."""

from __future__ import annotations

from logaudit.interval import Interval
from logaudit.reconcile.case import Case
from logaudit.reconcile.compare_starts import differences
from logaudit.reconcile.failures import Advice, advise
from logaudit.reconcile.traffic import last_minutes

OUTCOME_WORDS = {
    "ready": "Ready",
    "initialised": "Initialised (the ready line was not seen)",
    "incomplete": "The log is incomplete",
}

FAILURE_WORDS = {
    "memory": "GPU memory was the reason",
    "host_memory": "host memory was the reason",
    "unbalanced": "the GPUs' free memory was unbalanced",
    "not_memory": "memory was not the reason",
    "unknown": "the log does not say whether memory was the reason",
}

REASON_WORDS = {
    "kv_exhausted": "the KV cache ran out of tokens, the GPU's memory itself did not",
    "state_exhausted": "the recurrent-state pool ran out of slots, the GPU's memory itself did not",
    "killed": "a process was killed from outside, as a rule for want of host memory",
}
"""Reasons that say more than their kind."""

PHASE_WORDS = {
    "launch": "before the first process started",
    "distributed": "while the processes joined",
    "load": "while loading the weights",
    "sizing": "while sizing the KV cache",
    "pools": "after the pools were allocated",
    "capture": "while capturing graphs",
    "warmup": "after initialisation, before it was ready",
    "serving": "while serving",
}


def _tokens(count: float) -> str:
    return f"{count:,.0f}"


def _gib(value: Interval | float) -> str:
    number = value.value if isinstance(value, Interval) else value
    return f"{number:.2f} GiB".replace("-", "−")


def _releases(case: Case) -> str:
    low, high = case.bracket.low, case.bracket.high
    if low is None or high is None:
        return "SGLang"
    return f"SGLang {low}" if low == high else f"SGLang {low} to {high}"


MOST_CHANGES = 2
"""How many changes since the last good start the title names."""


def _since_good(case: Case) -> str:
    """What is different from the last good start in the same log, in a sentence for the title."""
    found = differences(case)
    if found is None:
        return ""
    if not found.changes:
        return " The last good start had the same memory arguments and as much free."
    told = [f"{change.name} {change.now} instead of {change.before}" for change in found.changes[:MOST_CHANGES]]
    more = len(found.changes) - len(told)
    return f" Unlike the last good start: {', '.join(told)}{f', and {more} more' if more else ''}."


def _asked(advice: Advice) -> str | None:
    """How much was asked for and how much was there."""
    asked, there = advice.asked_gib, advice.there_gib
    if advice.reason == "no_kv_room" and asked is not None and there is not None:
        rest = "nothing is" if asked >= there else f"{_gib(there - asked)} are"
        return (
            f"{_gib(there)} were free after loading and the fraction keeps {_gib(asked)} free: {rest} left for pools."
        )
    if advice.reason == "state_takes_all" and there is not None:
        need = "" if asked is None else f", which need {_gib(asked)}"
        slots = advice.detail.get("slots")
        return (
            f"{_gib(there)} were left for state and KV cache, and {slots} state slots{need}, come before the KV cache."
        )
    if advice.reason == "kv_exhausted":
        tokens, free = advice.detail.get("asked_tokens"), advice.detail.get("there_tokens")
        wanted = None if tokens is None else f"{tokens:,} tokens were asked for"
        return wanted if wanted is None or free is None else f"{wanted}, {free:,} were there."
    if asked is None:
        return None
    if advice.reason == "unbalanced":
        return None if there is None else f"{_gib(there)} were free on the lowest GPU, {_gib(asked)} were required."
    if advice.reason == "host_memory":
        free_gb = "" if there is None else f", {there:.2f} GB were free"
        return f"Each of {advice.per_rank_times} ranks asked the host for {asked:.2f} GB{free_gb}."
    return f"{_gib(asked)} were asked for" + ("." if there is None else f", {_gib(there)} were there.")


def _what_to_do(advice: Advice) -> str | None:
    """Raise the fraction, lower it, or neither, with the number."""
    if advice.impossible:
        least = "" if advice.smallest is None else f": it would have to be above {advice.smallest:.4f}"
        return f"No --mem-fraction-static can work{least}."
    if advice.direction == "neither":
        if advice.reason in {"unknown", "not_memory"}:
            return None
        if advice.reason == "kv_exhausted":
            fewer = advice.detail.get("fewer")
            instead = "" if fewer is None else f"; run fewer requests, such as --max-running-requests {fewer}"
            return f"Raising --mem-fraction-static has little to give{instead}."
        return "Neither raising nor lowering --mem-fraction-static helps; see the findings."
    verb = "Raise" if advice.direction == "raise" else "Lower"
    if advice.suggested is None:
        return f"{verb} --mem-fraction-static."
    now = "" if advice.fraction is None else f" from {advice.fraction:.4g}"
    text = f"{verb} --mem-fraction-static{now} to {advice.suggested:.4g}"
    if advice.direction == "raise" and advice.smallest is not None:
        text += f" (above {advice.smallest:.4f} it starts)"
    for part in advice.for_tokens[:1]:
        if part.left_gib > 0 and part.fraction < 1:
            text += f"; {part.fraction:.4g} holds {_tokens(part.tokens)} tokens, {part.what}"
    return text + "."


def _advice(case: Case) -> list[str]:
    """What the reader of a crashed start needs first."""
    advice = advise(case)
    if advice is None:
        return []
    return [part for part in (_asked(advice), _what_to_do(advice), _last_words(case)) if part is not None]


def _last_words(case: Case) -> str | None:
    """What the server said in its last minutes, when it died while serving."""
    last = last_minutes(case.launch)
    if last is None or case.launch.failure is None or case.launch.failure.phase != "serving":
        return None
    parts = (
        (last.last_usage, f"token usage {last.last_usage:.2f}" if last.last_usage is not None else ""),
        (last.last_running, f"{last.last_running} requests running"),
        (last.last_queued, f"{last.last_queued} queued"),
        (last.retracted or None, f"{last.retracted} taken back"),
        (last.largest_chunk, f"prefills of up to {last.largest_chunk or 0:,} tokens"),
    )
    told = [text for value, text in parts if value is not None]
    return f"In its last minutes: {', '.join(told)}." if told else None


def title(case: Case) -> str:
    """One line: outcome, and whether the cache is as large as it should be."""
    launch, status = case.launch, case.comparison.status
    if launch.failure is not None and launch.outcome == "crashed":
        advice = advise(case)
        why = "" if advice is None else "state_exhausted" if "state" in advice.detail else advice.reason
        reason = REASON_WORDS.get(why) or FAILURE_WORDS[launch.failure.kind]
        phase = PHASE_WORDS.get(launch.failure.phase, f"in phase {launch.failure.phase}")
        return f"Crashed {phase}: {reason}.{_since_good(case)}"
    outcome = OUTCOME_WORDS.get(launch.outcome, launch.outcome.capitalize())
    if status == "explained" and case.comparison.actual_tokens is not None:
        if any(cause.code == "user_cap" for cause in case.causes):
            return f"{outcome}. The KV cache is as large as --max-total-tokens lets it be."
        return f"{outcome}. The KV cache is exactly as large as SGLang's formula makes it."
    if status == "explained_with_residual":
        gap = case.comparison.gap_gib
        size = "" if gap is None else f" but for {_gib(abs(gap.value))}"
        return f"{outcome}. The KV cache is as large as SGLang's formula makes it{size}."
    if status == "unexplained":
        return f"{outcome}. The KV cache is not as large as SGLang's formula makes it."
    if case.comparison.actual_tokens is None:
        return f"{outcome}. The log holds no KV cache size."
    return f"{outcome}. The KV cache cannot be checked against SGLang's formula."


def _capacity(case: Case) -> str | None:
    actual, row = case.comparison.actual_tokens, case.row
    if actual is None:
        return None
    size = "" if case.kv_gib is None else f" ({_gib(case.kv_gib)})"
    tokens = row["kv_tokens"] if row is not None and row["kv_tokens"] is not None else actual
    swa = None if row is None else row["swa_tokens"]
    window = "" if swa is None else f" for full attention and {_tokens(swa)} for the sliding window"
    if tokens != actual and swa is None:
        return f"max_total_num_tokens is {_tokens(actual)}; each GPU's pool holds {_tokens(tokens)} tokens{size}."
    return f"Each GPU holds {_tokens(tokens)} tokens{window}{size}."


def _budget(case: Case) -> str | None:
    row, fraction, expectation = case.row, case.fraction, case.expectation
    if row is None or fraction is None or row["before_load_gib"] is None or row["sizing_gib"] is None:
        return None
    share = 1 - fraction.interval.value
    readings = [] if case.inputs is None else case.inputs.readings
    befores = [reading.before_load for reading in readings if reading.before_load is not None]
    afters = [reading.after_load for reading in readings if reading.after_load is not None]
    before = Interval.minimum(*befores).value if befores else row["before_load_gib"]
    after = Interval.minimum(*afters).value if afters else row["sizing_gib"]
    reserve = before * share
    text = (
        f"{_releases(case)} keeps {share * 100:.3g} % of the memory that was free before loading, "
        f"{before:.2f} GiB, out of the cache: {reserve:.2f} GiB. "
        f"{_gib(after)} free after the weights minus that reserve leaves {_gib(_left(case, after - reserve))}"
    )
    if expectation is None or expectation.bytes_per_token is None:
        return text + "."
    budget, per_token = expectation.kv_budget_gib, expectation.bytes_per_token.value
    shown = f"{per_token:,.0f}" if expectation.bytes_per_token.width < 1 else f"about {per_token:,.0f}"
    if budget is not None and abs(budget.value - (after - reserve)) >= 0.01:
        return f"{text}, of which the KV cache gets {_gib(budget)} at {shown} bytes a token."
    return f"{text}, at {shown} bytes a token."


def _left(case: Case, computed: float) -> float:
    """The budget as the pool's own line rounds it, where that line confirms the computed value; else as computed."""
    budget = None if case.expectation is None else case.expectation.kv_budget_gib
    printed = case.kv_gib
    if case.comparison.status != "explained" or budget is None or printed is None:
        return computed
    return printed.value if budget.holds(printed.value) and abs(budget.value - computed) < 0.005 else computed


CONSUMERS = {
    "graphs": "CUDA graphs",
    "draft-weights": "the draft model",
    "draft-kv": "its KV cache",
    "draft-graphs": "its graphs",
    "other": "tables that no line prints",
}


def _reserve_use(case: Case) -> str | None:
    if not case.ledgers or case.launch.outcome == "crashed":
        return None
    ledger = case.ledgers[0]
    free = ledger.free
    present = [name for kind, name in CONSUMERS.items() if any(item.kind == kind for item in ledger.items)]
    taken = ledger.total(*CONSUMERS)
    if free is None or not present:
        return None
    names = present[0] if len(present) == 1 else f"{', '.join(present[:-1])} and {present[-1]}"
    left = f"{free.value:.2f} GiB are left for activations"
    if case.launch.outcome == "incomplete":
        left = f"{free.value:.2f} GiB were free when the log ends"
    if taken.high < 0:
        return f"After {names} {-taken.value:.2f} GiB more were free than before them, {left}."
    return f"The reserve is not idle: {names} took {taken.value:.2f} GiB, {left}."


def _why_not(case: Case) -> str | None:
    comparison = case.comparison
    if comparison.status == "not_checkable":
        return f"Not checkable: missing {'; '.join(comparison.missing)}." if comparison.missing else None
    if comparison.status in {"unexplained", "explained_with_residual"} and comparison.expected is not None:
        low, high = comparison.expected.low, comparison.expected.high
        gap = comparison.gap_tokens or 0
        side = "more" if gap > 0 else "fewer"
        size = "" if comparison.gap_gib is None else f" ({_gib(abs(comparison.gap_gib.value))})"
        given = f"The formula gives {_tokens(low)} to {_tokens(high)} tokens"
        return f"{given}: {_tokens(abs(gap))} {side} were printed{size}."
    return None


def verdict(case: Case) -> list[str]:
    """The title and the sentences of the first screen, plain text."""
    sentences = [title(case)]
    failure = case.launch.failure
    if case.launch.outcome == "crashed" and failure is not None:
        sentences += _advice(case)
        rank = "" if failure.rank is None or failure.rank.tp is None else f" on rank TP{failure.rank.tp}"
        first = failure.text.splitlines()[0] if failure.text else ""
        sentences.append(f"Line {failure.line}{rank}: {first}")
    parts = (_capacity(case), _budget(case), _reserve_use(case), _why_not(case))
    sentences += [part for part in parts if part is not None]
    return sentences
