"""A comparison of two starts as blocks, the same for every face."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from logaudit.report.blocks import Block, Cell, Column, Fold, Paragraph, Row, Section, Table, Tone
from logaudit.report.diff import DiffDoc, FigureChange, Side
from logaudit.report.figures import count, gib, moment
from logaudit.report.inline import Inline, clip, code, one_line, prose, words
from logaudit.report.page import PageView

_MOST_ARGUMENTS = 40


def diff_view(document: DiffDoc) -> PageView:
    """The comparison in the order that every face shows."""
    before, after = document.before, document.after
    sections = [
        _section("shares", "Which change accounts for how many tokens", _share_blocks(document)),
        _section("arguments", "Arguments", _argument_blocks(document)),
        _section("memory", "Memory", _memory_blocks(document)),
        _section("capacity", "Capacity", _figure_blocks("As the two starts print it", document.capacity)),
        _section("starts", "The two starts", (_sides(before, after),)),
    ]
    return PageView(
        kind="comparison",
        title=clip(f"{one_line(_name(before))} and {one_line(_name(after))}", 160),
        tone=_tone(document),
        verdict=words(_verdict(document)),
        sentences=tuple(prose(text) for text in _sentences(document)),
        sections=tuple(section for section in sections if section is not None),
    )


def _section(anchor: str, title: str, blocks: tuple[Block, ...]) -> Section | None:
    return Section(anchor, title, blocks) if blocks else None


def _name(side: Side) -> str:
    return f"{side.source}#{side.launch}"


def _tone(document: DiffDoc) -> Tone:
    change = document.tokens_change
    if document.after.outcome == "crashed":
        return "bad"
    if change is None:
        return "notice"
    return "good" if change >= 0 else "warning"


def _verdict(document: DiffDoc) -> str:
    before, after, change = document.before, document.after, document.tokens_change
    if after.outcome == "crashed" and after.tokens is None:
        return "The second start crashed before it had a KV cache."
    if change is None:
        which = "first" if before.tokens is None else "second"
        return f"The {which} start prints no token count, so capacity cannot be compared."
    if change == 0:
        return f"Both hold {count(after.tokens)} tokens."
    percent = f" ({document.tokens_change_percent:+.1f} %)" if document.tokens_change_percent is not None else ""
    how = "more" if change > 0 else "fewer"
    return (
        f"The second start holds {count(abs(change))} tokens {how}{percent.replace('-', '−')}: "
        f"{count(after.tokens)} instead of {count(before.tokens)}."
    )


def _sentences(document: DiffDoc) -> list[str]:
    found = document.explained
    if found.missing:
        return [f"Nothing is said about causes: {'; '.join(found.missing)}."]
    out = []
    if found.shares:
        largest = max(found.shares, key=lambda share: abs(share.tokens))
        names = f", from {largest.before} to {largest.after}" if largest.before and largest.after else ""
        out.append(f"The largest share: {largest.name}{names}, {_signed(largest.tokens)} tokens.")
    elif document.tokens_change == 0:
        out.append("No change of the inputs moves the formula's result.")
    if found.order:
        out.append(found.order)
    return out


def _signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+,.0f}".replace("-", "−")


def _share_blocks(document: DiffDoc) -> tuple[Block, ...]:
    found = document.explained
    if found.missing or (not found.shares and not found.rest_tokens):
        return ()
    rows = [
        Row(
            (
                Cell(code(share.name) if share.name.startswith("--") else words(share.name)),
                Cell(code(share.before)),
                Cell(code(share.after)),
                Cell(words(_signed(share.tokens))),
                Cell(words(_signed(share.as_first))),
                Cell(words(_signed(share.as_last))),
            )
        )
        for share in found.shares
    ]
    if found.rest_tokens is not None and abs(found.rest_tokens) >= 0.5:
        rest = "rounding of the printed figures" if _both_inside(document) else "not explained by the formula"
        rows.append(Row((Cell(words(rest)), Cell(), Cell(), Cell(words(_signed(found.rest_tokens))), Cell(), Cell())))
    total = sum(share.tokens for share in found.shares) + (found.rest_tokens or 0.0)
    rows.append(
        Row((Cell(words("all of it")), Cell(words("–")), Cell(), Cell(words(_signed(total))), Cell(), Cell()), "total")
    )
    columns = (
        Column("change"),
        Column("from"),
        Column("to"),
        Column("tokens", numeric=True),
        Column("if first", numeric=True, wide_only=True),
        Column("if last", numeric=True, wide_only=True),
    )
    blocks: list[Block] = [
        Table("Tokens by change, the formula computed again with one input changed at a time", columns, tuple(rows))
    ]
    blocks += [Paragraph(prose(f"Assumed: {text}"), bullet=True, small=True) for text in found.assumptions]
    return tuple(blocks)


def _both_inside(document: DiffDoc) -> bool:
    return document.before.status == "explained" and document.after.status == "explained"


def _value(value: Any) -> Inline:
    if value is None:
        return words("not given")
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return code(clip(one_line(text), 200)) or words("empty")


def _argument_blocks(document: DiffDoc) -> tuple[Block, ...]:
    memory = [change for change in document.arguments if change.bears_on_memory]
    others = [change for change in document.arguments if not change.bears_on_memory]
    columns = (Column("argument"), Column("first"), Column("second"))

    def table(caption: str, changes: Sequence[Any]) -> Table:
        rows = tuple(
            Row((Cell(code(change.name)), Cell(_value(change.before)), Cell(_value(change.after))))
            for change in changes[:_MOST_ARGUMENTS]
        )
        return Table(caption, columns, rows, "arguments")

    blocks: list[Block] = []
    if memory:
        blocks.append(table("Arguments that bear on memory and differ", memory))
    if others:
        blocks.append(Fold(f"{len(others)} other arguments that differ", (table("The other arguments", others),)))
    return tuple(blocks)


def _memory_blocks(document: DiffDoc) -> tuple[Block, ...]:
    readings = _figure_blocks("Free memory of the rank with least of it", document.readings)
    return readings + _figure_blocks("Where the memory of the deciding rank went", document.ledger)


def _figure_blocks(caption: str, changes: Sequence[FigureChange]) -> tuple[Block, ...]:
    if not changes:
        return ()
    in_gib = changes[0].unit == "GiB"
    show = gib if in_gib else count

    def shown(value: float | None) -> Inline:
        return words("–" if value is None else show(value))

    rows = []
    for change in changes:
        moved = None if change.before is None or change.after is None else change.after - change.before
        sign = "+" if moved is not None and show(abs(moved)) != show(0) and moved > 0 else ""
        rows.append(
            Row(
                (
                    Cell(words(change.what)),
                    Cell(shown(change.before)),
                    Cell(shown(change.after)),
                    Cell(words("–" if moved is None else f"{sign}{show(moved)}")),
                )
            )
        )
    columns = (
        Column("GiB" if in_gib else "what"),
        Column("first", numeric=True),
        Column("second", numeric=True),
        Column("change", numeric=True),
    )
    return (Table(caption, columns, tuple(rows)),)


def _sides(before: Side, after: Side) -> Table:
    rows = (
        ("source", before.source, after.source),
        ("start", str(before.launch), str(after.launch)),
        ("outcome", before.outcome, after.outcome),
        ("started", moment(before.started_at), moment(after.started_at)),
        ("SGLang", before.sglang_version, after.sglang_version),
        ("model", before.model or "unknown", after.model or "unknown"),
        ("KV cache", before.status.replace("_", " "), after.status.replace("_", " ")),
    )
    cells = tuple(Row((Cell(words(name)), Cell(words(old)), Cell(words(new)))) for name, old, new in rows)
    return Table("Where they were read", (Column("what"), Column("first"), Column("second")), cells)
