"""Turns the document into text, Markdown, HTML or JSON."""

from __future__ import annotations

import base64
import hashlib
from typing import Literal, get_args

from logaudit.report.document import Document, to_json
from logaudit.report.stored import extract_document

__all__ = ["FORMATS", "Format", "extract_document", "render"]

Format = Literal["text", "md", "html", "json"]
FORMATS: tuple[str, ...] = get_args(Format)

_UNSAFE_IN_A_TERMINAL = {
    code: f"\\u{code:04x}"
    for code in (
        *range(0x7F, 0xA0),
        0x61C,
        *range(0x200B, 0x2010),
        *range(0x2028, 0x202F),
        *range(0x2060, 0x2070),
        0xFEFF,
    )
}


def render(
    document: Document,
    format: str,  # noqa: A002 - the command line's own word
    *,
    full: bool = False,
    colour: bool = False,
    width: int = 80,
) -> str:
    """The report as one string that ends in a newline.

    `full` adds to the text what follows the first screen (the other formats always have it), `colour` allows terminal
    styles in the text, `width` is the text's width in columns. Raises ValueError for an unknown format.
    """
    if format == "json":
        return json_text(document) + "\n"
    if format == "text":
        from logaudit.report.text import render_text

        return render_text(document, full=full, colour=colour, width=width)
    if format == "md":
        return _markdown(document)
    if format == "html":
        return _html(document)
    raise ValueError(f"unknown format {format!r}, one of {', '.join(FORMATS)}")


def json_text(document: Document) -> str:
    """The document as JSON in which no character can steer a terminal."""
    return safe_in_a_terminal(to_json(document))


def safe_in_a_terminal(json_text: str) -> str:
    """JSON with every character that could steer a terminal escaped."""
    return json_text.translate(_UNSAFE_IN_A_TERMINAL)


def _markdown(document: Document) -> str:
    from logaudit.report.environment import markdown_environment
    from logaudit.report.view import report_view

    template = markdown_environment().get_template("report.md.j2")
    return without_blank_runs(template.render(report=report_view(document), version=document.logaudit_version))


def without_blank_runs(markdown: str) -> str:
    """At most one blank line in a row outside of code blocks, none at the ends."""
    out: list[str] = []
    fence = ""
    for line in markdown.strip().split("\n"):
        if fence:
            fence = "" if line.strip() == fence else fence
        elif line.startswith("```"):
            fence = line[: len(line) - len(line.lstrip("`"))]
        elif not line.strip() and out and not out[-1].strip():
            continue
        out.append(line.rstrip() if not fence else line)
    return "\n".join(out) + "\n"


def _html(document: Document) -> str:
    from markupsafe import Markup

    from logaudit.report.environment import html_environment, template_folder
    from logaudit.report.html import script_data
    from logaudit.report.view import report_view

    style = (template_folder() / "partials" / "report.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    template = html_environment().get_template("report.html.j2")
    return template.render(
        report=report_view(document),
        version=document.logaudit_version,
        style=Markup(style),  # noqa: S704 - the package's own style sheet
        style_hash=f"sha256-{digest}",
        data=script_data(to_json(document, indent=0)),
    )
