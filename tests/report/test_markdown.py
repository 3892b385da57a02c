"""The Markdown report: its first screen is a comment that makes sense alone, the rest is folded."""

from __future__ import annotations

import re

import pytest
from markdown_it import MarkdownIt

from logaudit.report.render import render

from . import samples
from .page import parse


def test_the_first_screen_stands_before_the_first_fold() -> None:
    first = render(samples.seed(), "md").partition("<details>")[0]
    assert first.startswith("## Ready. The KV cache is exactly as large as SGLang's formula makes it.\n")
    assert "| − KV cache, 159,277 tokens | 10.42 | line 52 |\n" in first
    assert "| 0.88 × what is left after loading | 19.10 | 291,900 |" in first
    assert "`--kv-cache-dtype fp8_e4m3`" in first


@pytest.mark.parametrize("made", samples.ALL.values(), ids=samples.ALL.keys())
def test_details_is_the_only_html_and_every_fold_is_closed(made) -> None:
    text = render(made(), "md")
    outside = re.sub(r"^(`{3,}).*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert set(re.findall(r"</?([a-z]+)", outside)) <= {"details", "summary"}
    assert outside.count("<details>") == outside.count("</details>")


@pytest.mark.parametrize("made", samples.ALL.values(), ids=samples.ALL.keys())
def test_every_table_is_read_as_one(made) -> None:
    text = render(made(), "md")
    shown = parse(MarkdownIt("commonmark", {"html": True}).enable("table").render(text))
    assert len(shown.all("table")) == len(re.findall(r"^\|[ :|-]+\|$", text, flags=re.MULTILINE))
    for paragraph in shown.all("p"):
        assert "| ---" not in paragraph.text


def test_figures_are_aligned_to_the_right() -> None:
    assert "| GPU TP0 of 8 (all alike) | GiB | from |\n| --- | ---: | --- |\n" in render(samples.seed(), "md")


def test_the_sections_are_folded_in_order() -> None:
    titles = re.findall(r"<summary>(.*?)</summary>", render(samples.seed(), "md"))
    assert titles[:4] == ["The formula, with the numbers in it", "Ranks", "Time line", "Findings"]
    assert titles[-1] == "Source and tool"


def test_no_blank_line_runs_and_no_trailing_space() -> None:
    text = render(samples.several(), "md")
    assert "\n\n\n" not in text
    assert not re.search(r"[ \t]$", text, flags=re.MULTILINE)
