"""The document as blocks in the order that every face shows: figures formatted, log text kept apart."""

from __future__ import annotations

from logaudit.report.blocks import (
    Cell,
    Column,
    Command,
    LaunchView,
    Paragraph,
    ReportView,
    Row,
    Table,
    Tone,
)
from logaudit.report.document import Bounds, Document, LaunchDoc, NaiveSum, Option
from logaudit.report.figures import count, extent, gib, moment, range_of, release
from logaudit.report.inline import Inline, Span, clean, clip, code, join, one_line, prose, words
from logaudit.report.ledger_view import ledger_table
from logaudit.report.links import Links
from logaudit.report.picture import memory_picture
from logaudit.report.sections import sections_of
from logaudit.report.sections.arguments import by_weight, matters
from logaudit.report.sections.reading import reading_blocks

OUTCOMES: dict[str, Tone] = {"ready": "good", "initialised": "good", "crashed": "bad", "incomplete": "warning"}
STATUSES: dict[str, tuple[str, Tone]] = {
    "explained": ("explained", "good"),
    "explained_with_residual": ("explained, with a residual", "notice"),
    "unexplained": ("not explained", "bad"),
    "not_checkable": ("not checkable", "notice"),
}
SEVERITIES = ("critical", "warning", "notice", "info")
_OVERVIEW_ARGS = 4


def report_view(document: Document) -> ReportView:
    """Everything that a report shows, launches in the order of the log."""
    launches = tuple(launch_view(document, launch) for launch in document.launches)
    names = ", ".join(one_line(source.name) for source in document.sources) or "nothing"
    return ReportView(
        title=clip(names, 120),
        source_line=source_line(document),
        overview=overview(document) if len(document.launches) > 1 else None,
        launches=launches,
        empty=() if launches else _empty(document),
        reading=reading_blocks(document),
    )


def source_line(document: Document) -> str:
    """Which log this is, in one line."""
    shown = [f"{one_line(source.name)} ({extent(source)})" for source in document.sources[:3]]
    if len(document.sources) > 3:
        shown.append(f"{len(document.sources) - 3} more")
    starts = len(document.launches)
    return f"{', '.join(shown)}: {starts or 'no'} {'start' if starts < 2 else 'starts'}"


def launch_view(document: Document, launch: LaunchDoc) -> LaunchView:
    """One server start."""
    links = Links.of(launch)
    status, status_tone = STATUSES.get(launch.reconciliation.status, (one_line(launch.reconciliation.status), "notice"))
    outcome_tone = OUTCOMES.get(launch.outcome, "notice")
    badges: tuple[tuple[str, Tone], ...] = ((one_line(launch.outcome), outcome_tone),)
    if launch.outcome != "crashed" or launch.reconciliation.actual_tokens is not None:
        badges += ((f"KV cache {status}", status_tone),)
    verdict = launch.verdict or [f"{launch.outcome.capitalize()}."]
    main = launch.ledger[0] if launch.ledger else None
    failure = links.quote([launch.failure.line]) if launch.failure else None
    return LaunchView(
        anchor=links.prefix,
        label=f"Start {launch.index}",
        tone=worst(tone for _, tone in badges),
        badges=badges,
        title=prose(verdict[0]),
        sentences=tuple(prose(sentence) for sentence in verdict[1:] if not (failure and _repeats(sentence, launch))),
        facts=facts(launch),
        failure=failure,
        picture=memory_picture(launch, main, f"{links.prefix}-memory") if main else None,
        ledger=ledger_table(launch, main, links) if main else None,
        naive=naive_table(launch.naive) if launch.naive else None,
        options=options_table(launch.options) if launch.options else None,
        command=Command(clean(launch.corrected_command).strip()) if launch.corrected_command else None,
        findings_line=findings_line(launch),
        sections=sections_of(document, launch, links),
    )


def _repeats(sentence: str, launch: LaunchDoc) -> bool:
    """Whether a sentence of the verdict only quotes the line that is quoted under it anyway."""
    told = one_line(launch.failure.text)[:60] if launch.failure else ""
    return bool(told) and told in one_line(sentence) and one_line(sentence).lower().startswith("line ")


