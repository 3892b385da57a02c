"""The contract of a recogniser: what one module of this folder offers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

TIMEOUT_S = 2.0
"""How long one search on one line may take."""

STAMP = r"\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z| ?[+-]\d\d:?\d\d| UTC| GMT| CES?T)?"
"""A full time as wrappers print it, with or without fraction and zone."""


@dataclass(frozen=True, slots=True)
class Hit:
    """What a recogniser saw in one line."""

    texts: tuple[str, ...]
    """The lines inside, in order; none when the line belongs to the wrapper alone (a fence, a bracket)."""
    time: datetime | None = None
    """Naive time that the wrapper gives, if any."""
    stream: str = ""
    """Container, pod or unit that the line came from."""
    host: str = ""
    """The machine (pod, node, address) where the wrapper names one."""
    partial: bool = False
    """Whether the rest of the line follows in the next piece of the same stream."""
    shape: str = ""
    """What all lines of one block share (an indent, a separator); handed to `follow` for their neighbours."""


@dataclass(frozen=True, slots=True)
class Recogniser:
    """A module of this folder: `NAME`, `ORDER`, `SURE`, `match` and, where needed, `follow`."""

    name: str
    """As the report names the wrapper."""
    order: int
    """Lower is asked first; where two could match the more particular one comes first."""
    sure: bool
    """Whether a match proves the wrapper. Otherwise it counts only where a line of SGLang comes to light,
    and for the lines beside it."""
    match: Callable[[str], Hit | None]
    each: bool
    """Whether it stands before every physical line and holds one line at most: what is inside may break on its own."""
    follow: Callable[[str, str], Hit | None]
    """As `match`, for a line beside one that matched with the given shape."""
