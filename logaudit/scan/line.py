"""What the scan hands on: a line as given, and that line with wrappers and prefix taken off."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import msgspec


@dataclass(frozen=True, slots=True)
class SourceLine:
    """One line of the source as given, decoded, without its line end."""

    number: int
    """1-based line number in the source as given (decompressed, decoded)."""
    text: str


@dataclass(frozen=True, slots=True)
class RankTag:
    """Which process printed a line; None where the line does not say."""

    tp: int | None = None
    pp: int | None = None
    dp: int | None = None
    ep: int | None = None
    attn_cp: int | None = None
    moe_dp: int | None = None
    gpu: int | None = None
    node: int | None = None
    """Node or pod, where a wrapper names it (numbered in order of appearance)."""
    extra: str = ""
    """Any other words in the tag (`encode_server`, `DisaggregationMode.DECODE`)."""


NO_RANK = RankTag()
"""What a line says that names no rank."""


class Line(msgspec.Struct, frozen=True):
    """One logical log line: what SGLang's logger was given, and where it stood."""

    number: int
    """1-based number of its first line in the source as given."""
    text: str
    """The message: wrappers, colours, bars and SGLang's own prefix removed, hard wraps joined."""
    raw: str
    """The line as given (joined when it was hard-wrapped), for quoting."""
    time: datetime | None = None
    """Naive time from SGLang's own prefix, else from the wrapper in a log whose own lines have none; None otherwise."""
    rank: RankTag = NO_RANK
    stream: str = ""
    """Which process or container it came from where several share the source (a pod or container name)."""