def worst(tones: object) -> Tone:
    """The most serious of some tones."""
    order: tuple[Tone, ...] = ("bad", "warning", "notice", "good")
    seen = set(tones)  # type: ignore[call-overload]
    return next((tone for tone in order if tone in seen), "good")


def facts(launch: LaunchDoc) -> tuple[tuple[str, Inline], ...]:
    """What kind of server it was: model, release, parallelism, fraction, when."""
    out: list[tuple[str, Inline]] = []
    model = launch.model
    name = code(clip(one_line(model.path), 90)) if model.path else words("unknown")
    out.append(("model", join((name, words(model.architecture), words(model.quantization)))))
    out.append(("SGLang", words(release(launch.sglang_version))))
    sizes = [
        f"{label} {value}"
        for label, value in (
            ("TP", launch.parallelism.tp),
            ("PP", launch.parallelism.pp),
            ("DP", launch.parallelism.dp),
            ("EP", launch.parallelism.ep),
            ("attention CP", launch.parallelism.attn_cp),
            ("nodes", launch.parallelism.nnodes),
        )
        if value is not None and (value > 1 or label == "TP")
    ]
    if launch.parallelism.dp_attention:
        sizes.append("DP attention")
    if sizes:
        out.append(("parallel", words(", ".join(sizes))))
    fraction = launch.mem_fraction_static
    if fraction:
        origin = ORIGINS.get(fraction.origin, one_line(fraction.origin))
        spread = range_of(Bounds(fraction.value, fraction.low, fraction.high), "")
        out.append(("fraction", words(f"{fraction.value:.4g} ({', '.join(filter(None, (origin, spread)))})")))
    if launch.started_at:
        ready = f", ready {moment(launch.ready_at)}" if launch.ready_at else ""
        out.append(("started", words(moment(launch.started_at) + ready)))
    return tuple(out)


ORIGINS = {
    "server_args": "server arguments",
    "command_line": "launch command",
    "log_line": "a log line",
    "inferred": "inferred from the figures",
}


def naive_table(sums: list[NaiveSum]) -> Table:
    """The sums that people do by hand, and why each is wrong."""
    rows = tuple(
        Row(
            (
                Cell(prose(item.belief)),
                Cell(words(gib(item.gib))),
                Cell(words(count(item.tokens) if item.tokens is not None else "")),
                Cell(prose(item.why)),
            )
        )
        for item in sums
    )
    columns = (
        Column("You may have expected"),
        Column("GiB", numeric=True),
        Column("tokens", numeric=True, wide_only=True),
        Column("but"),
    )
    return Table("Sums that one may have expected, and why they do not hold", columns, rows, "naive")


def options_table(options: list[Option]) -> Table:
    """What would let the cache hold more or less."""
    rows = [
        Row(
            (
                Cell(prose(option.change), small=code(option.flag)),
                Cell(words(count(option.tokens.value) if option.tokens else "–"), small=_small(option.tokens)),
                Cell(words(gib(option.headroom_gib.value) if option.headroom_gib else "–")),
                Cell(prose(option.risk or option.why), small=prose(option.why) if option.risk else ()),
            )
        )
        for option in options
    ]
    columns = (
        Column("To change the capacity"),
        Column("tokens", numeric=True),
        Column("GiB left", numeric=True),
        Column("mind"),
    )
    return Table("What would change the capacity", columns, tuple(rows), "options")


def _small(bounds: Bounds | None) -> Inline:
    return words(range_of(bounds, "tokens"))


def findings_line(launch: LaunchDoc) -> str:
    """How many findings of each severity."""
    counted = []
    for severity in SEVERITIES:
        found = sum(1 for finding in launch.findings if finding.severity == severity)
        if found:
            plural = "s" if found > 1 and severity in ("warning", "notice") else ""
            counted.append(f"{found} {severity}{plural}")
    return ", ".join(counted)


