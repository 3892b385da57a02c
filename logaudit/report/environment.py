"""The jinja2 environments: one for HTML and one for Markdown, each escaping every value that a template prints."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from logaudit.report import html, markdown
from logaudit.report.blocks import Quoted


def template_folder() -> Path:
    """Where the templates are: inside the installed package, or at the top of a checkout."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "_templates"
    return installed if installed.is_dir() else package.parent / "templates"


def _environment(escape: Callable[[object], Markup]) -> Environment:
    def finalize(value: Any) -> Any:
        """Escape for this face what is not already markup; undefined names still fail."""
        if isinstance(value, (Markup, StrictUndefined)):
            return value
        return Markup("") if value is None else escape(value)

    return Environment(
        loader=FileSystemLoader(template_folder()),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


@cache
def html_environment() -> Environment:
    """For `*.html.j2`."""
    made = _environment(html.text)
    made.filters["inline"] = html.inline
    made.tests["kind"] = _is_kind
    return made


@cache
def markdown_environment() -> Environment:
    """For `*.md.j2`."""
    made = _environment(markdown.text)
    made.filters["inline"] = markdown.inline
    made.filters["cell"] = _markdown_cell
    made.filters["code"] = markdown.code_span
    made.filters["fenced"] = markdown.fenced
    made.filters["html_text"] = html.text
    made.filters["quote_text"] = _quote_text
    made.tests["kind"] = _is_kind
    return made


def _quote_text(quoted: Quoted) -> str:
    """Quoted lines with their numbers, for a code block."""
    digits = max(len(str(entry.line)) for entry in quoted.lines)
    return "\n".join(f"{entry.line:>{digits}}  {entry.text}" for entry in quoted.lines)


def _markdown_cell(pieces: Any) -> Markup:
    return markdown.inline(pieces, table=True)


def _is_kind(block: object, name: str) -> bool:
    """Whether a block is of the named class, for templates."""
    return type(block).__name__ == name
