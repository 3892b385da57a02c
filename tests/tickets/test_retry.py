"""Trying again: how often, how long, and never blindly."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from logaudit.tickets import retry
from logaudit.tickets.interface import Problem
from logaudit.tickets.retry import GaveUp, once


class Failed(Exception):
    """What the fake client raises."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem


BUSY = Problem("busy", "busy", 3.0)
UNSURE = Problem("no answer", "unsure")
REFUSED = Problem("no", "refused")


def explain(error: Exception) -> Problem | None:
    return error.problem if isinstance(error, Failed) else None


def scripted(calls: list[str], name: str, *answers: Problem | str | None) -> Callable[[], str | None]:
    """A function that fails or answers as told, and notes each call."""
    left = iter(answers)

    def act() -> str | None:
        calls.append(name)
        answer = next(left)
        if isinstance(answer, Problem):
            raise Failed(answer)
        return answer

    return act


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    noted: list[float] = []
    monkeypatch.setattr(retry, "pause", noted.append)
    return noted


def test_after_an_unsure_end_it_looks_before_it_acts() -> None:
    calls: list[str] = []
    done = once(scripted(calls, "act", UNSURE, "second"), explain, arrived=scripted(calls, "look", None))
    assert done == "second"
    assert calls == ["act", "look", "act"]


def test_what_arrived_is_not_done_again() -> None:
    calls: list[str] = []
    assert once(scripted(calls, "act", UNSURE), explain, arrived=scripted(calls, "look", "there")) == "there"
    assert calls == ["act", "look"]


def test_as_long_as_it_cannot_look_it_does_not_act() -> None:
    calls: list[str] = []
    look = scripted(calls, "look", UNSURE, UNSURE, None)
    assert once(scripted(calls, "act", UNSURE, "second"), explain, arrived=look) == "second"
    assert calls == ["act", "look", "look", "look", "act"]


def test_turned_away_is_known_not_to_have_arrived(pauses: list[float]) -> None:
    calls: list[str] = []
    assert once(scripted(calls, "act", BUSY, "second"), explain, arrived=scripted(calls, "look")) == "second"
    assert calls == ["act", "act"]
    assert pauses == [3.0]


def test_a_refusal_ends_it(pauses: list[float]) -> None:
    with pytest.raises(GaveUp, match="no"):
        once(scripted([], "act", REFUSED), explain)
    assert pauses == []


def test_the_last_try_is_looked_after_too() -> None:
    calls: list[str] = []
    look = scripted(calls, "look", None, None, None, None, "there")
    assert once(scripted(calls, "act", *[UNSURE] * 5), explain, arrived=look) == "there"
    assert calls[-1] == "look"


def test_it_ends(pauses: list[float]) -> None:
    with pytest.raises(GaveUp, match="no answer"):
        once(scripted([], "act", *[UNSURE] * 5), explain)
    assert pauses == [1.0, 2.0, 4.0, 8.0]


def test_a_fault_of_the_program_is_not_hidden() -> None:
    def act() -> str:
        raise KeyError("x")

    with pytest.raises(KeyError):
        once(act, explain)