def overview(document: Document) -> Table:
    """One row a start: how it ended, what it holds, what differs from the start before."""
    rows = []
    for position, launch in enumerate(document.launches):
        before = document.launches[position - 1] if position else None
        status, _ = STATUSES.get(launch.reconciliation.status, (launch.reconciliation.status, "notice"))
        tokens = launch.capacity.max_total_num_tokens
        rows.append(
            Row(
                (
                    Cell(
                        (Span("line", f"Start {launch.index}", f"start-{launch.index}"),),
                        small=words(_where(document, launch)),
                    ),
                    Cell(words(_ending(launch))),
                    Cell(words(count(tokens) if tokens is not None else "–")),
                    Cell(words(status)),
                    Cell(differences(before, launch) if before else words("")),
                )
            )
        )
    columns = (
        Column("start"),
        Column("outcome"),
        Column("tokens", numeric=True),
        Column("KV cache"),
        Column("differs from the start before"),
    )
    return Table(f"{len(rows)} starts in this log", columns, tuple(rows), "overview")


def _where(document: Document, launch: LaunchDoc) -> str:
    span = f"lines {launch.lines.first:,} to {launch.lines.last:,}"
    if len(document.sources) > 1 and launch.source < len(document.sources):
        return f"{one_line(document.sources[launch.source].name)}, {span}"
    return span


def _ending(launch: LaunchDoc) -> str:
    if launch.failure is None:
        return one_line(launch.outcome)
    return f"{one_line(launch.outcome)}: {FAILURES.get(launch.failure.kind, 'reason unknown')}"


FAILURES = {
    "memory": "GPU memory",
    "host_memory": "host memory",
    "unbalanced": "unbalanced GPU memory",
    "not_memory": "not memory",
    "unknown": "reason unknown",
}


def differences(before: LaunchDoc, after: LaunchDoc) -> Inline:
    """Arguments and free memory that differ between two starts, the memory ones first."""
    parts: list[Inline] = []
    releases = [release(launch.sglang_version) for launch in (before, after)]
    if releases[0] != releases[1]:
        parts.append(words(f"SGLang {releases[1]} (was {releases[0]})"))
    if before.server_args and after.server_args:
        names = [
            name
            for name in by_weight({**before.server_args, **after.server_args})
            if (before.server_args.get(name) or None) != (after.server_args.get(name) or None)
            and name not in _ALWAYS_DIFFER
        ]
        telling = [name for name in names if matters(name)][:_OVERVIEW_ARGS]
        for name in telling:
            value = after.server_args.get(name)
            parts.append(code(name if value is None else f"{name}={clip(one_line(value), 40)}"))
            parts[-1] += words(" not given") if value is None else ()
        if len(names) > len(telling):
            rest = len(names) - len(telling)
            parts.append(words(f"{rest} {'other' if telling else 'smaller'} argument{'s' if rest > 1 else ''}"))
    free = [_free(launch) for launch in (before, after)]
    if free[0] is not None and free[1] is not None and gib(free[0]) != gib(free[1]):
        parts.append(words(f"free before loading {gib(free[1])} GiB (was {gib(free[0])})"))
    return join(parts) or words("nothing that matters for memory")


_ALWAYS_DIFFER = {"random_seed", "port", "nccl_port", "dist_init_addr"}


def _free(launch: LaunchDoc) -> float | None:
    known = [row.before_load_gib for row in launch.ranks if row.worker == "target" and row.before_load_gib is not None]
    return min(known, default=None)


def _empty(document: Document) -> tuple[Paragraph, ...]:
    read = ", ".join(f"{one_line(source.name)} ({extent(source)})" for source in document.sources)
    return (
        Paragraph(words("No SGLang start was found.")),
        Paragraph(words(f"Read: {read or 'nothing'}.")),
        Paragraph(
            words(
                "A start is known by lines such as “Load weight begin”, “KV Cache is allocated” or "
                "“max_total_num_tokens=”. Is this the server's own log, from its first line on?"
            )
        ),
    )
