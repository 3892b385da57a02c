"""Patterns that are compiled when they are first used: one command uses few of the hundreds that its modules define."""

from __future__ import annotations

from typing import Any, AnyStr, cast

import regex

_METHODS = ("match", "fullmatch", "search", "finditer", "findall", "sub", "subf", "subn", "split", "splititer")


class _LazyPattern:
    """Stands in for a compiled pattern and takes its methods over on first use, after which it costs nothing more."""

    def __init__(self, pattern: Any, flags: int) -> None:
        self._source = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        # Copying and pickling look for methods of their own before anything is compiled.
        if name.startswith("__") or name == "_source":
            raise AttributeError(name)
        compiled = regex.compile(*self._source)
        self.__dict__.update((method, getattr(compiled, method)) for method in _METHODS)
        return getattr(compiled, name)


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> regex.Pattern[AnyStr]:
    """What `regex.compile` gives, compiled at the first search; a faulty pattern raises `regex.error` there."""
    return cast("regex.Pattern[AnyStr]", _LazyPattern(pattern, flags))
