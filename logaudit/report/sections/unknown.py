"""What was not understood, missing or assumed."""

from __future__ import annotations

from logaudit.report.blocks import Block, Cell, Column, Paragraph, Row, Table
from logaudit.report.document import LaunchDoc
from logaudit.report.inline import clip, code, one_line, prose, words
from logaudit.report.links import Links


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
