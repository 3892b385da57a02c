"""One kind of log line as data: where to find it, how to read it, which releases print it, and how it looks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from logaudit.interval import Interval
from logaudit.scan.line import RankTag

Unit = Literal[
    "gib",
    "mib",
    "kib",
    "size",
    "gb_decimal",
    "bytes",
    "bytes_rounded",
    "tokens",
    "slots",
    "requests",
    "count",
    "s",
    "fraction",
    "fraction_rounded",
    "ratio",
    "text",
]
"""Unit of a field as printed, and with it the type in the record.

`gib`, `mib`, `kib` and `size` (a figure with its own unit, `512.00 MiB`) become `Interval` in GiB; `gb_decimal` (host
memory, 1e9 bytes) an `Interval` in decimal GB; `bytes_rounded` (a printed decimal of bytes) and `fraction_rounded` (a
printed decimal of a fraction) an `Interval` in their own unit. `bytes`, `tokens`, `slots`, `requests` and `count`
become `int`; `s`, `fraction` and `ratio` `float`.
"""

Value = Interval | int | float | str
"""A converted field: GiB interval, whole number, exact float, or text."""


@dataclass(frozen=True, slots=True)
class Field:
    """A named figure of a line."""

    name: str
    """Name in the record, with its unit: `avail_gib`, `tokens`, `elapsed_s`."""
    unit: Unit
    groups: tuple[str, ...] = ()
    """Regex groups that can hold it, first that matched wins; empty: the group of the same name."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A line of this kind as a release prints it: documentation and test in one."""

    text: str
    releases: str
    """`0.4.4..0.5.12`, `0.5.3` or `` when unknown."""
    values: Mapping[str, str] = field(default_factory=dict)
    """Field name -> text as printed, worked out by hand, for the fields that this wording has."""


@dataclass(frozen=True, slots=True)
class Extractor:
    """How one kind of line is recognised and read.

    Adding a wording is adding a sample and, if need be, a branch of the pattern.
    """

    kind: str
    phase: str
    """launch, distributed, weights, sizing, pools, draft, graphs, scheduler, serving, failures."""
    anchors: tuple[str, ...]
    """Literals of which every line of this kind holds at least one: what the fast scan looks for."""
    pattern: str
    """Regular expression (package `regex`), matched at the start of the message."""
    fields: tuple[Field, ...]
    releases: str
    samples: tuple[Sample, ...]
    note: str = ""
    printed_by: str = "every rank"
    bulk: bool = False
    """Printed so often (per batch, per progress step) that its anchors stay out of the fast scan's set."""
    fallback: bool = False
    """Tried only when no other kind matches, for wordings so general that they contain those of other kinds."""


@dataclass(frozen=True, slots=True)
class Record:
    """One line understood."""

    kind: str
    line: int
    """1-based line in the source as given."""
    time: datetime | None
    rank: RankTag
    fields: Mapping[str, Value]
    text: str
    """The message, for quoting as evidence."""
    stream: str = ""
    order: int = 0
    """Place among the records of its launch, in order of time: lines can share a number or stand out of order."""
    releases: str = ""
    """The releases with samples worded like this line (`0.4.4..0.5.8`, ranges joined by commas), `` when none is."""


@dataclass(frozen=True, slots=True)
class Unrecognised:
    """A line that looks like memory accounting and is of no known kind."""

    line: int
    """1-based line in the source as given."""
    text: str
    similar_kind: str | None
    """The known kind whose wording is nearest; None where none is near."""
    rank: RankTag = field(default_factory=RankTag)
    stream: str = ""
    order: int = 0
    """Place among the records of its launch, in order of time: lines can share a number or stand out of order."""
