"""The findings, worst first, each with the lines it stands on."""

from __future__ import annotations

from logaudit.report.blocks import Block, FindingBlock, Paragraph
from logaudit.report.document import Finding, LaunchDoc
from logaudit.report.inline import one_line, paragraphs, prose
from logaudit.report.links import Links

ORDER = ("critical", "warning", "notice", "info")


def finding_blocks(launch: LaunchDoc, links: Links) -> tuple[Block, ...]:
    """Worst first."""
    ranked = sorted(launch.findings, key=lambda found: ORDER.index(found.severity) if found.severity in ORDER else 9)
    return tuple(_finding(found, links) for found in ranked)


def _finding(found: Finding, links: Links) -> FindingBlock:
    return FindingBlock(
        severity=one_line(found.severity),
        code=one_line(found.code),
        title=prose(found.title),
        detail=_paragraphs(found.detail),
        action=_paragraphs(found.action),
        evidence=links.quote(found.evidence),
    )


def _paragraphs(text: str) -> tuple[Paragraph, ...]:
    return tuple(Paragraph(body, bullet=kind == "li") for kind, body in paragraphs(text))
