"""Makes the document out of the cases: the one place where conclusions become the JSON contract."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from logaudit.interval import Interval
from logaudit.launches.keys import key_of
from logaudit.launches.model import Launch, RankKey
from logaudit.reconcile.case import Case
from logaudit.reconcile.findings import all_findings
from logaudit.reconcile.inputs import dp_attention, primary_ranks
from logaudit.reconcile.ledger import Item, Ledger
from logaudit.reconcile.options import Choice
from logaudit.report import document as doc
from logaudit.report.command import corrected_command
from logaudit.report.findings import words_of
from logaudit.report.verdict import verdict
from logaudit.sizing.model import Expectation, Term

MAX_QUOTE = 600
"""Longest quoted line, in characters."""


def bounds(interval: Interval | None) -> doc.Bounds | None:
    """An interval in the document's form."""
    return None if interval is None else doc.Bounds.of(interval)


def rank_info(key: RankKey) -> doc.RankInfo:
    """A rank in the document's form."""
    return doc.RankInfo(tp=key.tp, pp=key.pp, dp=key.dp, ep=key.ep, node=key.node)


def _int(args: Mapping[str, Any], name: str) -> int | None:
    value = args.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _parallelism(launch: Launch) -> doc.Parallelism:
    def size(name: str, part: str) -> int | None:
        if (value := _int(launch.args, name)) is not None:
            return value
        if launch.args_origin in {"dump", "command_line"} and launch.args_complete:
            return max(printed[part], default=0) + 1
        return max(printed[part]) + 1 if any(printed[part]) else None

    keys = [key_of(record) for record in launch.records]
    printed = {part: {getattr(key, part) for key in keys} - {None} for part in ("tp", "pp", "dp", "ep", "attn_cp")}
    dp = _int(launch.args, "dp_size")
    attn_dp = _int(launch.args, "attn_dp_size")
    return doc.Parallelism(
        tp=size("tp_size", "tp"),
        pp=size("pp_size", "pp"),
        dp=max(dp or 1, attn_dp) if attn_dp is not None else size("dp_size", "dp"),
        ep=size("ep_size", "ep"),
        attn_cp=size("attn_cp_size", "attn_cp"),
        nnodes=_int(launch.args, "nnodes"),
        dp_attention=dp_attention(launch),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value != "None" else None


def _method(printed: str) -> str:
    """The method of a load line's `quant=fp8, fmt=e4m3`, spelled as the argument is."""
    return printed.partition(",")[0].removeprefix("quant=").strip()


def _model(case: Case) -> doc.ModelInfo:
    launch = case.launch
    types = [worker.model_type for rank in launch.ranks for worker in rank.workers[:1] if worker.model_type]
    config = case.given.config
    quants = [worker.quant for rank in launch.ranks for worker in rank.workers[:1] if worker.quant]
    attention = None if case.expectation is None else case.expectation.attention
    return doc.ModelInfo(
        path=_text(launch.args.get("model_path")),
        architecture=types[0] if types else (None if config is None else config.architecture),
        quantization=_text(launch.args.get("quantization")) or (_method(quants[0]) if quants else None),
        attention=None if attention == "unknown" else attention,
        config=case.given.config_origin,
    )


def _value(row: Mapping[str, Any], name: str) -> float | None:
    value = row[name]
    return None if value is None else round(float(value), 6)


def _rank_rows(case: Case) -> list[doc.RankRow]:
    rows = []
    by_key = {
        (row["worker"], row["draft_index"], row["tp"], row["pp"], row["dp"], row["node"]): row for row in case.rows
    }
    for rank in case.launch.ranks:
        key = rank.key
        for worker in rank.workers:
            row = by_key[(worker.worker, worker.draft_index, key.tp, key.pp, key.dp, key.node)]
            pools = [
                doc.PoolInfo(
                    name=pool.name,
                    tokens=None if pool.name.startswith("mamba") else pool.tokens,
                    slots=pool.tokens if pool.name.startswith("mamba") else None,
                    gib=None if pool.gib is None else round(pool.gib.value, 6),
                    line=pool.line,
                )
                for pool in worker.pools
            ]
            rows.append(
                doc.RankRow(
                    worker=worker.worker,
                    draft_index=worker.draft_index,
                    rank=rank_info(key),
                    before_load_gib=_value(row, "before_load_gib"),
                    after_load_gib=_value(row, "after_load_gib"),
                    weights_gib=_value(row, "weights_gib"),
                    kv_dtype=worker.kv_dtype,
                    kv_tokens=row["kv_tokens"],
                    k_gib=_value(row, "k_gib"),
                    v_gib=_value(row, "v_gib"),
                    kv_gib=_value(row, "kv_gib"),
                    pools=pools,
                    pool_end_gib=_value(row, "pool_end_gib"),
                    graphs_gib=_value(row, "graphs_gib"),
                    final_gib=_value(row, "final_gib"),
                )
            )
    return rows


def _host_gb(launch: Launch) -> float | None:
    """Host memory of the hierarchical cache of one rank, decimal GB; None when no line prints it."""
    per_rank: dict[tuple[Any, ...], float] = {}
    for record in launch.records:
        value = record.fields.get("host_gb")
        if record.kind == "host_pool" and isinstance(value, int | float | Interval):
            number = value.value if isinstance(value, Interval) else float(value)
            key = (record.rank.tp, record.rank.pp, record.rank.dp)
            per_rank[key] = per_rank.get(key, 0.0) + number
    found = next(iter(per_rank.values()), None)
    return None if found is None else round(found, 6)


def _capacity(case: Case) -> doc.Capacity:
    launch = case.launch
    primary = primary_ranks(launch)
    scheduler = launch.schedulers[0] if launch.schedulers else None
    if launch.schedulers and primary:
        stages = [(rank.key.pp, rank.key.dp) for rank in primary]
        scheduler = next((s for s in launch.schedulers if (s.rank.pp, s.rank.dp) in stages[:1]), scheduler)
    targets = [row for row in case.rows if row["worker"] == "target"]
    first = targets[0] if targets else None
    values = sorted({row["kv_tokens"] for row in targets if row["kv_tokens"] is not None})
    per_rank: list[dict[str, Any]] = []
    if len(values) > 1:
        per_rank = [{"tp": r["tp"], "pp": r["pp"], "dp": r["dp"], "kv_tokens": r["kv_tokens"]} for r in targets]
    replicas = _replicas(launch)
    tokens = case.comparison.actual_tokens
    counts = {s.rank.dp: s.max_total_num_tokens for s in reversed(launch.schedulers)}
    total = None
    if replicas is not None and replicas > 1 and tokens is not None:
        total = sum(counts.values()) if len(counts) == replicas else tokens * replicas
    return doc.Capacity(
        max_total_num_tokens=tokens,
        full_tokens=None if first is None else first["full_tokens"],
        swa_tokens=None if first is None else first["swa_tokens"],
        max_running_requests=None if scheduler is None else scheduler.max_running_requests,
        context_length=None if scheduler is None else scheduler.context_length,
        mamba_slots=None if first is None else first["mamba_slots"],
        host_gb=_host_gb(launch),
        replicas=replicas,
        total_tokens=total,
        per_rank=per_rank,
    )


def _replicas(launch: Launch) -> int | None:
    """How many KV caches of their own the server has: data-parallel replicas, also those of DP attention."""
    sizes = [_int(launch.args, "dp_size"), _int(launch.args, "attn_dp_size")]
    printed = {rank.key.dp for rank in launch.ranks if rank.key.dp is not None}
    known = [size for size in sizes if size is not None] + ([max(printed) + 1] if printed else [])
    return max(known) if known else None


def term_row(term: Term) -> doc.TermRow:
    return doc.TermRow(
        name=term.name,
        text=term.text,
        gib=bounds(term.gib),
        tokens=bounds(term.tokens),
        inputs=[doc.TermInput(i.name, i.value, i.origin, i.line) for i in term.inputs],
        source=term.source,
        number=bounds(term.number),
        unit=term.unit,
    )


def expected_of(expectation: Expectation) -> doc.Expected:
    """An expectation in the document's form."""
    return doc.Expected(
        formula=expectation.formula,
        terms=[term_row(term) for term in expectation.terms],
        kv_budget_gib=bounds(expectation.kv_budget_gib),
        bytes_per_token=bounds(expectation.bytes_per_token),
        tokens=bounds(expectation.tokens),
        swa_tokens=bounds(expectation.swa_tokens),
        mamba_slots=bounds(expectation.mamba_slots),
        max_running_requests=bounds(expectation.max_running_requests),
        mamba_gib=bounds(expectation.mamba_gib),
        assumptions=list(expectation.assumptions),
    )


def _reconciliation(case: Case) -> doc.Reconciliation:
    comparison = case.comparison
    return doc.Reconciliation(
        status=comparison.status,
        actual_tokens=comparison.actual_tokens,
        expected_tokens=bounds(comparison.expected),
        gap_tokens=comparison.gap_tokens,
        gap_gib=bounds(comparison.gap_gib),
        causes=[doc.Cause(c.code, bounds(c.gib), c.tokens, list(c.evidence), c.detail) for c in case.causes],
        missing=list(comparison.missing),
    )


def _item(item: Item) -> doc.LedgerItem:
    kind = "graphs" if item.kind == "draft-graphs" else item.kind
    return doc.LedgerItem(item.item, doc.Bounds.of(item.gib), list(item.evidence), item.detail, item.computed, kind)


def above_the_log(before_load_gib: float, card_gib: float, kept: Mapping[str, float]) -> list[doc.LedgerItem]:
    """The card's memory and what was taken from it before loading; `kept` names the parts that are known.

    What no part explains is the server's own context, the communication buffers and other processes.
    """
    parts = {name: size for name, size in kept.items() if size > 0}
    rest = card_gib - before_load_gib - sum(parts.values())
    parts["context, communication buffers and other processes, before loading"] = rest
    card = doc.LedgerItem("memory of the card", doc.Bounds(card_gib, card_gib, card_gib), [], "given", kind="other")
    return [card] + [
        doc.LedgerItem(name, doc.Bounds(size, size, size), [], "given", kind="other") for name, size in parts.items()
    ]


def _ledger(ledger: Ledger, alike: int, card_gib: float | None) -> doc.LedgerRow:
    return doc.LedgerRow(
        worker="target",
        rank=rank_info(ledger.rank.key),
        items=[_item(item) for item in ledger.items],
        alike=alike,
        before_evidence=[ledger.before_line],
        above=[] if card_gib is None else above_the_log(ledger.before_load.value, card_gib, {}),
    )


def _alike(ledgers: Sequence[Ledger]) -> list[int]:
    """For each ledger, how many have the same items with the same printed figures."""
    shapes = [tuple((item.item, round(item.gib.value, 2)) for item in ledger.items) for ledger in ledgers]
    return [shapes.count(shape) for shape in shapes]


def _adjusted(launch: Launch) -> list[dict[str, Any]]:
    names = {
        "adjust_mem_fraction": ("mem_fraction_static", "fraction"),
        "adjust_page_size": ("page_size", "page_size"),
        "adjust_kv_cache_dtype": ("kv_cache_dtype", "dtype"),
        "adjust_max_running_requests": ("max_running_requests", "requests"),
        "adjust_swa_ratio": ("swa_full_tokens_ratio", "ratio"),
        "adjust_chunked_prefill_dp": ("chunked_prefill_size", "tokens"),
    }
    out = []
    seen = set()
    for record in launch.records:
        if record.kind not in names:
            continue
        name, field_name = names[record.kind]
        value = record.fields.get(field_name)
        shown = value.value if isinstance(value, Interval) else value
        if (name, shown) not in seen:
            seen.add((name, shown))
            out.append({"name": name, "value": shown, "line": record.line, "text": record.text})
    return out


def _fraction(case: Case) -> doc.FractionInfo | None:
    if case.fraction is None:
        return None
    value = case.fraction.interval
    return doc.FractionInfo(value.value, value.low, value.high, case.fraction.origin)


def _version(case: Case) -> doc.VersionBracket:
    bracket = case.bracket
    return doc.VersionBracket(
        low=None if bracket.low is None else str(bracket.low),
        high=None if bracket.high is None else str(bracket.high),
        exact=bracket.exact,
        evidence=list(bracket.evidence),
    )


TIMELINE_WORDS = {
    "load_weight_begin": "before loading {worker}weights",
    "load_weight_end": "{worker}weights loaded",
    "memory_pool_end": "{worker}pools allocated",
    "capture_begin": "before capturing {what}",
    "capture_end": "captured {what}",
    "scheduler_ready": "scheduler ready",
    "post_capture_kv": "KV cache resized after capture",
    "lora_load": "LoRA adapter",
}


def _timeline(case: Case) -> list[doc.TimelineStep]:
    from logaudit.launches.ranks import FREE_KINDS

    rank = case.rank
    if rank is None:
        return []
    drafts = {
        reading.order
        for worker in rank.workers[1:]
        for reading in (worker.before_load, worker.after_load, worker.pool_end)
        if reading is not None
    }
    steps = []
    for record in rank.readings:
        free = record.fields.get("avail_gib")
        if record.kind not in FREE_KINDS or not isinstance(free, Interval):
            continue
        worker = "draft " if record.order in drafts else ""
        what = TIMELINE_WORDS[record.kind].format(worker=worker, what=record.fields.get("what", ""))
        at = None if record.time is None else record.time.isoformat()
        steps.append(doc.TimelineStep(record.line, at, round(free.value, 6), what))
    return steps


def _quotes(launch: Launch, lines: Iterable[int]) -> list[doc.Quote]:
    """The text of every line that the document refers to."""
    wanted = set(lines)
    texts: dict[int, str] = {}
    for record in (*launch.records, *launch.traffic):
        if record.line in wanted:
            texts.setdefault(record.line, record.text)
    quotes = []
    for line in sorted(texts):
        text = texts[line]
        quotes.append(doc.Quote(line, text if len(text) <= MAX_QUOTE else f"{text[:MAX_QUOTE]}…"))
    return quotes


def _referenced(launch: doc.LaunchDoc) -> set[int]:
    lines: set[int] = {step.line for step in launch.timeline}
    for row in launch.ledger:
        lines.update(row.before_evidence)
        lines.update(line for item in row.items for line in item.evidence)
    lines.update(line for cause in launch.reconciliation.causes for line in cause.evidence)
    lines.update(line for finding in launch.findings for line in finding.evidence)
    lines.update(int(entry["line"]) for entry in launch.adjusted_args)
    if launch.failure is not None:
        lines.add(launch.failure.line)
    if launch.expected is not None:
        lines.update(i.line for term in launch.expected.terms for i in term.inputs if i.line is not None)
    return lines


def _failure(launch: Launch) -> doc.FailureInfo | None:
    failure = launch.failure
    if failure is None:
        return None
    rank = None if failure.rank is None else rank_info(failure.rank)
    return doc.FailureInfo(failure.kind, failure.phase, failure.text, failure.line, rank)


def plain_args(value: Any) -> Any:
    """Arguments with only JSON types: anything else as its text."""
    if isinstance(value, Mapping):
        return {str(key): plain_args(part) for key, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain_args(part) for part in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _option(choice: Choice) -> doc.Option:
    return doc.Option(
        choice.change, choice.flag, bounds(choice.tokens), bounds(choice.headroom_gib), choice.risk, choice.why
    )


def launch_document(
    case: Case, unrecognised: Sequence[doc.Unrecognised] = (), options: Sequence[Choice] = ()
) -> doc.LaunchDoc:
    """One launch in the document's form; nothing is redacted yet."""
    from msgspec.structs import replace

    launch = case.launch
    alike = _alike(case.ledgers)
    found_by_rules = all_findings(case)
    found = doc.LaunchDoc(
        index=launch.index,
        source=launch.source,
        outcome=launch.outcome,
        failure=_failure(launch),
        lines=doc.LineSpan(launch.first_line, launch.last_line),
        started_at=None if launch.started_at is None else launch.started_at.isoformat(),
        ready_at=None if launch.ready_at is None else launch.ready_at.isoformat(),
        sglang_version=_version(case),
        model=_model(case),
        parallelism=_parallelism(launch),
        server_args=plain_args(launch.args),
        mem_fraction_static=_fraction(case),
        ranks=_rank_rows(case),
        capacity=_capacity(case),
        expected=None if case.expectation is None else expected_of(case.expectation),
        reconciliation=_reconciliation(case),
        naive=[doc.NaiveSum(n.belief, n.gib, n.tokens, n.off_by_gib, n.why) for n in case.naive],
        ledger=[
            _ledger(ledger, count, case.given.gpu_memory_gib) for ledger, count in zip(case.ledgers, alike, strict=True)
        ],
        options=[_option(choice) for choice in options],
        findings=words_of(found_by_rules),
        unrecognised=list(unrecognised),
        verdict=verdict(case),
        corrected_command=corrected_command(case, found_by_rules),
        timeline=_timeline(case),
        adjusted_args=_adjusted(launch),
        notes=list(launch.notes),
    )
    return replace(found, quotes=_quotes(launch, _referenced(found)))
