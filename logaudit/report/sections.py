"""What follows the first screen: the formula, ranks, time line, findings, arguments, what was not understood, how it was read."""

from __future__ import annotations

import json
from typing import Any

from logaudit.report.blocks import (
    Block,
    Cell,
    Column,
    FindingBlock,
    Fold,
    Paragraph,
    Row,
    Section,
    Table,
)
from logaudit.report.document import Bounds, Document, Finding, LaunchDoc, RankRow, Reconciliation, TermInput, TermRow
from logaudit.report.figures import (
    clock,
    count,
    duration,
    gib,
    moment,
    number,
    range_of,
    rank_name,
    release,
    seconds_between,
    size,
)
from logaudit.report.inline import Inline, clip, code, join, one_line, paragraphs, prose, strong, words
from logaudit.report.ledger_view import dtype_words, fold_alike, ledger_table, pool_words
from logaudit.report.links import Links
from logaudit.report.picture import memory_picture, timeline_picture

ORDER = ("critical", "warning", "notice", "info")
_MEMORY_ARGS = (
    "mem_fraction_static",
    "max_total_tokens",
    "max_running_requests",
    "context_length",
    "kv_cache_dtype",
    "page_size",
    "dtype",
    "quantization",
    "chunked_prefill_size",
    "max_prefill_tokens",
    "tp_size",
    "pp_size",
    "dp_size",
    "ep_size",
    "enable_dp_attention",
    "nnodes",
    "swa_full_tokens_ratio",
    "disable_hybrid_swa_memory",
    "hybrid_kvcache_ratio",
    "cuda_graph_max_bs",
    "disable_cuda_graph",
    "attention_backend",
    "disable_radix_cache",
    "enable_memory_saver",
    "cpu_offload_gb",
    "model_path",
)
_MEMORY_PREFIXES = ("speculative_", "mamba_", "max_mamba", "hicache_", "enable_hierarchical", "attn_cp", "cuda_graph_")


def matters(name: str) -> bool:
    """Whether an argument bears on memory."""
    return name in _MEMORY_ARGS or name.startswith(_MEMORY_PREFIXES)


def sections_of(document: Document, launch: LaunchDoc, links: Links) -> tuple[Section, ...]:
    """The sections after the first screen, in order; one without content is left out."""
    made = (
        ("formula", "The formula, with the numbers in it", formula_blocks(launch, links)),
        ("ranks", "Ranks", rank_blocks(launch, links)),
        ("timeline", "Time line", timeline_blocks(launch, links)),
        ("findings", "Findings", finding_blocks(launch, links)),
        ("arguments", "What SGLang was told", argument_blocks(document, launch, links)),
        ("unknown", "Not understood", unknown_blocks(launch, links)),
        ("read", "How this was read", read_blocks(document, launch)),
    )
    sections = [Section(f"{links.prefix}-{name}", title, blocks) for name, title, blocks in made if blocks]
    quotes = links.all()
    if quotes:
        sections.append(Section(f"{links.prefix}-quotes", "Lines quoted from the log", (quotes,)))
    return tuple(sections)


def formula_blocks(launch: LaunchDoc, links: Links) -> tuple[Block, ...]:
    """Each term with its numbers and where they came from, then the result against the printed figure."""
    blocks: list[Block] = []
    expected = launch.expected
    if expected and expected.terms:
        rows = tuple(_term_row(term, links) for term in expected.terms)
        columns = (Column("step"), Column("with the numbers"), Column("gives", numeric=True), Column("from"))
        blocks.append(Table(f"The formula {one_line(expected.formula)}", columns, rows, "formula"))
    blocks.extend(_comparison(launch))
    blocks.extend(_causes(launch.reconciliation, links))
    return tuple(blocks)


