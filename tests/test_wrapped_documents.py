"""However a log was captured, the document says the same: every wrapper and pairs of them, around SGLang's own logs."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec
import pytest

from logaudit.auditing import audit
from tests import captures, wrapping
from tests.conftest import TEST_ALL
from tests.oracle import case, cases, names

KINDS = (
    "0.4.3__llama8b-default",
    "0.4.9__dsv3-tp2dp2-fp8",
    "0.5.1__qwen3moe235-tp4dp2",
    "0.5.11__qwen3next-tp4-nextn",
    "0.5.15__dsv4flash-tp4",
    "0.5.20__qwen35-35b-noradix-mreq",
    "0.5.22__llama70b-tp2pp2",
)
"""Logs of each kind: old, data parallel, drafts, state pools, pipeline stages. Those that crashed come beside them."""

BREAKS = wrapping.BREAKS | captures.BREAKING
REMARKS = wrapping.REMARKS | captures.REMARKING
NAMES = tuple(sorted({*wrapping.WRAPPERS, *captures.CAPTURES} - {"none"}))


class InMemory:
    """A source that hands on text."""

    name = "log"

    def __init__(self, text: str) -> None:
        self._text = text

    def blocks(self) -> Iterator[bytes]:
        """See `Source`."""
        yield self._text.encode("utf-8", "surrogateescape")


def wrapped(name: str, text: str) -> str:
    if name in captures.CAPTURES:
        return "\n".join(captures.CAPTURES[name](text.rstrip("\n").split("\n"))) + "\n"
    return wrapping.WRAPPERS[name](text)


def sensible(inner: str, outer: str) -> bool:
    """Whether the outer wrapper can come upon the inner one: lines are broken once, annotated before that, and a
    logger's prefix is inside everything."""
    if outer in captures.PREFIXING:
        return False
    if outer in BREAKS:
        return inner not in BREAKS and inner not in ("tmux", "box")
    if outer in REMARKS:
        return inner not in BREAKS and inner not in ("windows line ends", "shell around")
    return inner != outer


PLACES = frozenset({"line", "evidence", "before_evidence", "lines", "bytes", "encoding", "wrappers", "unrecognised"})
"""Names of the document's members that a wrapper may change: where lines stand, and the text of what is not known."""
TIMES = frozenset({"started_at", "ready_at", "at"})
LINES = re.compile(r"\b([Ll]ines?) \d+(?:(?: to |-|–|, | and )\d+)*")


NO_TIMES = frozenset({"clock without a day", "ranks alone", "milliseconds"})
"""Wrappers that put another time in the place of SGLang's, or none."""


def compared(value: Any) -> Any:
    """What of a document must not change: all but places."""
    if isinstance(value, dict):
        return {
            key: compared(inner)
            for key, inner in value.items()
            if key not in PLACES or (key == "evidence" and isinstance(next(iter(inner), 0), str))
        }
    if isinstance(value, list):
        return [compared(inner) for inner in value]
    return LINES.sub(r"\1 N", value) if isinstance(value, str) else value


def document(text: str) -> Any:
    found = msgspec.to_builtins(audit([InMemory(text)]))
    for launch in found["launches"]:
        # Quotes are one for each line of the source: many lines of the log can stand in one.
        launch["quotes"] = sorted(quote["text"] for quote in launch["quotes"])
    return found


@cache
def plain(name: str) -> tuple[str, Any]:
    text = case(name).log.read_text(encoding="utf-8", errors="surrogateescape")
    return text, compared(document(text))


def differences(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """Where two documents differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in before.keys() | after.keys():
            yield from differences(before.get(key), after.get(key), f"{path}.{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from differences(one, other, f"{path}[{index}]")
    elif before != after:
        yield f"{path}: {before!r:.160} became {after!r:.160}"


def changed(log: str, wrappers: tuple[str, ...]) -> list[str]:
    text, before = plain(log)
    for name in wrappers:
        text = wrapped(name, text)
    after = compared(document(text))
    for one, other in zip(before["launches"], after["launches"], strict=False):
        if len(other["quotes"]) < len(one["quotes"]):
            parts = [part for quote in other["quotes"] for part in quote.removesuffix("…").split("REDACTED")]
            assert all(part in plain(log)[0] for part in parts)
            other["quotes"] = one["quotes"]
            after["redacted"] = before["redacted"]
    found = sorted(differences(before, after))
    if NO_TIMES.intersection(wrappers):
        found = [text for text in found if text.partition(":")[0].rpartition(".")[2] not in TIMES]
    return found[:4]


CRASHED = [given.name for given in cases() if given.refused]
PAIRS = [(inner, outer) for inner in NAMES for outer in NAMES if sensible(inner, outer)]


def _alone() -> list[tuple[str, str]]:
    """Every log in every wrapper; in the sample each wrapper around one log and around one that crashed, in turns."""
    if TEST_ALL:
        return [(log, name) for log in names() for name in NAMES]
    chosen = [log for log in KINDS if log in names()]
    alone = [(chosen[at % len(chosen)], name) for at, name in enumerate(NAMES)]
    if CRASHED:
        alone += [(CRASHED[at * 5 % len(CRASHED)], name) for at, name in enumerate(NAMES)]
    return alone


def _nested() -> list[tuple[str, tuple[str, str]]]:
    """Every pair, each around another log; in the sample a few of them, the same in every run."""
    chance = random.Random(20261129)
    logs = names()
    pairs = PAIRS if TEST_ALL else chance.sample(PAIRS, 100)
    return [(logs[chance.randrange(len(logs))], pair) for pair in pairs]


@pytest.mark.parametrize(("log", "name"), _alone())
def test_a_wrapper_changes_nothing(log: str, name: str) -> None:
    assert changed(log, (name,)) == []


@pytest.mark.parametrize(
    ("log", "pair"), _nested(), ids=lambda value: value if isinstance(value, str) else " in ".join(value)
)
def test_a_pair_of_wrappers_changes_nothing(log: str, pair: tuple[str, str]) -> None:
    assert changed(log, pair) == []
