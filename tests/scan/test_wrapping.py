"""A log says the same however it was wrapped: every wrapper and pairs of them, around logs of SGLang's own code."""

from __future__ import annotations

import random
import re
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from logaudit.scan.line import SourceLine
from logaudit.scan.unwrap import unwrap
from tests.conftest import TEST_ALL, shared_files
from tests.wrapping import WRAPPERS, compose, sensible

PREFIX = re.compile(r"\[(?P<time>[\d-]{10} [\d:]{8})(?P<ranks>(?: [A-Z_]+\d+)*)\] (?P<text>.*)")
KINDS = ("0.4.3__llama8b-oom", "0.5.9__llama8b-default", "0.5.10__dsv3-tp2dp2-fp8", "0.5.23__llama8b-eagle")
SMALL = "0.5.9__llama8b-default"
PAIRS = [(a, b) for a in WRAPPERS for b in WRAPPERS if "none" not in (a, b) and sensible(a, b)]
SAMPLED = PAIRS if TEST_ALL else random.Random(20260304).sample(PAIRS, 120)


class Said(NamedTuple):
    """What one line says."""

    text: str
    tp: int | None
    dp: int | None
    pp: int | None
    time: datetime | None


def expected(text: str) -> list[Said]:
    """What the lines with a figure say, read with nothing but a regular expression of the plain form."""
    said = []
    for line in text.split("\n"):
        found = PREFIX.match(line)
        if found is None or not re.search(r"\d GB|tokens|server_args", found["text"]):
            continue
        ranks = {word.rstrip("0123456789"): int(re.search(r"\d+$", word)[0]) for word in found["ranks"].split()}  # type: ignore[index]
        time = datetime.fromisoformat(found["time"])
        said.append(Said(found["text"].rstrip(), ranks.get("TP"), ranks.get("DP"), ranks.get("PP"), time))
    return said


def unwrapped(text: str) -> list[Said]:
    """What the unwrapped lines say."""
    lines = unwrap(SourceLine(number, line) for number, line in enumerate(text.split("\n"), 1)).lines
    return [Said(line.text.rstrip(), line.rank.tp, line.rank.dp, line.rank.pp, line.time) for line in lines]


def missing(log: Path, names: tuple[str, ...]) -> list[Said]:
    """Lines with a figure that do not come out of the wrapped log as they stand in the plain one, in order."""
    text = log.read_text(encoding="utf-8")
    found = iter(unwrapped(compose(names)(text)))
    return [said for said in expected(text) if said not in found]


LOGS = shared_files("oracle/*.log")
CHOSEN = LOGS if TEST_ALL else [log for log in LOGS if log.stem in KINDS]


@pytest.mark.parametrize("log", CHOSEN, ids=lambda log: log.stem)
def test_every_wrapper_leaves_what_the_log_says(log: Path) -> None:
    wrong = {name: lost[:1] for name in WRAPPERS if (lost := missing(log, (name,)))}
    assert wrong == {}


@pytest.mark.parametrize("names", SAMPLED, ids=" in ".join)
def test_pairs_of_wrappers_leave_what_the_log_says(names: tuple[str, str], shared_dir: Path) -> None:
    assert missing(shared_dir / "oracle" / f"{SMALL}.log", names) == []


def test_the_logs_that_the_test_wraps_are_there(shared_dir: Path) -> None:
    assert {log.stem for log in CHOSEN} >= set(KINDS)
    assert len(expected((shared_dir / "oracle" / f"{SMALL}.log").read_text(encoding="utf-8"))) == 9
