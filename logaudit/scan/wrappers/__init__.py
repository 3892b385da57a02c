"""The wrappers that a log may come in: one recogniser a module, found by being in this folder."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from logaudit.scan.wrappers.interface import Hit, Recogniser


@cache
def recognisers() -> tuple[Recogniser, ...]:
    """Every recogniser of this folder, in the order in which they are asked."""
    found: list[Recogniser] = []
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        match = getattr(module, "match", None)
        if match is None:
            continue
        follow = getattr(module, "follow", None) or _follow(match)
        found.append(Recogniser(module.NAME, module.ORDER, module.SURE, match, follow))
    return tuple(sorted(found, key=lambda recogniser: (recogniser.order, recogniser.name)))


def _follow(match):  # type: ignore[no-untyped-def]
    def follow(text: str, shape: str) -> Hit | None:
        return match(text)  # type: ignore[no-any-return]

    return follow
