"""Server arguments as the formula reads them: typed, with defaults, remembering what had to be assumed."""

from __future__ import annotations

from collections.abc import Mapping

from packaging.version import Version

from logaudit.sizing.model import Input

_LARGEST = 10**12
"""A larger number is no argument of a server that exists; `nan` is none either."""


class Arguments:
    """Looks arguments up; where the log lacks one, the default is used, and noted if the dump was not complete."""

    def __init__(self, args: Mapping[str, object], *, known: bool, release: Version, line: int | None = None) -> None:
        self._args = args
        self._known = known
        self._line = line
        self.release = release
        self.assumed: list[str] = []

    def with_changes(self, **changes: object) -> Arguments:
        """The same arguments with some that SGLang set by itself after they were printed."""
        changed = Arguments({**self._args, **changes}, known=self._known, release=self.release, line=self._line)
        changed.assumed = self.assumed
        return changed

    def get(self, name: str, default: object = None) -> object:
        """The value as parsed; `default` when the name is absent."""
        if name in self._args:
            return self._args[name]
        if not self._known and name not in self.assumed:
            self.assumed.append(name)
        return default

    def given(self, name: str) -> bool:
        """Whether the log holds this argument with a value."""
        return self._args.get(name) is not None

    def whole(self, name: str) -> int | None:
        """A whole number, or None when absent, None or something else."""
        value = self.get(name)
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            return None
        try:
            whole = int(value)
        except (ValueError, OverflowError):
            return None
        return whole if abs(whole) <= _LARGEST else None

    def number(self, name: str, default: float) -> float:
        """A number, `default` when absent or None."""
        value = self.get(name)
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            return default
        try:
            number = float(value)
        except (ValueError, OverflowError):
            return default
        return number if abs(number) <= _LARGEST else default

    def flag(self, name: str) -> bool:
        """A switch; absent is off."""
        value = self.get(name)
        return value is True or (isinstance(value, str) and value.lower() == "true")

    def text(self, name: str) -> str | None:
        """A text, or None."""
        value = self.get(name)
        return None if value is None else str(value)

    def input(self, name: str, value: object, *, default: bool = False) -> Input:
        """How this argument is shown beside a term."""
        origin = f"default of {self.release}" if default or name not in self._args else "server_args"
        return Input(name, str(value), origin, self._line if name in self._args else None)


_SPECULATIVE_WITH_DRAFT_KV = {"EAGLE", "EAGLE3", "NEXTN", "STANDALONE", "FROZEN_KV_MTP"}


def speculation(args: Arguments) -> str | None:
    """The speculative algorithm in capitals, None when speculation is off."""
    name = args.text("speculative_algorithm")
    return name.upper() if name else None


def is_eagle_like(algorithm: str | None) -> bool:
    """EAGLE, its variants and STANDALONE: the algorithms whose draft has a KV pool of the target's kind."""
    return algorithm in _SPECULATIVE_WITH_DRAFT_KV


def alloc_len_per_decode(args: Arguments, page_size: int) -> int:
    """Tokens one request may allocate in a decode step (get_alloc_len_per_decode)."""
    if speculation(args) is None:
        return 1
    steps = args.whole("speculative_num_steps") or 1
    topk = args.whole("speculative_eagle_topk") or 1
    drafts = args.whole("speculative_num_draft_tokens") or 0
    if page_size == 1 or topk == 1:
        return max(steps * topk, drafts)
    pages_per_branch = (page_size - 1 + steps + page_size - 1) // page_size
    return max(pages_per_branch * page_size * topk, drafts)
