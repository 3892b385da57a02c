"""Writes the report for a terminal: a first screen within 80 columns and 40 lines, and everything with `full`."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from logaudit.report.blocks import (
    Block,
    Cell,
    Command,
    FindingBlock,
    Fold,
    LaunchView,
    Paragraph,
    Quoted,
    ReportView,
    Row,
    Section,
    Table,
    Tone,
)
from logaudit.report.document import Document
from logaudit.report.inline import Inline, clip, plain
from logaudit.report.view import report_view

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

SCREEN_LINES = 40
_EMPTY = (Cell(), Cell())
_WHOLE_HEADING = 24
"""A row's heading of up to so many columns is not broken."""
_NARROWEST = 8
"""Columns that running text needs at least."""
_GAP = 2
_STYLES: dict[Tone, str] = {"good": "bold green", "notice": "bold blue", "warning": "bold yellow", "bad": "bold red"}
_SEVERITY: dict[str, str] = {"critical": "bold red", "warning": "bold yellow", "notice": "bold blue", "info": "bold"}


def render_text(document: Document, *, full: bool, colour: bool, width: int) -> str:
    """The report as terminal text, `width` columns wide."""
    report = report_view(document)
    writer = _Writer(colour, width)
    if full:
        return writer.write(_whole(report, width))
    fitting = ""
    first, last = 0, len(_ROOMS) - 1
    while first <= last:
        middle = (first + last) // 2
        tried = writer.write(_first_screen(report, _ROOMS[middle], width))
        if tried.count("\n") <= SCREEN_LINES:
            fitting, last = tried, middle - 1
        else:
            tightest, first = tried, middle + 1
    if fitting:
        return fitting
    lines = tightest.split("\n")
    return "\n".join([*lines[: SCREEN_LINES - 1], "… more with --full", ""])


@dataclass(frozen=True, slots=True)
class _Room:
    """How much of each part goes on the first screen."""

    sentences: int
    ledger: int
    naive: int
    options: int
    quoted: int
    """Characters of a quoted line."""


_ROOMS = (
    _Room(12, 99, 9, 9, 400),
    _Room(12, 99, 3, 4, 300),
    _Room(12, 16, 2, 3, 200),
    _Room(12, 14, 2, 2, 150),
    _Room(8, 12, 1, 2, 150),
    _Room(6, 12, 1, 1, 100),
    _Room(6, 9, 1, 0, 100),
    _Room(5, 8, 0, 0, 80),
    _Room(4, 6, 0, 0, 80),
    _Room(3, 4, 0, 0, 80),
)
"""From generous to tight: the first that fits is taken."""


class _Writer:
    """Renders blocks into a string of a given width."""

    def __init__(self, colour: bool, width: int) -> None:
        self._colour = colour
        self._width = width

    def write(self, items: Iterable[RenderableType]) -> str:
        from rich.console import Console

        out = io.StringIO()
        console: Console = Console(
            file=out,
            width=self._width,
            force_terminal=self._colour,
            color_system="standard" if self._colour else None,
            no_color=not self._colour,
            highlight=False,
            markup=False,
            emoji=False,
            legacy_windows=False,
        )
        for item in items:
            console.print(item)
        return "\n".join(line.rstrip() for line in out.getvalue().split("\n"))


def _first_screen(report: ReportView, room: _Room, width: int) -> list[RenderableType]:
    from rich.text import Text

    out: list[RenderableType] = [Text(clip(report.source_line, 160), "dim")]
    if report.overview:
        out.extend((Text(""), _table(_shortened(report.overview, min(8, room.ledger), last=True), width)))
    for paragraph in report.empty:
        out.extend((Text(""), _inline(paragraph.body)))
    if report.launches:
        out.extend(_first_of(report, report.launches[-1], room, width))
    return out


def _first_of(report: ReportView, launch: LaunchView, room: _Room, width: int) -> list[RenderableType]:
    from rich.text import Text

    out: list[RenderableType] = [Text("")]
    out.extend(_heading(report, launch))
    out.extend(_inline(sentence) for sentence in launch.sentences[: room.sentences])
    if launch.failure:
        out.extend(_quoted(launch.failure, room.quoted))
    options = _by_flag(launch.options) if launch.options else None
    for table, most in ((launch.ledger, room.ledger), (launch.naive, room.naive), (options, room.options)):
        if table and most:
            out.extend((Text(""), _table(_shortened(table, most), width)))
    found = f"Findings: {launch.findings_line}. " if launch.findings_line else ""
    if launch.command:
        found += "A corrected launch command is in the full report. "
    out.extend((Text(""), Text(f"{found}All of it: --full, or -o report.html", "dim")))
    return out


