"""Reading candidate lines: each becomes a record, is noise, or looks like memory accounting that nobody knows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import chain
from typing import Any

import regex

from logaudit.extract.convert import convert
from logaudit.extract.extractor import Extractor, Record, Unrecognised, Value
from logaudit.extract.kinds import (
    distributed,
    draft,
    failures,
    graphs,
    launch,
    pools,
    scheduler,
    serving,
    sizing,
    weights,
)
from logaudit.extract.unknown import Wordings, looks_like_memory, nearest_kind, wordings
from logaudit.lazy import lazy_pattern
from logaudit.scan.line import Line, RankTag

MATCH_TIMEOUT_S = 0.5
"""Longest time that one pattern may spend on one line."""
MAX_MESSAGE_CHARS = 32_768
"""How much of a message is matched; every kind's figures stand far before."""

_MODULES = (launch, distributed, weights, sizing, pools, draft, graphs, scheduler, serving, failures)
_ABOUT = lazy_pattern(r"(?<=\w) ?≈ ?(?=\d)")
_SUFFIX = regex.compile(r" \(rank-check failed: .*\)\s*$")
_DIGITS = regex.compile(r"\d+(?:\.\d+)?")
_MAX_SHAPED_CHARS = 1000
_ANCHOR_CHARS = 4096
"""Every kind names itself within these first characters; a dump of all arguments is not searched to its end."""
_IN_MESSAGE_RANK = regex.compile(r"\[(?P<name>gpu_id|rank)=(?P<number>\d{1,6})\] |\[rank\d{1,6}\]:\s?")


@cache
def all_extractors() -> tuple[Extractor, ...]:
    """Every kind of line, in the order of the startup phases; fallbacks last."""
    table = tuple(chain.from_iterable(module.EXTRACTORS for module in _MODULES))
    return tuple(sorted(table, key=lambda extractor: extractor.fallback))


@cache
def anchors(*, bulk: bool = False) -> tuple[str, ...]:
    """The literals that the fast scan looks for: of rare lines, or (`bulk`) of those per batch or step."""
    wanted = (extractor for extractor in all_extractors() if extractor.bulk == bulk)
    return tuple(sorted(set(chain.from_iterable(extractor.anchors for extractor in wanted))))


@cache
def _known_wordings() -> Wordings:
    return wordings(all_extractors())


def extract(line: Line) -> Record | None:
    """The record of a line of a known kind, else None; a line on which a pattern timed out gives None too."""
    text, rank = _message(line)
    try:
        found = _match(text)
    except TimeoutError:
        return None
    if found is None:
        return None
    extractor, fields, shape = found
    return Record(
        kind=extractor.kind,
        line=line.number,
        time=line.time,
        rank=rank,
        fields=fields,
        text=text,
        stream=line.stream,
        releases=_shapes(extractor.kind).get(shape, ""),
    )


def extract_all(lines: Iterable[Line]) -> Iterator[Record | Unrecognised]:
    """The records of all lines of known kinds, and the lines that look like memory accounting but are of none."""
    for line in lines:
        record = extract(line)
        if record is not None:
            yield record
        elif looks_like_memory(line.text):
            text, rank = _message(line)
            yield Unrecognised(line.number, text, nearest_kind(text, _known_wordings()), rank, line.stream)


def matching_kinds(text: str) -> tuple[str, ...]:
    """Every kind, fallbacks aside, whose anchors and pattern fit a message: more than one is a fault of the table."""
    return tuple(
        extractor.kind
        for extractor in all_extractors()
        if not extractor.fallback and _holds_anchor(extractor, text) and _search(extractor, text) is not None
    )


def _message(line: Line) -> tuple[str, RankTag]:
    """The message without what SGLang's helpers put around it, and the rank that 0.1.17 and 0.2.0 put inside it."""
    text, rank = _SUFFIX.sub("", line.text), line.rank
    if "≈" in text:
        # People write the sign in the place of the one that SGLang prints.
        text = _ABOUT.sub("=≈", text)
    tag = _IN_MESSAGE_RANK.match(text)
    if tag is None:
        return text, rank
    if tag["name"] == "gpu_id" and rank.gpu is None:
        rank = replace(rank, gpu=int(tag["number"]))
    elif tag["name"] == "rank" and rank.tp is None:
        rank = replace(rank, tp=int(tag["number"]))
    return text[tag.end() :], rank


def _match(text: str) -> tuple[Extractor, dict[str, Value], str] | None:
    head = text[:_ANCHOR_CHARS]
    for extractor in _candidates(head):
        found = _search(extractor, text)
        if found is not None:
            return extractor, _fields(extractor, found), _shape(extractor, found, text)
    return None


def _candidates(text: str) -> list[Extractor]:
    """The extractors of whose anchors the text holds one, in order of the table."""
    table = all_extractors()
    return [table[index] for index in sorted({index for anchor, index in _by_anchor() if anchor in text})]


@cache
def _by_anchor() -> tuple[tuple[str, int], ...]:
    return tuple((anchor, index) for index, extractor in enumerate(all_extractors()) for anchor in extractor.anchors)


def _holds_anchor(extractor: Extractor, text: str) -> bool:
    return any(anchor in text for anchor in extractor.anchors)


@cache
def _compiled(pattern: str) -> Any:
    return regex.compile(pattern, regex.DOTALL)


def _search(extractor: Extractor, text: str) -> Any:
    return _compiled(extractor.pattern).match(text, 0, MAX_MESSAGE_CHARS, timeout=MATCH_TIMEOUT_S)


def _fields(extractor: Extractor, found: Any) -> dict[str, Value]:
    fields: dict[str, Value] = {}
    for field in extractor.fields:
        for group in field.groups or (field.name,):
            if found[group]:
                # A figure that is none is missing; the line keeps its kind and its other figures.
                with suppress(ValueError):
                    fields[field.name] = convert(found[group], field.unit)
                break
    return fields


def _shape(extractor: Extractor, found: Any, text: str) -> str:
    """The wording of a line: its text with the fields' names in place of their values and every other figure as `#`."""
    if extractor.bulk or len(text) > _MAX_SHAPED_CHARS:
        return ""
    spans = sorted((found.span(group), group) for group in found.groupdict() if found[group])
    pieces, position = [], 0
    for (start, end), group in spans:
        if start >= position:
            pieces += [_DIGITS.sub("#", text[position:start]), "{", group, "}"]
            position = end
    return ("".join(pieces) + _DIGITS.sub("#", text[position:])).rstrip()


@cache
def _shapes(kind: str) -> dict[str, str]:
    """Wording -> releases, of the samples of a kind; samples worded alike have their ranges joined."""
    extractor = next(extractor for extractor in all_extractors() if extractor.kind == kind)
    ranges: dict[str, list[str]] = {}
    for sample in extractor.samples:
        text, _ = _message(Line(0, sample.text, sample.text))
        found = _search(extractor, text)
        shape = _shape(extractor, found, text) if found is not None else ""
        if shape:
            ranges.setdefault(shape, []).append(sample.releases)
    return {shape: ",".join(found) for shape, found in ranges.items() if all(found)}
