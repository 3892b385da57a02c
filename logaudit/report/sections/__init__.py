"""The sections after the first screen, in the order in which a reader needs them."""

from __future__ import annotations

from logaudit.report.blocks import Section
from logaudit.report.document import Document, LaunchDoc
from logaudit.report.links import Links
from logaudit.report.sections.arguments import argument_blocks
from logaudit.report.sections.findings import finding_blocks
from logaudit.report.sections.formula import formula_blocks
from logaudit.report.sections.ranks import rank_blocks
from logaudit.report.sections.reading import read_blocks
from logaudit.report.sections.timeline import timeline_blocks
from logaudit.report.sections.unknown import unknown_blocks


def sections_of(document: Document, launch: LaunchDoc, links: Links) -> tuple[Section, ...]:
    """The sections after the first screen, in order; one without content is left out."""
    made = (
        ("formula", "The formula, with the numbers in it", formula_blocks(launch, links)),
        ("ranks", "Ranks", rank_blocks(launch, links)),
        ("timeline", "Time line", timeline_blocks(launch, links)),
        ("findings", "Findings", finding_blocks(launch, links)),
        ("arguments", "What SGLang was told", argument_blocks(document, launch, links)),
        ("unknown", "Not understood", unknown_blocks(launch, links)),
        ("read", "How this was read", read_blocks(document, launch)),
    )
    sections = [Section(f"{links.prefix}-{name}", title, blocks) for name, title, blocks in made if blocks]
    quotes = links.all()
    if quotes:
        sections.append(Section(f"{links.prefix}-quotes", "Lines quoted from the log", (quotes,)))
    return tuple(sections)
