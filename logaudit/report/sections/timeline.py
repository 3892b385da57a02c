"""Free memory over the start, a row for each reading."""

from __future__ import annotations

from logaudit.report.blocks import Block, Cell, Column, Paragraph, Row, Table
from logaudit.report.document import LaunchDoc
from logaudit.report.figures import clock, duration, gib, rank_name, seconds_between
from logaudit.report.inline import words
from logaudit.report.links import Links
from logaudit.report.picture import timeline_picture


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