def _term_row(term: TermRow, links: Links) -> Row:
    results: list[Inline] = []
    ranges: list[str] = []
    for bounds, unit in ((term.gib, "GiB"), (term.tokens, "tokens"), (term.number, term.unit)):
        if bounds is not None:
            figure = gib(bounds.value) if unit == "GiB" else number(bounds.value)
            label = unit if unit != "tokens" or not term.unit else term.unit
            results.append(words(f"{figure} {one_line(label)}"))
            ranges.append(range_of(bounds, unit))
    small = words("; ".join(filter(None, ranges)))
    origin = join((_input(given, links) for given in term.inputs), "; ")
    return Row(
        (
            Cell(words(term.name), small=words(term.source)),
            Cell(prose(term.text)),
            Cell(join(results), small=small),
            Cell(origin),
        )
    )


_ORIGINS = {"server_args": "server arguments", "command_line": "launch command", "model_config": "model config"}


def _input(given: TermInput, links: Links) -> Inline:
    place = links.line(given.line) if given.line is not None else words(_ORIGINS.get(given.origin, given.origin))
    return join((words(f"{given.name} = {given.value}"), place), ", ")


def _comparison(launch: LaunchDoc) -> list[Block]:
    """Expected and printed figures side by side."""
    expected, capacity = launch.expected, launch.capacity
    if expected is None:
        return []
    printed = launch.reconciliation.actual_tokens
    pairs: list[tuple[str, Bounds | None, float | None]] = [
        ("tokens (max_total_num_tokens)", expected.tokens, printed),
        ("sliding-window tokens", expected.swa_tokens, capacity.swa_tokens),
        ("mamba slots", expected.mamba_slots, capacity.mamba_slots),
        ("max_running_requests", expected.max_running_requests, capacity.max_running_requests),
    ]
    rows = [_pair(label, bounds, actual) for label, bounds, actual in pairs if bounds is not None]
    if not rows:
        return []
    columns = (
        Column("figure"),
        Column("formula gives", numeric=True),
        Column("printed", numeric=True),
        Column("so"),
    )
    return [Table("Formula against log", columns, tuple(rows), "comparison")]


def _pair(label: str, bounds: Bounds, actual: float | None) -> Row:
    spread = range_of(bounds, "tokens") or count(bounds.value)
    if actual is None:
        verdict = "not printed"
    elif bounds.low <= actual <= bounds.high:
        verdict = "inside the bounds"
    elif actual < bounds.low:
        verdict = f"{count(bounds.low - actual)} below the bounds"
    else:
        verdict = f"{count(actual - bounds.high)} above the bounds"
    return Row(
        (
            Cell(words(label)),
            Cell(words(spread)),
            Cell(words(count(actual) if actual is not None else "–")),
            Cell(words(verdict)),
        )
    )


def _causes(reconciliation: Reconciliation, links: Links) -> list[Block]:
    blocks: list[Block] = []
    if reconciliation.gap_tokens:
        gap = f"The gap is {count(reconciliation.gap_tokens)} tokens"
        if reconciliation.gap_gib:
            gap += f", {gib(reconciliation.gap_gib.value)} GiB"
        blocks.append(Paragraph(words(gap + ".")))
    if reconciliation.causes:
        rows = tuple(
            Row(
                (
                    Cell(code(cause.code)),
                    Cell(words(gib(cause.gib.value) if cause.gib else "–"), small=words(range_of(cause.gib, "GiB"))),
                    Cell(words(count(cause.tokens) if cause.tokens is not None else "–")),
                    Cell(join((prose(cause.detail), links.lines(cause.evidence)))),
                )
            )
            for cause in reconciliation.causes
        )
        columns = (Column("cause"), Column("GiB", numeric=True), Column("tokens", numeric=True), Column("evidence"))
        blocks.append(Table("Causes", columns, rows, "causes"))
    return blocks