def _heading(report: ReportView, launch: LaunchView) -> list[RenderableType]:
    from rich.text import Text

    title = Text(f"{launch.label}: " if report.overview else "")
    title.append_text(_inline(launch.title))
    title.stylize(_STYLES[launch.tone])
    facts = Text(style="dim")
    for name, value in launch.facts:
        if name == "model":
            facts.append(clip(plain(value), 70))
        elif name in ("SGLang", "parallel"):
            facts.append(" · " if facts.plain else "")
            facts.append(f"SGLang {plain(value)}" if name == "SGLang" else plain(value))
    return [title, facts]


def _shortened(table: Table, most: int, *, last: bool = False) -> Table:
    """At most `most` rows: a ledger keeps its ends and its largest items in order, other tables their first rows."""
    if len(table.rows) <= most:
        return table
    if last:
        kept = table.rows[-most:]
    elif table.name == "ledger":
        ranked = sorted(range(1, len(table.rows) - 1), key=lambda index: -_size(table, index))[: max(0, most - 3)]
        kept = tuple(table.rows[index] for index in sorted((0, *ranked, len(table.rows) - 1)))
        dropped = len(table.rows) - len(kept)
        more = replace(table.rows[1], cells=(replace(table.rows[1].cells[0], body=_more(dropped)), *_EMPTY))
        return replace(table, rows=(*kept[:-1], more, kept[-1]))
    else:
        kept = table.rows[:most]
    return replace(table, rows=kept)


def _by_flag(options: Table) -> Table:
    """The options named by their flag alone, which is short and can be typed."""
    rows = [
        replace(row, cells=(Cell(row.cells[0].small), *row.cells[1:])) if row.cells[0].small else row
        for row in options.rows
    ]
    return replace(options, rows=tuple(rows))


def _more(dropped: int) -> Inline:
    from logaudit.report.inline import words

    return words(f"− {dropped} smaller items, see --full")


def _size(table: Table, index: int) -> float:
    try:
        return float(plain(table.rows[index].cells[1].body).replace(",", "").replace("−", "-"))
    except ValueError:
        return 0.0


def _whole(report: ReportView, width: int) -> list[RenderableType]:
    from rich.text import Text

    out: list[RenderableType] = [Text(report.source_line, "dim")]
    if report.overview:
        out.extend((Text(""), _table(report.overview, width, everything=True)))
    for paragraph in report.empty:
        out.extend((Text(""), _inline(paragraph.body)))
    for launch in report.launches:
        out.append(Text(""))
        out.extend(_heading(report, launch))
        out.extend(_inline(sentence) for sentence in launch.sentences)
        if launch.failure:
            out.extend(_quoted(launch.failure, 1000))
        for table in (launch.ledger, launch.naive, launch.options):
            if table:
                out.extend((Text(""), _table(table, width, everything=True)))
        if launch.command:
            out.extend((Text("\nThe launch command, corrected", "bold"), Text(launch.command.text)))
        for section in launch.sections:
            out.append(Text(f"\n{section.title}\n{'─' * len(section.title)}", "bold"))
            out.extend(_blocks(section.blocks, width))
    out.append(Text(""))
    out.extend(_blocks(report.reading, width))
    return out


def render_sections(
    tone: Tone, title: Inline, sentences: Iterable[Inline], sections: Iterable[Section], *, colour: bool, width: int
) -> str:
    """A page of a title, some sentences and sections as terminal text, `width` columns wide."""
    from rich.text import Text

    heading = _inline(title)
    heading.stylize(_STYLES[tone])
    out: list[RenderableType] = [heading, *map(_inline, sentences)]
    for section in sections:
        out.append(Text(f"\n{section.title}\n{'─' * len(section.title)}", "bold"))
        out.extend(_blocks(section.blocks, width))
    return _Writer(colour, width).write(out)


