"""Attaches a report to a ticket of Jira, GitHub, GitLab, Redmine, or another tracker that a package brings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["Delivery", "deliver"]

if TYPE_CHECKING:
    from logaudit.tickets.delivery import Delivery, deliver


def __getattr__(name: str) -> Any:
    """The delivery is imported when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("logaudit.tickets.delivery"), name)
