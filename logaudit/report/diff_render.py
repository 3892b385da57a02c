"""A comparison of two starts as text, Markdown, HTML or JSON."""

from __future__ import annotations

import msgspec

from logaudit.report.diff import DiffDoc
from logaudit.report.diff_view import diff_view
from logaudit.report.page import render_page
from logaudit.report.render import safe_in_a_terminal


def render_diff(document: DiffDoc, chosen: str, *, colour: bool = False, width: int = 100) -> str:
    """The comparison in one of the formats `text`, `md`, `html`, `json`, as one string that ends in a newline."""
    encoded = msgspec.json.encode(document)
    if chosen == "json":
        return safe_in_a_terminal(msgspec.json.format(encoded, indent=2).decode()) + "\n"
    version = document.logaudit_version
    return render_page(diff_view(document), chosen, version, data=encoded.decode(), colour=colour, width=width)