def rank_blocks(launch: LaunchDoc, links: Links) -> tuple[Block, ...]:
    """One row a rank and worker, alike ranks folded, the deciding minimum marked; ledgers of ranks that differ."""
    if not launch.ranks:
        return ()
    folded = fold_alike(launch.ranks)
    several = len([1 for row, _ in folded if row.worker == "target"]) > 1
    lowest = _lowest([row for row, _ in folded if row.worker == "target"]) if several else {}
    rows = tuple(_rank_row(row, names, lowest) for row, names in folded)
    columns = (
        Column("rank"),
        Column("free before", numeric=True),
        Column("weights", numeric=True),
        Column("free after", numeric=True),
        Column("KV tokens", numeric=True),
        Column("KV", numeric=True),
        Column("dtype", wide_only=True),
        Column("after pools", numeric=True),
        Column("graphs", numeric=True),
        Column("final", numeric=True),
    )
    blocks: list[Block] = [Table("Ranks and workers, in GiB", columns, rows, "ranks")]
    if lowest:
        blocks.append(
            Paragraph(words("“lowest” marks the smallest reading of all ranks: it decides the size on every rank."))
        )
    pools = [(names, row) for row, names in folded if pool_words(row)]
    blocks.extend(
        Paragraph(join((words(f"{_worker(row)} {names}: "), pool_words(row)), ""), bullet=True) for names, row in pools
    )
    blocks.extend(_per_replica(launch))
    others = launch.ledger[1:]
    if others:
        inner: list[Block] = []
        for index, row in enumerate(others, 1):
            picture = memory_picture(launch, row, f"{links.prefix}-memory-{index}", small=True)
            if picture:
                inner.append(picture)
            inner.append(ledger_table(launch, row, links))
        blocks.append(Fold(f"Ledgers of the other ranks ({len(others)})", tuple(inner)))
    return tuple(blocks)


_READINGS = ("before_load_gib", "after_load_gib")


def _lowest(rows: list[RankRow]) -> dict[str, float]:
    lowest: dict[str, float] = {}
    for name in _READINGS:
        known = [value for row in rows if (value := getattr(row, name)) is not None]
        if len(set(known)) > 1:
            lowest[name] = min(known)
    return lowest


def _rank_row(row: RankRow, names: str, lowest: dict[str, float]) -> Row:
    def reading(name: str) -> Cell:
        value: float | None = getattr(row, name)
        marked = row.worker == "target" and name in lowest and value == lowest[name]
        return Cell(words(_or_dash(value)), small=strong("lowest") if marked else ())

    return Row(
        (
            Cell(words(names), small=words(_worker(row))),
            reading("before_load_gib"),
            Cell(words(_or_dash(row.weights_gib))),
            reading("after_load_gib"),
            Cell(words(count(row.kv_tokens) if row.kv_tokens is not None else "–")),
            Cell(words(_or_dash(row.kv_gib)), small=_key_value(row)),
            Cell(dtype_words(row)),
            Cell(words(_or_dash(row.pool_end_gib))),
            Cell(words(_or_dash(row.graphs_gib))),
            Cell(words(_or_dash(row.final_gib))),
        )
    )


def _or_dash(value: float | None) -> str:
    return gib(value) if value is not None else "–"


def _key_value(row: RankRow) -> Inline:
    if row.k_gib is None or row.v_gib is None:
        return ()
    return words(f"K {gib(row.k_gib)} V {gib(row.v_gib)}")


def _worker(row: RankRow) -> str:
    if row.worker != "draft":
        return one_line(row.worker)
    return "draft" if not row.draft_index else f"draft {row.draft_index}"


def _per_replica(launch: LaunchDoc) -> list[Block]:
    """The capacity values that differ between replicas or stages, as the document lists them."""
    capacity = launch.capacity
    blocks: list[Block] = []
    if capacity.replicas and capacity.replicas > 1 and capacity.total_tokens is not None:
        blocks.append(
            Paragraph(words(f"{capacity.replicas} replicas hold {count(capacity.total_tokens)} tokens together."))
        )
    if capacity.per_rank:
        names = list(dict.fromkeys(name for entry in capacity.per_rank for name in entry))
        rows = tuple(Row(tuple(Cell(words(_value(entry.get(name)))) for name in names)) for entry in capacity.per_rank)
        columns = tuple(
            Column(one_line(name), numeric=all(_is_number(entry.get(name)) for entry in capacity.per_rank))
            for name in names
        )
        blocks.append(Table("Capacity where ranks or replicas differ", columns, rows, "per-rank"))
    return blocks


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


