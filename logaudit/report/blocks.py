"""What a report is made of: paragraphs, tables, quotes and folds, the same for every face."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Union

from markupsafe import Markup

from logaudit.report.inline import Inline

Tone = Literal["good", "notice", "warning", "bad"]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table; its unit stands in the heading, once."""

    title: str
    numeric: bool = False
    wide_only: bool = False
    """Left out where the page is 80 columns wide."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: what it says, small print under it, and a mark in words."""

    body: Inline = ()
    small: Inline = ()
    swatch: str = ""
    """Class of the part of the picture that this row stands for."""
    letter: str = ""
    """The letter of that part, so that colour is not the only sign."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table; the first cell is its heading."""

    cells: tuple[Cell, ...]
    kind: Literal["", "start", "total", "mark"] = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a caption that can be read alone."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph, or with `bullet` one entry of a list."""

    body: Inline
    bullet: bool = False
    small: bool = False


@dataclass(frozen=True, slots=True)
class QuotedLine:
    """One line of the log as it stands there, cleaned and cut."""

    line: int
    text: str
    anchor: str = ""
    """Id of this quote; empty when it only repeats one that stands elsewhere."""
    target: str = ""
    """Id of the quote that this one repeats."""


@dataclass(frozen=True, slots=True)
class Quoted:
    """Lines quoted from the log."""

    lines: tuple[QuotedLine, ...]


@dataclass(frozen=True, slots=True)
class Command:
    """A command to copy."""

    text: str


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing: SVG markup made by this package, and what it says in words."""

    svg: Markup
    caption: str
    small: bool = False


@dataclass(frozen=True, slots=True)
class FindingBlock:
    """One finding with its evidence."""

    severity: str
    code: str
    title: Inline
    detail: tuple[Paragraph, ...]
    action: tuple[Paragraph, ...]
    evidence: Quoted | None


@dataclass(frozen=True, slots=True)
class Fold:
    """Blocks behind a summary that opens them."""

    summary: str
    blocks: tuple[Block, ...]


Block = Union[Paragraph, Table, Quoted, Command, Figure, FindingBlock, Fold]


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands under it."""

    anchor: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class LaunchView:
    """One server start as the reader meets it."""

    anchor: str
    label: str
    """`Start 0`; shown where a log holds several."""
    tone: Tone
    badges: tuple[tuple[str, Tone], ...]
    title: Inline
    sentences: tuple[Inline, ...]
    facts: tuple[tuple[str, Inline], ...]
    failure: Quoted | None
    picture: Figure | None
    ledger: Table | None
    naive: Table | None
    options: Table | None
    command: Command | None
    findings_line: str
    """`2 warnings, 1 notice`; empty without findings."""
    sections: tuple[Section, ...]


@dataclass(frozen=True, slots=True)
class ReportView:
    """The whole report."""

    title: str
    """For the window and the file: names the source."""
    source_line: str
    overview: Table | None
    launches: tuple[LaunchView, ...]
    empty: tuple[Paragraph, ...]
    """What to say when no start was found."""
    reading: tuple[Block, ...]
    """Sources, redaction and tool version: shown with every report."""
