"""Recognises the cells of Markdown, CSV and tab-separated tables."""

from __future__ import annotations

import csv

import regex

from logaudit.lazy import lazy_pattern
from logaudit.scan.prefix import is_bare, parse_stamp
from logaudit.scan.wrappers import one_line
from logaudit.scan.wrappers.interface import STAMP, Hit

NAME = "table cells"
ORDER = 44
EACH = False
SURE = False
SAMPLES = (
    ("| 1 | [2026-01-02 03:04:05] Load weight begin. |", ("[2026-01-02 03:04:05] Load weight begin.",)),
    ('2026-01-02,"gpu1","[2026-01-02 03:04:05] Load, ""begin""."', ('[2026-01-02 03:04:05] Load, "begin".',)),
    ("| [2026-01-02 03:04:05] Load weight begin. | before 12.00 GB |", ("[2026-01-02 03:04:05] Load weight begin.",)),
    ("gpu1\t[2026-01-02 03:04:05] Load weight begin.", ("[2026-01-02 03:04:05] Load weight begin.",)),
)

_BAR = regex.compile(r"(?<!\\)\|")
_STAMP = lazy_pattern(r"\[\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[^\[\]]{0,100}\] ")
_STAMPED = lazy_pattern(rf"(?P<time>{STAMP}),(?=[^\"\s])")
_PLAIN = regex.compile(r"[\w .:/+@#-]{0,120}")


def _cell(text: str) -> str:
    """A cell without the blank that pads it; further blanks before the text belong to it."""
    return text[1:].rstrip() if text[:1] == " " else text.rstrip()


def _lines(cell: str) -> tuple[str, ...]:
    """The lines of one cell."""
    cell = cell.replace("\\|", "|")
    if "<br" not in cell and "<BR" not in cell:
        return (cell,)
    return tuple(one_line.split(cell))


def _end(inner: str, at: int, ends: list[int], closed: bool) -> int:
    """Where the cell that begins at `at` ends: not at a bar of a progress bar, nor at one inside brackets."""
    last = ends[-1] if closed and ends and ends[-1] >= at else len(inner)
    bar = False
    for end in ends:
        if end < at:
            continue
        if end >= last:
            break
        if bar:
            bar = False
            continue
        if inner[end - 1] == "%":
            bar = True
            continue
        body = inner[at:end]
        if inner[end - 1] == " " and body.count("(") + body.count("{") <= body.count(")") + body.count("}"):
            return end
    return last


def _row(text: str) -> Hit | None:
    inner = text.strip()[1:]
    ends = [found.start() for found in _BAR.finditer(inner)]
    closed = inner.rstrip().endswith("|") and not inner.rstrip().endswith("\\|")
    starts = [0, *(at + 1 for at in ends)]
    for index, at in enumerate(starts[:12]):
        cell = inner[at:].lstrip().lstrip("`* ")
        end = _end(inner, at, ends, closed)
        if is_bare(cell) or _STAMP.search(inner, at, end):
            return Hit(_lines(_cell(inner[at:end])), shape=f"bar {index} {int(closed)}")
    end = ends[-1] if closed and ends else len(inner)
    return Hit(_lines(_cell(inner[:end])), shape=f"bar -1 {int(closed)}")


def match(text: str) -> Hit | None:
    """See `Hit`."""
    start = text.lstrip()
    if start[:1] == "|":
        return _row(text)
    if '"' in text and (',"' in text or '",' in text) and start[:1] not in ("{", "[", "(", "'"):
        try:
            cells = next(csv.reader([text]))
        except (csv.Error, StopIteration):
            return None
        return _pick(cells, "csv")
    if "\t" in start:
        return _pick(text.split("\t"), "tab")
    if text[:2] == "20" and (found := _STAMPED.match(text)):
        return Hit((text[found.end() :],), parse_stamp(found["time"]), shape="csv 1")
    if "," in text and text[:1].isalnum():
        at = text.find(",[2")
        if at > 0 and at < 200:
            return Hit((text[at + 1 :],), shape=f"csv {text.count(',', 0, at) + 1}")
    return None


def _pick(cells: list[str], kind: str) -> Hit | None:
    if not _PLAIN.fullmatch(cells[0]):
        return None
    for index, cell in enumerate(cells):
        if index and is_bare(cell.strip()):
            rest = "\t".join(cells[index:]).strip() if kind == "tab" else cell
            return Hit((rest,), parse_stamp(cells[0]), shape=f"{kind} {index}")
    if kind == "csv" and len(cells) > 1:
        index = max(range(len(cells)), key=lambda at: len(cells[at]))
        return Hit((cells[index],), parse_stamp(cells[0]), shape=f"csv {index}") if index else None
    return None


def follow(text: str, shape: str) -> Hit | None:
    """The same column of the row beside it."""
    kind, index, *closed = shape.split()
    column = int(index)
    if kind == "bar":
        start = text.strip()
        if start[:1] != "|":
            return None
        inner = start[1:]
        ends = [found.start() for found in _BAR.finditer(inner)]
        if len(ends) < column:
            return None
        at = ends[column - 1] + 1 if column > 0 else 0
        shut = closed == ["1"] and inner.endswith("|")
        whole = ends[-1] if shut and ends else len(inner)
        end = whole if column < 0 else _end(inner, at, ends, shut)
        return Hit(_lines(_cell(inner[at:end])), shape=shape)
    if kind == "csv":
        try:
            cells = next(csv.reader([text]))
        except (csv.Error, StopIteration):
            return None
        return Hit((cells[column],), shape=shape) if 0 < column < len(cells) else None
    cells = text.split("\t")
    return Hit(("\t".join(cells[column:]),), shape=shape) if 0 < column < len(cells) else None