def _value(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return count(value)
    if isinstance(value, float):
        return number(value)
    if isinstance(value, dict):
        return " ".join(f"{key.upper()}{entry}" for key, entry in value.items() if entry is not None) or "–"
    return str(value)


def timeline_blocks(launch: LaunchDoc, links: Links) -> tuple[Block, ...]:
    """Free memory at each reading, what happened before it, and when."""
    if not launch.timeline:
        return ()
    rows: list[Row] = []
    previous: float | None = None
    for step in launch.timeline:
        since = seconds_between(launch.started_at or launch.timeline[0].at, step.at)
        change = "" if previous is None else _signed(step.free_gib - previous)
        rows.append(
            Row(
                (
                    Cell(words(step.what)),
                    Cell(words(gib(step.free_gib))),
                    Cell(words(change)),
                    Cell(words(clock(step.at)), small=words(f"after {duration(since)}" if duration(since) else "")),
                    Cell(links.line(step.line)),
                )
            )
        )
        previous = step.free_gib
    columns = (
        Column("reading"),
        Column("GiB free", numeric=True),
        Column("change", numeric=True),
        Column("time"),
        Column("line"),
    )
    who = f" on {rank_name(launch.ranks[0].rank)}" if launch.ranks and rank_name(launch.ranks[0].rank) != "GPU" else ""
    blocks: list[Block] = []
    picture = timeline_picture(launch, f"{links.prefix}-steps")
    if picture:
        blocks.append(picture)
    blocks.append(Table(f"Free memory over the start{who}", columns, tuple(rows), "timeline"))
    took = duration(seconds_between(launch.started_at, launch.ready_at))
    if took:
        blocks.append(Paragraph(words(f"From the first line to ready: {took}.")))
    return tuple(blocks)


def _signed(value: float) -> str:
    text = gib(abs(value))
    if text == "0.00":
        return "0.00"
    return ("−" if value < 0 else "+") + text


def finding_blocks(launch: LaunchDoc, links: Links) -> tuple[Block, ...]:
    """Worst first."""
    ranked = sorted(launch.findings, key=lambda found: ORDER.index(found.severity) if found.severity in ORDER else 9)
    return tuple(_finding(found, links) for found in ranked)


def _finding(found: Finding, links: Links) -> FindingBlock:
    return FindingBlock(
        severity=one_line(found.severity),
        code=one_line(found.code),
        title=prose(found.title),
        detail=_paragraphs(found.detail),
        action=_paragraphs(found.action),
        evidence=links.quote(found.evidence),
    )


def _paragraphs(text: str) -> tuple[Paragraph, ...]:
    return tuple(Paragraph(body, bullet=kind == "li") for kind, body in paragraphs(text))


def argument_blocks(document: Document, launch: LaunchDoc, links: Links) -> tuple[Block, ...]:
    """The arguments that bear on memory, those that SGLang changed marked, the rest folded away."""
    args = launch.server_args
    adjusted = {str(entry.get("name")): entry for entry in launch.adjusted_args}
    shown = [name for name in (*_MEMORY_ARGS, *sorted(args)) if name in args and matters(name)]
    shown = [name for name in dict.fromkeys(shown) if _says_something(args[name]) or name in adjusted]
    blocks: list[Block] = []
    if shown or adjusted:
        names = [*shown, *(name for name in adjusted if name not in shown)]
        rows = tuple(_argument(name, args.get(name), adjusted.get(name), links) for name in names)
        columns = (Column("argument"), Column("value"), Column("changed by SGLang"))
        blocks.append(Table("Arguments that bear on memory", columns, rows, "arguments"))
    rest = [name for name in args if name not in shown]
    if rest:
        rows = tuple(Row((Cell(code(name)), Cell(code(_argument_value(args[name]))))) for name in rest)
        table = Table("The other arguments", (Column("argument"), Column("value")), rows, "other-arguments")
        blocks.append(Fold(f"The other {len(rest)} arguments", (table,)))
    if not args:
        blocks.append(Paragraph(words("No server arguments were printed in this log.")))
    if document.redacted:
        blocks.append(Paragraph(words(redacted_words(document))))
    return tuple(blocks)


def _says_something(value: Any) -> bool:
    return value is not None and value is not False and value != ""


def _argument(name: str, value: Any, change: dict[str, Any] | None, links: Links) -> Row:
    said: Inline = ()
    if change is not None:
        line = change.get("line")
        reference = links.line(line) if isinstance(line, int) else ()
        said = join((strong("changed"), words(change.get("text") or ""), reference))
        value = change.get("value", value)
    return Row((Cell(code(name)), Cell(code(_argument_value(value))), Cell(said)), "mark" if change else "")


def _argument_value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return clip(one_line(text), 300)


def redacted_words(document: Document) -> str:
    """`Redacted: 2 api_key, 1 bearer token.`"""
    counted = ", ".join(f"{count} × {one_line(kind)}" for kind, count in sorted(document.redacted.items()))
    return f"Redacted: {counted}."


def unknown_blocks(launch: LaunchDoc, links: Links) -> tuple[Block, ...]:
    """Memory-looking lines that nothing knows, and what was missing."""
    blocks: list[Block] = []
    if launch.unrecognised:
        rows = tuple(
            Row(
                (
                    Cell(links.line(entry.line)),
                    Cell(code(clip(one_line(entry.text), 300))),
                    Cell(code(entry.similar) if entry.similar else ()),
                )
            )
            for entry in launch.unrecognised
        )
        columns = (Column("line"), Column("text"), Column("nearest known kind"))
        blocks.append(Table("Lines that look like memory and that nothing here knows", columns, rows, "unrecognised"))
    if launch.reconciliation.missing:
        blocks.extend(Paragraph(prose("Missing: " + text), bullet=True) for text in launch.reconciliation.missing)
    if launch.expected:
        blocks.extend(Paragraph(prose("Assumed: " + text), bullet=True) for text in launch.expected.assumptions)
    if not blocks:
        blocks.append(Paragraph(words("Every line that looks like memory was recognised, and nothing was assumed.")))
    return tuple(blocks)


def read_blocks(document: Document, launch: LaunchDoc) -> tuple[Block, ...]:
    """Launch bounds, wrappers, version bracket with its evidence, notes."""
    blocks: list[Block] = []
    if launch.source < len(document.sources):
        source = document.sources[launch.source]
        wrappers = ", ".join(one_line(name) for name in source.wrappers) or "none"
        blocks.append(
            Paragraph(
                join(
                    (
                        words(f"This start: lines {launch.lines.first:,} to {launch.lines.last:,} of "),
                        code(source.name),
                        words(f" ({source.lines:,} lines). Wrappers taken off: {wrappers}."),
                    ),
                    "",
                ),
                bullet=True,
            )
        )
    if launch.started_at:
        blocks.append(
            Paragraph(
                words(f"First line at {moment(launch.started_at)}, ready at {moment(launch.ready_at)}."), bullet=True
            )
        )
    version = launch.sglang_version
    exact = "exact" if version.exact else "read off wordings and arguments: SGLang does not print it"
    blocks.append(Paragraph(words(f"SGLang release: {release(version)} ({exact})."), bullet=True))
    blocks.extend(Paragraph(prose(text), bullet=True, small=True) for text in version.evidence)
    model = launch.model
    config = {"given": "was given", "found": "was found on this machine"}.get(model.config or "", "was not available")
    blocks.append(
        Paragraph(words(f"Attention: {model.attention or 'unknown'}. The model's config {config}."), bullet=True)
    )
    blocks.extend(Paragraph(prose(text), bullet=True) for text in launch.notes)
    return tuple(blocks)


def reading_blocks(document: Document) -> tuple[Block, ...]:
    """Sources and redaction, once a report."""
    rows = tuple(
        Row(
            (
                Cell(code(source.name)),
                Cell(words(count(source.lines))),
                Cell(words(size(source.bytes))),
                Cell(words(source.encoding)),
                Cell(words(", ".join(source.wrappers) or "none")),
            )
        )
        for source in document.sources
    )
    columns = (
        Column("source"),
        Column("lines", numeric=True),
        Column("size", numeric=True),
        Column("encoding"),
        Column("wrappers taken off"),
    )
    blocks: list[Block] = [Table("Sources", columns, rows, "sources")] if rows else []
    if document.redacted:
        blocks.append(Paragraph(words(redacted_words(document))))
    return tuple(blocks)
