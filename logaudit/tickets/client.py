"""Loads the client library of a tracker when it is needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from logaudit.errors import DeliveryError


def require(module: str, *, extra: str) -> Any:
    """The client library `module`. Raises DeliveryError that names the extra when it is not installed."""
    try:
        return import_module(module)
    except ImportError as problem:
        raise DeliveryError(
            f"its client is not installed ({problem.name or module})",
            where=extra,
            do=f"pip install 'logaudit[{extra}]'",
        ) from None
