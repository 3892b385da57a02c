"""How the log was read: source, wrappers, bounds, release, redaction."""

from __future__ import annotations

from logaudit.report.blocks import Block, Cell, Column, Paragraph, Row, Table
from logaudit.report.document import Document, LaunchDoc
from logaudit.report.figures import count, lines_of, moment, release, size
from logaudit.report.inline import code, join, one_line, prose, words


def read_blocks(document: Document, launch: LaunchDoc) -> tuple[Block, ...]:
    """Launch bounds, wrappers, version bracket with its evidence, notes."""
    blocks: list[Block] = []
    if launch.source < len(document.sources):
        source = document.sources[launch.source]
        wrappers = ", ".join(one_line(name) for name in source.wrappers) or "none"
        blocks.append(
            Paragraph(
                join(
                    (
                        words(f"This start: lines {launch.lines.first:,} to {launch.lines.last:,} of "),
                        code(source.name),
                        words(f" ({lines_of(source)}). Wrappers taken off: {wrappers}."),
                    ),
                    "",
                ),
                bullet=True,
            )
        )
    if launch.started_at:
        blocks.append(
            Paragraph(
                words(f"First line at {moment(launch.started_at)}, ready at {moment(launch.ready_at)}."), bullet=True
            )
        )
    version = launch.sglang_version
    exact = "exact" if version.exact else "read off wordings and arguments: SGLang does not print it"
    blocks.append(Paragraph(words(f"SGLang release: {release(version)} ({exact})."), bullet=True))
    blocks.extend(Paragraph(prose(text), bullet=True, small=True) for text in version.evidence)
    model = launch.model
    config = {"given": "was given", "found": "was found on this machine"}.get(model.config or "", "was not available")
    blocks.append(
        Paragraph(words(f"Attention: {model.attention or 'unknown'}. The model's config {config}."), bullet=True)
    )
    blocks.extend(Paragraph(prose(text), bullet=True) for text in launch.notes)
    return tuple(blocks)


def reading_blocks(document: Document) -> tuple[Block, ...]:
    """Sources and redaction, once a report."""
    rows = tuple(
        Row(
            (
                Cell(code(source.name)),
                Cell(words(count(source.lines))),
                Cell(words(size(source.bytes))),
                Cell(words(source.encoding)),
                Cell(words(", ".join(source.wrappers) or "none")),
            )
        )
        for source in document.sources
    )
    columns = (
        Column("source"),
        Column("lines", numeric=True),
        Column("size", numeric=True),
        Column("encoding"),
        Column("wrappers taken off"),
    )
    blocks: list[Block] = [Table("Sources", columns, rows, "sources")] if rows else []
    if document.redacted:
        blocks.append(Paragraph(words(redacted_words(document))))
    return tuple(blocks)


def redacted_words(document: Document) -> str:
    """`Redacted: 2 api_key, 1 bearer token.`"""
    counted = ", ".join(f"{count} × {one_line(kind)}" for kind, count in sorted(document.redacted.items()))
    return f"Redacted: {counted}."
