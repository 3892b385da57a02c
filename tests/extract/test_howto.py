"""The guide's entry for a new kind is one that works."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from logaudit.extract import extract
from logaudit.extract.convert import convert
from logaudit.extract.extractor import Extractor
from logaudit.interval import Interval
from logaudit.scan.line import Line
from tests.conftest import ROOT


@pytest.fixture
def entry(tmp_path: Path) -> Extractor:
    """The `ENTRY` of the guide's code block, as a module of its own."""
    page = (ROOT / "docs" / "line-kinds-howto.md").read_text()
    [code] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    file = tmp_path / "entry.py"
    file.write_text(code)
    spec = importlib.util.spec_from_file_location("entry", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = module.ENTRY
    assert isinstance(found, Extractor)
    return found


def test_the_entry_reads_its_sample(entry: Extractor) -> None:
    [sample] = entry.samples
    assert any(anchor in sample.text for anchor in entry.anchors)
    match = re.match(entry.pattern, sample.text)
    assert match is not None
    arena = convert(match["arena_gib"], "gib")
    assert isinstance(arena, Interval)
    assert (arena.low, arena.high) == pytest.approx((51.815, 51.825))
    assert convert(match["blocks"], "count") == 26536


def test_the_line_is_not_known_without_it(entry: Extractor) -> None:
    text = entry.samples[0].text
    assert extract(Line(1, text, text)) is None
