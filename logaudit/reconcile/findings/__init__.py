"""Findings: one rule a module, each with its code, when it fires, its numbers and its evidence lines.

A module offers `CODE`, `SEVERITIES` (those it can have) and `find(case) -> Found | None`; its words are in
`templates/findings/<CODE>.md.j2`.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from functools import cache
from importlib import import_module

from logaudit.reconcile.case import Case, Found

Rule = Callable[[Case], Found | None]


@cache
def rules() -> dict[str, Rule]:
    """Code -> rule, in order of code."""
    modules = [import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__)]
    return {module.CODE: module.find for module in sorted(modules, key=lambda module: str(module.CODE))}


def all_findings(case: Case) -> tuple[Found, ...]:
    """Every finding that fires, in order of code."""
    return tuple(found for rule in rules().values() if (found := rule(case)) is not None)
