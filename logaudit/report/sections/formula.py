"""The formula with its numbers, and what it gives against what was printed."""

from __future__ import annotations

from logaudit.report.blocks import Block, Cell, Column, Paragraph, Row, Table
from logaudit.report.document import Bounds, LaunchDoc, Reconciliation, TermInput, TermRow
from logaudit.report.figures import count, gib, number, range_of
from logaudit.report.inline import Inline, code, join, one_line, prose, words
from logaudit.report.links import Links


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
            results.append(words(f"{figure} {_label(term, unit)}"))
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


def _label(term: TermRow, unit: str) -> str:
    """The unit of a result; a whole count is of tokens unless its step names requests or slots."""
    if unit != "tokens":
        return one_line(unit)
    return next((word for word in ("requests", "slots") if word in term.name), "tokens")


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
