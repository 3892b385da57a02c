"""The page that says how exact the tool is counts every oracle case."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import ROOT, TEST_ALL
from tests.oracle import cases
from upkeep.exactness import page, tally

PAGE = ROOT / "docs" / "exactness.md"


def test_every_case_of_every_release_is_counted(shared_dir: Path) -> None:
    counted: Counter[str] = Counter()
    for line in PAGE.read_text().splitlines():
        if match := re.match(r"\| (\d[\w.]*) \|", line):
            counted[match[1]] += sum(int(total) for total in re.findall(r"\d+/(\d+)", line))
    assert counted == Counter(case.truth["sglang_version"] for case in cases())


@pytest.mark.skipif(not TEST_ALL, reason="reads every oracle case twice: LOGAUDIT_TEST_ALL=1")
def test_the_page_is_fresh(shared_dir: Path) -> None:
    assert PAGE.read_text() == page(tally())
