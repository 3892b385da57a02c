"""The wrappers that a log may come in: one recogniser a module, found by being in this folder."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import ParamSpec

from logaudit.scan.wrappers.interface import Hit, Recogniser

P = ParamSpec("P")


@cache
def recognisers() -> tuple[Recogniser, ...]:
    """Every recogniser of this folder, in the order in which they are asked."""
    found: list[Recogniser] = []
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        match = getattr(module, "match", None)
        if match is None:
            continue
        follow = getattr(module, "follow", None)
        found.append(
            Recogniser(
                module.NAME,
                module.ORDER,
                module.SURE,
                _in_time(match),
                getattr(module, "EACH", True),
                _beside(match) if follow is None else _in_time(follow),
            )
        )
    return tuple(sorted(found, key=lambda recogniser: (recogniser.order, recogniser.name)))


def _in_time(look: Callable[P, Hit | None]) -> Callable[P, Hit | None]:
    """A line that takes too long to look at is no wrapper's."""

    def looked(*args: P.args, **kwargs: P.kwargs) -> Hit | None:
        try:
            return look(*args, **kwargs)
        except TimeoutError:
            return None

    return looked


def _beside(match: Callable[[str], Hit | None]) -> Callable[[str, str], Hit | None]:
    return _in_time(lambda text, shape: match(text))
