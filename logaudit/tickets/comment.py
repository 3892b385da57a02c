"""Writes the comment for a ticket: the report's first screen, in the tracker's markup and within its limit."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import regex
from markupsafe import Markup

from logaudit.report.blocks import Cell, Column, LaunchView, Row, Table
from logaudit.report.document import Bounds, Document, LaunchDoc, Option
from logaudit.report.figures import count, gib
from logaudit.report.inline import Inline, clip, code, join, one_line, plain, prose, words
from logaudit.report.ledger_view import before_load, part_class
from logaudit.report.view import report_view
from logaudit.tickets.interface import Markup as MarkupName
from logaudit.tickets.markup import environment

_MARKER = regex.compile(r"logaudit-report-[0-9a-f]{8}-[0-9a-f]{20}")
_LARGEST = 3
"""Ledger lines between the first and the last."""


def length(text: str) -> int:
    """Characters as the trackers count them: those outside of the basic plane count twice."""
    return len(text) + sum(1 for char in text if ord(char) > 0xFFFF)


def marker_of(document: Document) -> str:
    """What tells this report from others: the hash of where it came from, and the hash of what it says."""
    names = "\n".join(source.name for source in document.sources)
    content = msgspec.json.encode(document, order="deterministic")
    return (
        f"logaudit-report-{hashlib.sha256(names.encode()).hexdigest()[:8]}-{hashlib.sha256(content).hexdigest()[:20]}"
    )


def markers_in(text: str) -> list[str]:
    """The markers that a comment holds, whatever escapes the tracker put into them."""
    return [str(found) for found in _MARKER.findall(text.replace("\\", ""), timeout=5)]


@dataclass(frozen=True, slots=True)
class _Cause:
    name: str
    words: Inline


@dataclass(frozen=True, slots=True)
class _Part:
    """One section of the comment: left out whole or not at all."""

    title: str
    text: str


def write_comment(
    document: Document, *, markup: MarkupName, limit: int, marker: str, links: Sequence[str] = (), where: str = ""
) -> str:
    """The comment, no longer than `limit` characters.

    `links` are the attached files as the tracker writes them; without any, `where` is where the report is on disk and
    the report's other sections follow folded, as far as they fit. Whole sections are left out from the end.
    """
    parts = _parts(document, markup, folded=not links)
    kept = len(parts)
    while True:
        left_out = [part.title for part in parts[kept:]]
        end = _end(document, markup, marker, links, where, left_out)
        text = "\n\n".join([*(part.text for part in parts[:kept]), end])
        if length(text) <= limit or kept == 0:
            break
        kept -= 1
    if length(text) > limit:
        end = _end(document, markup, marker, links, where, ["everything but this line"])
        text = end if length(end) <= limit else marker
    return text


def _parts(document: Document, markup: MarkupName, *, folded: bool) -> list[_Part]:
    view = report_view(document)
    if not view.launches:
        return (
            [_Part("the verdict", _tidy(f"{'. '.join(plain(line.body) for line in view.empty)}"))] if view.empty else []
        )
    # The last start is the one that somebody is waiting for.
    launch, seen = document.launches[-1], view.launches[-1]
    parts = [_part(markup, "the verdict", "verdict", launch=seen), _part(markup, "the facts", "facts", launch=seen)]
    table = ledger_in_five(launch)
    if table:
        parts.append(_part(markup, "the ledger", "ledger", table=table))
    causes = _causes(launch)
    if causes:
        parts.append(_part(markup, "the causes", "causes", causes=causes))
    option = best_option(launch.options)
    if option:
        parts.append(_part(markup, "the best option", "option", option=_option_words(option)))
    if seen.command:
        parts.append(_part(markup, "the corrected command", "command", launch=seen))
    if view.overview:
        parts.append(_part(markup, "the other starts", "overview", table=view.overview))
    if folded and markup == "markdown":
        parts += _folded(markup, seen)
    return [part for part in parts if part.text]


def _folded(markup: MarkupName, seen: LaunchView) -> list[_Part]:
    return [_part(markup, section.title.lower(), "section", section=section) for section in seen.sections]


def _part(markup: MarkupName, title: str, part: str, **values: object) -> _Part:
    template = environment(markup).get_template("comment.md.j2")
    return _Part(title, _tidy(template.render(part=part, form=markup, **values)))


def _end(
    document: Document, markup: MarkupName, marker: str, links: Sequence[str], where: str, left_out: Sequence[str]
) -> str:
    template = environment(markup).get_template("comment.md.j2")
    return _tidy(
        template.render(
            part="end",
            form=markup,
            links=[Markup(link) for link in links],  # noqa: S704 - written by the tracker's own module
            where=clip(one_line(where), 300),
            redacted=", ".join(f"{number} × {one_line(kind)}" for kind, number in document.redacted.items()),
            version=document.logaudit_version,
            source=clip(", ".join(_short(source.name) for source in document.sources) or "nothing", 300),
            marker=Markup(marker),  # noqa: S704 - letters, digits and dashes
            left_out=clip(", ".join(left_out), 600),
        )
    )


def _short(name: str) -> str:
    """The last part of a source's name: folders tell a stranger more than they need."""
    return one_line(name.rstrip("/").rpartition("/")[2] or name)


