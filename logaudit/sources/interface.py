"""The contract of a place that log bytes come from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Region:
    """Lines of a source that may matter, already picked out (by this machine's scan or by the far side's `grep`)."""

    number: int
    """1-based line number of the first line of `data` in the whole source."""
    data: bytes
    """One or more whole lines as given (decompressed), in order; regions do not overlap and come in order."""


@runtime_checkable
class Source(Protocol):
    """Where one log comes from.

    A source may also have `notes: Sequence[str]`: what the reader should know about how it was read (it grew, its
    compressed stream was cut), complete once `blocks` has ended.
    """

    @property
    def name(self) -> str:
        """How the user named it, as shown in the report (credentials already removed)."""

    def blocks(self) -> Iterator[bytes]:
        """The decompressed bytes from start to end, in blocks of bounded size; raises SourceError."""


@runtime_checkable
class FilteredSource(Source, Protocol):
    """A source that can send only what matters, so that a large far-away log need not be copied."""

    def regions(self, anchors: tuple[bytes, ...]) -> Iterator[Region] | None:
        """Regions around lines that hold one of `anchors`, with context; None when this source cannot filter now."""


class Extent(Protocol):
    """Plain bytes that several threads can read at any offset."""

    @property
    def size_bytes(self) -> int:
        """How many bytes there are to read."""

    def read_into(self, buffer: memoryview, offset: int) -> int:
        """Fill `buffer` from `offset` on and return how many bytes were there; raises SourceError."""

    def close(self) -> None:
        """Give the file back."""


@runtime_checkable
class RandomAccessSource(Source, Protocol):
    """A source whose bytes are plain and at hand, so that several cores can read it."""

    def extent(self) -> Extent | None:
        """The bytes, or None when they must be read in order (compressed, a pipe)."""
