"""Does a thing once on a server that may be busy or gone for a moment: waits, looks, and only then tries again."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from logaudit.tickets.interface import Problem

T = TypeVar("T")
ATTEMPTS = 5
LONGEST_WAIT_S = 120.0
"""A tracker that asks for more is not waited for."""
pause = time.sleep
log = logging.getLogger("logaudit.tickets")


class GaveUp(Exception):
    """It did not work in the end."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.what)
        self.problem = problem


def once(
    act: Callable[[], T],
    explain: Callable[[Exception], Problem | None],
    *,
    arrived: Callable[[], T | None] | None = None,
    what: str = "request",
) -> T:
    """The result of `act`, tried up to `ATTEMPTS` times.

    After a failure that may have arrived, `arrived` is asked first: its answer, unless None, is the result. Without
    `arrived` the act must be harmless to repeat. Raises GaveUp, and whatever `explain` has no answer for.
    """
    look = False
    problem = Problem("nothing was tried", "refused")
    for attempt in range(ATTEMPTS):
        try:
            if look and arrived is not None:
                found = arrived()
                if found is not None:
                    log.debug("%s: it had arrived", what)
                    return found
                look = False
            return act()
        except Exception as error:
            explained = explain(error)
            if explained is None:
                raise
            problem = explained
        if problem.kind == "refused":
            raise GaveUp(problem)
        look = look or problem.kind == "unsure"
        if attempt + 1 < ATTEMPTS:
            _wait(problem, attempt, what)
    if look and arrived is not None:
        found = _last_look(arrived, explain)
        if found is not None:
            return found
    raise GaveUp(problem)


def _wait(problem: Problem, attempt: int, what: str) -> None:
    seconds = problem.wait_s if problem.wait_s is not None else float(2**attempt)
    if seconds > LONGEST_WAIT_S:
        raise GaveUp(
            Problem(f"{problem.what}; it asks to wait {seconds:.0f} s", "refused", problem.wait_s, problem.status)
        )
    log.debug("%s: %s; next try in %.0f s", what, problem.what, seconds)
    pause(seconds)


def _last_look(arrived: Callable[[], T | None], explain: Callable[[Exception], Problem | None]) -> T | None:
    try:
        return arrived()
    except Exception as error:
        if explain(error) is None:
            raise
        return None
