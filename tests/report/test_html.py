"""The HTML report: one file that stands alone, made for every reader."""

from __future__ import annotations

import base64
import hashlib
import re
from itertools import pairwise

import msgspec
import pytest

from logaudit.errors import SourceError
from logaudit.report.document import Document, to_json
from logaudit.report.environment import template_folder
from logaudit.report.render import extract_document, render

from . import samples
from .page import Element, parse

EVERY = pytest.mark.parametrize("made", samples.ALL.values(), ids=samples.ALL.keys())


def page(document: Document) -> Element:
    return parse(render(document, "html"))


def rows(table: Element) -> list[list[str]]:
    return [[" ".join(cell.text.split()) for cell in row.children] for row in table.all("tr")]


@EVERY
def test_every_reference_stays_inside_the_file(made) -> None:
    root = page(made())
    ids = [element.attributes["id"] for element in root.walk() if "id" in element.attributes]
    assert len(ids) == len(set(ids))
    for element in root.walk():
        assert element.tag not in {"link", "img", "iframe", "object", "embed", "base", "form", "use", "image"}
        assert not {"src", "srcset", "style", "background"} & set(element.attributes)
        assert not [name for name in element.attributes if name.startswith("on")]
        if "href" in element.attributes:
            assert element.attributes["href"].startswith("#")
            assert element.attributes["href"][1:] in ids
        for name in ("aria-labelledby", "aria-describedby"):
            assert set(element.attributes.get(name, "").split()) <= set(ids)
    style = root.all("style")[0].text
    assert "url(" not in style
    assert "@import" not in style


def test_a_policy_forbids_everything_but_this_style_sheet() -> None:
    root = page(samples.seed())
    [policy] = [meta for meta in root.all("meta") if meta.attributes.get("http-equiv") == "Content-Security-Policy"]
    digest = base64.b64encode(hashlib.sha256(root.all("style")[0].text.encode()).digest()).decode()
    rules = policy.attributes["content"].split("; ")
    assert "default-src 'none'" in rules
    assert f"style-src 'sha256-{digest}'" in rules
    assert not [rule for rule in rules if "script-src" in rule or "http" in rule]