def _tidy(text: str) -> str:
    """At most one blank line in a row outside of blocks, none at the ends."""
    out: list[str] = []
    inside = ""
    for line in text.strip("\n ").split("\n"):
        if inside:
            inside = "" if line.strip() == inside else inside
        elif line.startswith("```"):
            inside = line[: len(line) - len(line.lstrip("`"))]
        elif line.strip() in {"<pre>", "{noformat}"}:
            inside = {"<pre>": "</pre>", "{noformat}": "{noformat}"}[line.strip()]
        elif not line.strip() and out and not out[-1].strip():
            continue
        out.append(line.rstrip())
    return "\n".join(out).strip("\n")


def ledger_in_five(launch: LaunchDoc) -> Table | None:
    """The first rank's ledger in at most five lines: the start, the three largest kinds of parts, and what was left.

    Everything else is added to the last of the three, so that the lines still add up. GiB.
    """
    if not launch.ledger:
        return None
    row = launch.ledger[0]
    start = before_load(launch, row)
    left = [item for item in row.items if part_class(item) == "left"]
    rest = [item for item in row.items if part_class(item) != "left"]
    rest.sort(key=lambda item: -item.gib.value)
    shown, others = rest[:_LARGEST], []
    if len(rest) > _LARGEST:
        shown, others = rest[: _LARGEST - 1], rest[_LARGEST - 1 :]
    lines = [("free before loading", start), *((f"− {one_line(item.item)}", item.gib.value) for item in shown)]
    if others:
        lines.append((f"− everything else ({len(others)} entries)", sum(item.gib.value for item in others)))
    if left:
        lines.append(("= free at the end", sum(item.gib.value for item in left)))
    rows = tuple(
        Row((Cell(words(name)), Cell(words(gib(value)))), "total" if name.startswith("=") else "")
        for name, value in lines
    )
    return Table("Where the memory of one GPU went", (Column("one GPU"), Column("GiB", numeric=True)), rows)


def _causes(launch: LaunchDoc) -> list[_Cause]:
    """Why the capacity is not what the formula gives, with numbers; nothing when it is."""
    out = []
    for cause in launch.reconciliation.causes[:8]:
        figures = join([_bounds(cause.gib, "GiB"), words(f"{count(cause.tokens)} tokens") if cause.tokens else ()])
        detail = prose(clip(one_line(cause.detail), 400)) if cause.detail else ()
        out.append(_Cause("cause", join([code(cause.code), figures, detail], ": " if not figures else ", ")))
    out += [_Cause("missing", words(clip(one_line(text), 300))) for text in launch.reconciliation.missing[:5]]
    return out


def _bounds(bounds: Bounds | None, unit: str) -> Inline:
    return words(f"{gib(bounds.value)} {unit}") if bounds else ()


def best_option(options: Sequence[Option]) -> Option | None:
    """The option that holds most tokens among those that leave memory over; the first where none says."""
    able = [
        option for option in options if option.tokens and (option.headroom_gib is None or option.headroom_gib.low > 0)
    ]
    return (
        max(able, key=lambda option: option.tokens.value if option.tokens else 0.0)
        if able
        else next(iter(options), None)
    )


def _option_words(option: Option) -> Inline:
    figures = [words(f"{count(option.tokens.value)} tokens")] if option.tokens else []
    if option.headroom_gib:
        figures.append(words(f"{gib(option.headroom_gib.value)} GiB left at the end"))
    if option.risk:
        figures.append(prose(clip(one_line(option.risk), 300)))
    name = code(option.flag) if option.flag else words(clip(one_line(option.change), 300))
    return join([name, join(figures)], ": ")
