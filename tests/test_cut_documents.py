"""Logs that are cut, shuffled, glued together or shortened by hand: what is there is said, what is missing is named."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from logaudit.errors import SourceError
from tests.captures import OWN
from tests.conftest import TEST_ALL
from tests.oracle import case, names
from tests.test_wrapped_documents import compared, differences, document, plain

SAMPLE = names() if TEST_ALL else random.Random(7).sample(names(), min(20, len(names())))


def _cuts(text: str) -> Iterator[str]:
    """The log cut at either end, between lines and within one, at places that differ from log to log."""
    chance = random.Random(len(text))
    lines = text.splitlines(keepends=True)
    for _ in range(6 if TEST_ALL else 1):
        at = chance.randrange(1, len(lines))
        sign = chance.randrange(50, len(text) - 50)
        yield from ("".join(lines[:at]), "".join(lines[at:]), text[:sign], text[sign:])


@pytest.mark.parametrize("name", SAMPLE)
def test_a_cut_log_is_never_explained_wrongly(name: str) -> None:
    truth = [rank["max_total_num_tokens"] for rank in case(name).ranks]
    for part in _cuts(plain(name)[0]):
        try:
            found = document(part)
        except SourceError:
            continue
        for launch in found["launches"]:
            verdict = launch["reconciliation"]
            assert verdict["status"] in {"explained", "not_checkable"}
            if verdict["status"] == "not_checkable":
                assert verdict["missing"]
            elif verdict["actual_tokens"] is not None:
                assert verdict["actual_tokens"] in truth
                assert verdict["expected_tokens"]["low"] <= verdict["actual_tokens"]
                assert verdict["actual_tokens"] <= verdict["expected_tokens"]["high"]


def _tag(line: str) -> str | None:
    own = OWN.match(line)
    return own[3] if own and "server_args" not in line and "Traceback" not in line else None


def shuffled(lines: list[str], chance: random.Random) -> list[str]:
    """Lines of ranks in another order among each other, each rank's own in theirs."""
    out: list[str] = []
    for at in range(0, len(lines), 6):
        window = lines[at : at + 6]
        tags = [tag for line in window if (tag := _tag(line)) is not None]
        if len(tags) == len(window):
            left = defaultdict(list)
            for line, tag in zip(window, tags, strict=True):
                left[tag].append(line)
            chance.shuffle(tags)
            window = [left[tag].pop(0) for tag in tags]
        out += window
    return out


def glued(lines: list[str], chance: random.Random) -> list[str]:
    """Some lines behind the one before, without a line end between them."""
    out: list[str] = []
    for line in lines:
        if out and OWN.match(line) and OWN.match(out[-1]) and chance.random() < 0.2:
            out[-1] += line
        else:
            out.append(line)
    return out


@pytest.mark.parametrize("change", [shuffled, glued])
@pytest.mark.parametrize("name", SAMPLE)
def test_order_among_ranks_and_lost_line_ends_change_nothing(
    name: str, change: Callable[[list[str], random.Random], list[str]]
) -> None:
    text = plain(name)[0]
    before = compared(document(text))
    after = compared(document("\n".join(change(text.rstrip("\n").split("\n"), random.Random(len(text)))) + "\n"))
    for launch in (*before["launches"], *after["launches"]):
        launch["quotes"] = launch["timeline"] = []
    assert list(differences(before, after))[:4] == []


SHORTENED = "0.5.22__llama70b-tp2pp2"
DUMP = re.compile(r"(server_args=\w*[({])(.*)[)}]")


def _shortened(found: re.Match[str]) -> str:
    arguments = found[2].split(", ")
    kept = [text for text in arguments if re.search(r"\b(?:mem_fraction_static|[tp]p_size)\b", text)]
    return f"{found[1]}{', '.join(arguments[:6])}, …, {', '.join(kept)}, ...)"


SHORTER: dict[str, Callable[[str], str]] = {
    "the dump": lambda text: DUMP.sub(_shortened, text),
    "a clause": lambda text: re.sub(r"(Load weight end\.).*?(avail mem=)", r"\1 … \2", text),
    "a clause with dots": lambda text: re.sub(r"(Load weight end\.).*?(avail mem=)", r"\1 ... \2", text),
    "about": lambda text: text.replace("avail mem=", "avail mem=≈"),
    "about in the place of equals": lambda text: text.replace("avail mem=", "avail mem≈"),
    "thousands": lambda text: re.sub(r"#tokens: (\d+)", lambda found: f"#tokens: {int(found[1]):,}", text),
    "a range of ranks": lambda text: "\n".join(
        line.replace("TP0]", "TP0..1]") for line in text.split("\n") if " TP1]" not in line
    ),
}


@pytest.mark.parametrize("name", SHORTER)
def test_what_people_shorten_is_read(name: str, shared_dir: Any) -> None:
    text = (shared_dir / "oracle" / f"{SHORTENED}.log").read_text(encoding="utf-8")
    found = document(SHORTER[name](text))["launches"]
    assert len(found) == 1
    assert found[0]["reconciliation"]["status"] == "explained"
    tokens = {rank["max_total_num_tokens"] for rank in case(SHORTENED).ranks}
    assert found[0]["reconciliation"]["actual_tokens"] in tokens


def test_a_range_of_readings_is_read_as_one(shared_dir: Any) -> None:
    text = (shared_dir / "oracle" / f"{SHORTENED}.log").read_text(encoding="utf-8")
    ranged = re.sub(r"(Memory pool end\. avail mem=)12\.15 GB", r"\g<1>12.10-12.20 GB", text)
    assert ranged != text
    rows = document(ranged)["launches"][0]["ranks"]
    # The middle of 12.10 and 12.20.
    assert rows[0]["pool_end_gib"] == pytest.approx(12.15)