@EVERY
def test_headings_start_at_one_and_skip_no_level(made) -> None:
    levels = [int(element.tag[1]) for element in page(made()).walk() if re.fullmatch(r"h[1-6]", element.tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


@EVERY
def test_tables_have_captions_and_headers(made) -> None:
    for table in page(made()).all("table"):
        assert table.all("caption")[0].text.strip()
        headers = table.all("thead")[0].all("th")
        assert all(header.attributes["scope"] == "col" for header in headers)
        for row in table.all("tbody")[0].all("tr"):
            assert len(row.children) == len(headers)
            assert row.children[0].tag == "th"
            assert row.children[0].attributes["scope"] == "row"


def test_the_first_screen_holds_verdict_ledger_sums_and_options() -> None:
    root = page(samples.seed())
    assert root.all("h1")[0].text == "Ready. The KV cache is exactly as large as SGLang's formula makes it."
    ledger = rows(next(table for table in root.all("table") if table.attributes["class"] == "ledger"))
    assert ledger[1] == ["free before loading", "94.04", "line 27"]
    assert ledger[2] == ["A − weights (KimiK25ForConditionalGeneration)", "72.33", "line 35"]
    assert ledger[4] == ["C − request table, 48 × 262,148 entries", "0.05", "computed, no line prints it"]
    assert ledger[-1] == ["J = free at the end", "7.43", "line 145"]
    naive = rows(next(table for table in root.all("table") if table.attributes["class"] == "naive"))
    assert naive[1][:3] == ["0.88 × what is left after loading", "19.10", "291,900"]
    options = rows(next(table for table in root.all("table") if table.attributes["class"] == "options"))
    assert options[1][0] == "store the KV cache in FP8 --kv-cache-dtype fp8_e4m3"
    assert options[1][1] == "318,586 318,416 to 318,758"


def test_the_sections_come_in_the_order_of_a_readers_questions() -> None:
    titles = [heading.text for heading in page(samples.seed()).with_class("section")]
    assert titles == [
        "The formula, with the numbers in it",
        "Ranks",
        "Time line",
        "Findings",
        "What SGLang was told",
        "Not understood",
        "How this was read",
        "Lines quoted from the log",
    ]


def test_a_line_reference_jumps_to_the_quoted_line() -> None:
    root = page(samples.seed())
    link = next(element for element in root.all("a") if element.text == "line 52")
    quote = next(e for e in root.walk() if e.attributes.get("id") == link.attributes["href"][1:])
    assert "KV Cache is allocated. #tokens: 159277, KV size: 10.42 GB" in quote.text


def test_a_line_that_is_not_quoted_is_named_without_a_link() -> None:
    root = page(samples.seed(quotes=[]))
    assert not [element for element in root.all("a") if element.text.startswith("line ")]
    assert "line 52" in root.text


def test_the_picture_says_in_words_what_it_shows() -> None:
    picture = page(samples.seed()).all("svg")[0]
    title, description = picture.all("title")[0], picture.all("desc")[0]
    assert picture.attributes["role"] == "img"
    assert picture.attributes["aria-labelledby"].split() == [title.attributes["id"], description.attributes["id"]]
    assert "94.04 GiB free before loading" in title.text
    for words in ("weights (KimiK25ForConditionalGeneration) 72.33 GiB", "reserve", "11.28 GiB", "19.10 GiB"):
        assert words in description.text


def test_the_parts_of_the_picture_cover_the_bar_in_the_order_of_the_ledger() -> None:
    picture = page(samples.seed()).all("svg")[0]
    parts = picture.with_class("part")
    # 72.33 of 94.04 GiB are 76.914 %, and 10.42 GiB are 11.080 %.
    assert parts[0].attributes["class"] == "part weights"
    assert parts[0].attributes["width"] == "76.914%"
    assert parts[1].attributes["class"] == "part kv"
    assert parts[1].attributes["x"] == "76.914%"
    assert parts[1].attributes["width"] == "11.080%"
    ends = [float(part.attributes["x"][:-1]) + float(part.attributes["width"][:-1]) for part in parts]
    assert ends == sorted(ends)
    assert ends[-1] == pytest.approx(100, abs=0.01)


def test_the_reserve_and_the_naive_expectation_are_marked_where_they_belong() -> None:
    picture = page(samples.seed()).all("svg")[0]
    bracket = picture.with_class("bracket")[0]
    # The reserve of 11.2848 GiB begins at 1 - 11.2848 / 94.04 = 88.000 %.
    assert bracket.attributes["x1"] == "88.000%"
    # 72.33 GiB of weights and 19.10 GiB of cache end at 91.43 / 94.04 = 97.225 %.
    assert picture.with_class("naive")[0].attributes["x1"] == "97.225%"


def test_what_was_given_back_is_added_in_the_ledger_and_said_under_the_picture() -> None:
    from logaudit.report.document import LedgerItem, LedgerRow, RankInfo

    figures = (("weights", 72.0), ("given back between two readings", -2.0), ("free at the end", 24.04))
    items = [LedgerItem(name, samples.near(value), [1]) for name, value in figures]
    root = page(samples.seed(ledger=[LedgerRow("target", RankInfo(tp=0), items)], timeline=[]))
    ledger = rows(root.all("table")[0])
    assert ledger[3][:2] == ["B + given back between two readings", "2.00"]
    parts = root.all("svg")[0].with_class("part")
    # 72.00 of 96.04 GiB drawn are 74.969 %.
    assert [part.attributes["width"] for part in parts] == ["74.969%", "25.031%"]
    assert "given back between two readings is not drawn" in root.all("figcaption")[0].text


def test_a_ledger_that_ends_below_zero_shows_the_figure() -> None:
    from logaudit.report.document import LedgerItem, LedgerRow, RankInfo

    items = [LedgerItem("weights", samples.near(90.0), [1]), LedgerItem("free at the end", samples.near(-3.0), [2])]
    root = page(samples.seed(ledger=[LedgerRow("target", RankInfo(tp=0), items)], timeline=[]))
    assert rows(root.all("table")[0])[3][:2] == ["B = free at the end", "−3.00"]
    assert len(root.all("svg")[0].with_class("part")) == 1


def test_ranks_that_differ_have_small_pictures_and_the_lowest_is_named() -> None:
    root = page(samples.crashed())
    assert [svg.attributes["class"] for svg in root.all("svg")] == ["bar", "bar small"]
    ranks = rows(next(table for table in root.all("table") if table.attributes["class"] == "ranks"))
    assert ranks[1][:2] == ["TP0 to TP2 target", "78.60"]
    assert ranks[2][:2] == ["TP3 target", "76.12 lowest"]


def test_a_crash_before_the_cache_claims_nothing_about_it_and_quotes_its_line_once() -> None:
    text = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."
    [launch] = samples.crashed().launches
    verdict = [launch.verdict[0], f"Line 58: {text}", "The smallest fraction that starts is 0.739."]
    root = page(samples.document(msgspec.structs.replace(launch, verdict=verdict)))
    assert [badge.text for badge in root.with_class("badge")] == ["crashed"]
    assert root.with_class("verdict")[0].text.count("Not enough memory") == 1


def test_several_starts_have_an_overview_that_leads_to_each() -> None:
    root = page(samples.several())
    overview = rows(next(table for table in root.all("table") if table.attributes["class"] == "overview"))
    assert [row[1] for row in overview[1:]] == ["initialised", "ready", "incomplete"]
    assert "max_total_tokens=100000" in overview[2][4]
    assert [launch.attributes["id"] for launch in root.with_class("launch")] == ["start-0", "start-1", "start-2"]


def test_what_is_not_known_is_listed() -> None:
    text = page(samples.several()).text
    assert "Elastic arena grown to 12.5 GB" in text
    assert "kv_pool_mla" in text


def test_a_log_without_a_start_says_so() -> None:
    root = page(samples.empty())
    assert root.all("h1")[0].text == "No SGLang start was found."
    assert "nginx.log (3 lines, 120 B)" in root.text


@EVERY
def test_the_document_travels_inside(made) -> None:
    document = made()
    assert extract_document(render(document, "html")) == document


def test_a_page_that_carries_no_document_is_refused() -> None:
    with pytest.raises(SourceError, match="no logaudit document"):
        extract_document("<!doctype html><title>x</title>")


def test_a_document_of_a_newer_schema_is_refused() -> None:
    newer = render(samples.seed(), "html").replace('"schema_version":1', '"schema_version":99')
    newer = newer.replace('"schema_version": 1', '"schema_version": 99')
    with pytest.raises(SourceError, match="schema_version 99"):
        extract_document(newer)


def test_json_is_the_document() -> None:
    assert render(samples.seed(), "json") == to_json(samples.seed()) + "\n"


def _colours(scheme: str) -> dict[str, str]:
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{3,6})\b", scheme))


def _luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark", "print"])
def test_text_contrasts_with_what_is_behind_it(scheme: str) -> None:
    style = (template_folder() / "partials" / "report.css").read_text()
    light, dark, printed = (part[: part.index("}")] for part in style.split(":root {")[1:4])
    colours = _colours(light) | _colours({"light": light, "dark": dark, "print": printed}[scheme])
    pairs = [(text, ground) for text in ("ink", "soft", "link") for ground in ("paper", "panel")]
    pairs += [(tone, f"{tone}-bg") for tone in ("good", "notice", "warning", "bad")]
    pairs += [("naive", "paper"), ("ink", "target"), ("ink", "warning-bg"), ("ink", "panel")]
    pairs += [("c-ink", name) for name in colours if name.startswith("c-") and name not in ("c-ink", "c-edge")]
    for text, ground in pairs:
        lighter, darker = sorted((_luminance(colours[text]), _luminance(colours[ground])), reverse=True)
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5, f"{text} on {ground}"