def _blocks(blocks: Iterable[Block], width: int) -> list[RenderableType]:
    from rich.padding import Padding
    from rich.text import Text

    out: list[RenderableType] = []
    for block in blocks:
        if isinstance(block, Paragraph):
            out.append(_bullet(block) if block.bullet else _inline(block.body))
        elif isinstance(block, Table):
            if out:
                out.append(Text(""))
            out.extend((Text(block.caption, "italic"), _table(block, width, everything=True)))
        elif isinstance(block, Quoted):
            out.extend(_quoted(block, 1000))
        elif isinstance(block, Command):
            out.append(Text(block.text))
        elif isinstance(block, FindingBlock):
            out.extend(_finding(block, width))
        elif isinstance(block, Fold):
            out.append(Text(f"\n{block.summary}", "bold"))
            out.extend(Padding(inner, (0, 0, 0, 2)) for inner in _blocks(block.blocks, width - 2))
    return out


def _finding(block: FindingBlock, width: int) -> list[RenderableType]:
    from rich.text import Text

    title = Text("\n")
    title.append(f"{block.severity}: ", _SEVERITY.get(block.severity, "bold"))
    title.append_text(_inline(block.title))
    out: list[RenderableType] = [title]
    out.extend(_blocks(block.detail, width))
    if block.evidence:
        out.extend(_quoted(block.evidence, 400))
    if block.action:
        out.append(Text("What to do:", "bold"))
        out.extend(_blocks(block.action, width))
    return out


def _bullet(block: Paragraph) -> RenderableType:
    from rich.table import Table as Grid

    grid = Grid.grid(padding=(0, 1))
    grid.add_column(width=1)
    grid.add_column()
    grid.add_row("-", _inline(block.body))
    return grid


def _quoted(block: Quoted, limit: int) -> list[RenderableType]:
    from rich.table import Table as Grid

    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(overflow="fold")
    for entry in block.lines:
        grid.add_row(f"{entry.line}|", clip(entry.text, limit))
    return [grid]


def _table(table: Table, width: int, *, everything: bool = False) -> RenderableType:
    """A table of at most `width` columns; `everything` adds small print, and wide-only columns where they fit."""
    from rich.box import Box
    from rich.table import Table as Grid
    from rich.text import Text

    rule = Box("    \n    \n ── \n    \n    \n    \n    \n    \n")
    grid = Grid(box=rule, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold", expand=False)
    shown, least = _columns(table, width, everything=everything)
    for index in shown:
        column = table.columns[index]
        grid.add_column(
            Text(column.title),
            justify="right" if column.numeric else "left",
            overflow="fold",
            vertical="top",
            min_width=least.get(index),
        )
    for row in table.rows:
        cells = []
        for index in shown:
            cell = row.cells[index] if index < len(row.cells) else Cell()
            with_small = everything or table.name not in ("ledger", "options", "overview")
            cells.append(_cell(cell, numeric=table.columns[index].numeric, with_small=with_small))
        grid.add_row(*cells, style="bold" if row.kind in ("total", "start") else None)
    return grid


def _columns(table: Table, width: int, *, everything: bool) -> tuple[list[int], dict[int, int]]:
    """Which columns are shown, and the width under which a figure or a row's heading would be broken."""
    every = range(len(table.columns))
    widest = {index: max((_width(row, index) for row in table.rows), default=0) for index in every}
    least = {
        index: widest[index]
        for index in every
        if table.columns[index].numeric or (index == 0 and widest[0] <= _WHOLE_HEADING)
    }

    def needed(shown: list[int]) -> int:
        return sum(max(least.get(index, _NARROWEST), 1) + _GAP for index in shown)

    shown = list(every)
    if not everything or needed(shown) > width:
        shown = [index for index in every if not table.columns[index].wide_only]
    return shown, least if needed(shown) <= width else {}


def _width(row: Row, index: int) -> int:
    from rich.cells import cell_len

    return cell_len(plain(row.cells[index].body)) if index < len(row.cells) else 0


def _cell(cell: Cell, *, numeric: bool, with_small: bool) -> Text:
    from rich.cells import cell_len
    from rich.text import Text

    text = _inline(cell.body)
    if cell.small and with_small:
        small = plain(cell.small)
        apart = numeric or cell_len(text.plain) + len(small) > _WHOLE_HEADING
        if text.plain:
            text.append("\n" if apart else " ")
        text.append_text(Text(small, "dim"))
    return text


def _inline(pieces: Inline) -> Text:
    from rich.text import Text

    out = Text()
    for span in pieces:
        out.append(span.text, {"code": "cyan", "strong": "bold", "line": "dim"}.get(span.kind, ""))
    return out
