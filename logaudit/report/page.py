"""A page of a title, a verdict and sections, as text, Markdown or HTML: what comparisons and fleet reports are."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass

from logaudit.report.blocks import Section, Tone
from logaudit.report.inline import Inline


@dataclass(frozen=True, slots=True)
class PageView:
    """Everything that such a page shows."""

    kind: str
    """`comparison`, `fleet report`."""
    title: str
    """What it is about."""
    tone: Tone
    verdict: Inline
    sentences: tuple[Inline, ...]
    sections: tuple[Section, ...]


def render_page(
    view: PageView, chosen: str, version: str, *, data: str = "", colour: bool = False, width: int = 100
) -> str:
    """The page as `text`, `md` or `html`, one string that ends in a newline; `data` is JSON for the HTML to carry."""
    if chosen == "text":
        from logaudit.report.text import render_sections

        return render_sections(view.tone, view.verdict, view.sentences, view.sections, colour=colour, width=width)
    if chosen == "md":
        from logaudit.report.environment import markdown_environment
        from logaudit.report.render import without_blank_runs

        return without_blank_runs(markdown_environment().get_template("page.md.j2").render(page=view, version=version))
    return _html(view, version, data)


def _html(view: PageView, version: str, data: str) -> str:
    from markupsafe import Markup

    from logaudit.report.environment import html_environment, template_folder
    from logaudit.report.html import script_data

    style = (template_folder() / "partials" / "report.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return (
        html_environment()
        .get_template("page.html.j2")
        .render(
            page=view,
            version=version,
            style=Markup(style),  # noqa: S704 - the package's own style sheet
            style_hash=f"sha256-{digest}",
            data=script_data(data),
        )
    )
