"""Figures and arguments that no machine has end in a report, soon, and never in a fault."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import regex

import logaudit
from logaudit.report.render import render

ORACLE = Path(__file__).parent.parent / "fixtures" / "oracle"
NAMES = (
    "0.5.7__gptoss-noradix-mreq",
    "0.5.4__qwen3next-tp2-noradix",
    "0.5.18__qwen3next-pp2",
    "0.5.8__mimo-tp4",
    "0.4.8__llama70b-tp4-unbal",
    "0.5.20__dsv4flash-tp4-nextn",
)
ABSURD = (
    "1e308",
    "nan",
    "inf",
    3000 * "9",
    "-5",
    "0",
    "-0.00",
    "999999999.99",
    "99999999999",
    "-1000000",
    "2147483648",
)
NUMBER = regex.compile(r"(?<![\w.:-])\d+(?:\.\d+)?(?![\w:-])")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(3))
def test_any_number_of_a_log_may_be_absurd(tmp_path: Path, name: str, seed: int) -> None:
    chance = random.Random(f"{name} {seed}")
    text = (ORACLE / f"{name}.log").read_text()
    numbers = list(NUMBER.finditer(text))
    for number in sorted(chance.sample(numbers, 40), key=lambda found: -found.start()):
        text = text[: number.start()] + chance.choice(ABSURD) + text[number.end() :]
    (tmp_path / "server.log").write_text(text)
    document = logaudit.audit([str(tmp_path / "server.log")])
    assert document.launches
    for face in ("text", "md", "html"):
        assert len(render(document, face)) > 500


@pytest.mark.parametrize("value", ABSURD)
def test_every_argument_may_be_absurd(tmp_path: Path, value: str) -> None:
    text = (ORACLE / "0.5.18__qwen3next-pp2.log").read_text()
    (tmp_path / "server.log").write_text(regex.sub(r"(?<=\w=)\d+(?:\.\d+)?(?=[,)])", value, text))
    document = logaudit.audit([str(tmp_path / "server.log")])
    assert document.launches[0].outcome in {"ready", "initialised", "crashed", "incomplete"}
