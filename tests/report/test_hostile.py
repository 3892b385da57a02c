"""Whatever a log holds, a report stays a report: nothing formats, links, runs, or steers a terminal."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import msgspec
import pytest
from markdown_it import MarkdownIt

from logaudit.report import markdown
from logaudit.report.document import Document
from logaudit.report.render import extract_document, render

from . import samples
from .page import Element, parse

HOSTILE = {
    "script": "<script>alert(1)</script>",
    "end": '</script></style></details></td>"><img src=x onerror=alert(1)>',
    "comment": "<!-- --> ]]> <![CDATA[",
    "attribute": "\" onmouseover='alert(1)' x=\"",
    "entity": "&lt;b&gt; &#60; &amp;",
    "pipe": "a | b \\| c || d",
    "ticks": "`one` ``two`` ```three``` `",
    "fence": "```\n# heading\n~~~\n",
    "template": "{{ 7 * 7 }} {% raw %} {# x #} ${x}",
    "ansi": "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b31m \x1bc",
    "rich": "[red]x[/red] [link=http://evil.example]y[/] :boom:",
    "direction": "a\u202egnp.exe\u2066 \u200b\ufeff\u2028\u0085",
    "mention": "@everyone @org/team me@evil.example",
    "issue": "#123 GH-7 org/repo#1 !45 &6 %7 $8 ~9 ^10 deadbeefcafe0123456789",
    "link": "[x](javascript:alert(1)) ![i](http://evil.example/x.png) <http://evil.example> http://evil.example "
    "www.evil.example",
    "weight": "**x** __y__ ~~z~~ *a* _b_ $$m$$ :tada:",
    "block": "# h",
    "rule": "---",
    "list": "1. x",
    "quote": "> q",
    "long": "x" * 2_000,
    "wide": "\u6f22\u5b57" * 60,
}
CASES = pytest.mark.parametrize("planted", HOSTILE.values(), ids=HOSTILE.keys())
KEPT = {"outcome", "status", "worker", "severity"}
"""Words that the tool itself chooses; everything else may have come from a log."""


def hostile(made: Document, planted: str) -> Document:
    """The document with `planted` in every text, in keys of the arguments too."""

    def spoil(value: Any, name: str = "") -> Any:
        if isinstance(value, str):
            return value if name in KEPT else f"{value} {planted}"
        if isinstance(value, list):
            return [spoil(entry) for entry in value]
        if isinstance(value, dict):
            spoilt = {key: spoil(entry, key) for key, entry in value.items()}
            if name == "server_args":
                spoilt[planted] = planted
            return spoilt
        return value

    return msgspec.convert(spoil(msgspec.to_builtins(made)), Document)


def spoilt_samples(planted: str) -> list[Document]:
    return [hostile(made(), planted) for made in (samples.several, samples.crashed, samples.empty)]


ALLOWED_HTML = {
    *("html", "head", "meta", "title", "style", "body", "header", "main", "footer", "section", "article", "div", "p"),
    *("h1", "h2", "h3", "h4", "span", "dl", "dt", "dd", "figure", "figcaption", "svg", "desc", "rect", "line", "text"),
    *("table", "caption", "thead", "tbody", "tr", "th", "td", "small", "ol", "ul", "li", "a", "code", "pre", "strong"),
    *("details", "summary", "script"),
}
ALLOWED_ATTRIBUTES = {
    *("class", "id", "href", "role", "scope", "tabindex", "lang", "charset", "name", "content", "http-equiv", "type"),
    *("aria-labelledby", "aria-label", "x", "y", "x1", "x2", "y1", "y2", "width", "height", "text-anchor", "xmlns"),
}


@CASES
def test_html_has_the_same_elements_whatever_the_log_holds(planted: str) -> None:
    for document in spoilt_samples(planted):
        root = parse(render(document, "html"))
        assert {element.tag for element in root.walk()} <= ALLOWED_HTML
        assert {name for element in root.walk() for name in element.attributes} <= ALLOWED_ATTRIBUTES
        [script] = root.all("script")
        assert script.attributes == {"type": "application/json", "id": "logaudit-document"}
        assert all(element.attributes["href"].startswith("#start-") for element in root.all("a"))
        assert hidden_characters(root.text.replace(script.text, "")) == set()


@CASES
def test_html_shows_the_text_itself(planted: str) -> None:
    planted = planted[:1000]
    document = samples.document(samples.launch(notes=[f"seen: {planted}"], verdict=["x"]))
    shown = parse(render(document, "html"))
    [entry] = [element for element in shown.all("li") if element.text.startswith("seen:")]
    marks = str.maketrans("", "", "`*\ufffd \n")
    wanted = re.sub(r"\x1b\[[0-9;]*m|\x1b\]0;title\x07|\x9b31m|\x1bc", "", planted)
    wanted = "".join(letter for letter in wanted if unicodedata.category(letter) not in ("Cc", "Cf", "Zl"))
    assert entry.text.removeprefix("seen:").translate(marks) == wanted.translate(marks)


@CASES
def test_the_embedded_document_survives(planted: str) -> None:
    for document in spoilt_samples(planted):
        page = render(document, "html")
        assert extract_document(page) == document
        inside = page[page.index('id="logaudit-document"') :]
        assert "<" not in inside[: inside.index("</script>")].partition(">")[2]


ALLOWED_MARKDOWN = {
    *("h2", "h4", "p", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "code", "pre", "strong"),
    *("details", "summary"),
}


def as_a_forge_shows_it(text: str) -> Element:
    shown = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text)
    return parse(shown)


@CASES
def test_markdown_has_the_same_elements_whatever_the_log_holds(planted: str) -> None:
    for document in spoilt_samples(planted):
        root = as_a_forge_shows_it(render(document, "md"))
        assert {element.tag for element in root.walk()} <= ALLOWED_MARKDOWN
        assert {name for element in root.walk() for name in element.attributes} <= {"class", "style"}
        assert hidden_characters(root.text) - {markdown.JOINER} == set()


@CASES
def test_markdown_tables_keep_their_columns(planted: str) -> None:
    for clean, document in zip(spoilt_samples("x"), spoilt_samples(planted), strict=True):
        expected, found = (as_a_forge_shows_it(render(made, "md")).all("table") for made in (clean, document))
        assert len(found) == len(expected)
        for table, twin in zip(found, expected, strict=True):
            assert [len(row.children) for row in table.all("tr")] == [len(row.children) for row in twin.all("tr")]


@CASES
def test_markdown_mentions_nobody_and_links_nothing_outside_of_code(planted: str) -> None:
    for document in spoilt_samples(planted):
        root = as_a_forge_shows_it(render(document, "md"))
        text = without_code(root)
        assert not re.search(r"[@#!%&~^]\w", text)
        assert not re.search(r"\w://|www\.|GH-\d|:tada:|:boom:", text)
        assert not re.search(r"\b[0-9a-f]{12,40}\b", text)


def without_code(element: Element) -> str:
    """The text that a forge looks through for mentions and references: all but code."""
    text = element.text
    for code in element.all("code"):
        text = text.replace(code.text, "", 1)
    return text


@pytest.mark.parametrize(
    ("plain", "shown"),
    [
        ("max_running_requests", "max_running_requests"),
        ("a | b", "a | b"),
        ("<b>", "<b>"),
        ("back\\slash", "back\\slash"),
        ("1. x", "1\u2060. x"),
        ("12 % of 94.04", "12 % of 94.04"),
        ("13:35:05", "13:35:05"),
    ],
)
def test_markdown_text_reads_as_written(plain: str, shown: str) -> None:
    [paragraph] = as_a_forge_shows_it(markdown.text(plain)).all("p")
    assert paragraph.text == shown


@pytest.mark.parametrize("plain", ["`", "a`b", "``", "`a`", "a | b", "\\", "x\\|y"])
def test_a_code_span_shows_what_it_was_given(plain: str) -> None:
    [shown] = as_a_forge_shows_it(markdown.code_span(plain)).all("code")
    assert shown.text == plain
    table = as_a_forge_shows_it(f"| a |\n| --- |\n| {markdown.code_span(plain, table=True)} |")
    [cell] = table.all("td")
    assert cell.all("code")[0].text.replace(markdown.JOINER, "") == plain


@CASES
@pytest.mark.parametrize("full", [False, True])
def test_the_terminal_gets_no_control_characters(planted: str, full: bool) -> None:
    for document in spoilt_samples(planted):
        styled = render(document, "text", full=full, colour=True)
        assert hidden_characters(re.sub(r"\x1b\[[0-9;]*m", "", styled)) == set()


@CASES
def test_json_on_a_terminal_is_the_document_and_cannot_steer_it(planted: str) -> None:
    for document in spoilt_samples(planted):
        text = render(document, "json")
        assert hidden_characters(text) == set()
        assert msgspec.json.decode(text, type=Document) == document


def test_templates_in_a_log_are_not_expanded() -> None:
    document = hostile(samples.seed(), "{{ 7 * 7 }}")
    for face in ("html", "md", "text"):
        assert "{{ 7 * 7 }}" in render(document, face, full=True)


def test_a_part_of_the_picture_is_only_ever_of_a_known_kind() -> None:
    from logaudit.report.document import LedgerItem, LedgerRow, RankInfo

    item = LedgerItem("weights", samples.near(90.0), [1], kind='x"/><script>')
    root = parse(render(samples.seed(ledger=[LedgerRow("target", RankInfo(tp=0), [item])]), "html"))
    assert root.all("svg")[0].with_class("part")[0].attributes["class"] == "part weights"


def hidden_characters(text: str) -> set[str]:
    """Control, format and separator characters that no reader sees."""
    return {letter for letter in set(text) if unicodedata.category(letter) in ("Cc", "Cf", "Zl", "Zp", "Cs")} - {"\n"}
