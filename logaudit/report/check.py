"""Decides whether a document asks for somebody's attention: the exit code of `--check`."""

from __future__ import annotations

from logaudit.report.document import Document


def needs_attention(document: Document, *, strict: bool = False) -> bool:
    """Whether a start crashed or is unexplained; `strict` adds one that is not checkable, and a log without a start."""
    if not document.launches:
        return strict
    bad = {"unexplained", "not_checkable"} if strict else {"unexplained"}
    return any(launch.outcome == "crashed" or launch.reconciliation.status in bad for launch in document.launches)
