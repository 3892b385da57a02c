"""Decompression of a byte stream recognised by its first bytes, in blocks of bounded size."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

BLOCK_BYTES = 1 << 20
"""Largest block that is handed on: what keeps a decompression bomb in bounds."""

_MEMORY_LIMIT_BYTES = 256 << 20
"""Most memory that an xz stream may ask for; the largest preset needs 65 MiB."""

_ZSTD_WINDOW_BYTES = 1 << 27
"""Largest zstd window taken, that of `zstd --long`."""


class _Decoder(Protocol):
    """One member (stream, frame) of a compressed file."""

    def feed(self, data: bytes) -> bytes:
        """At most BLOCK_BYTES of output; input that was not taken is kept inside."""

    @property
    def hungry(self) -> bool:
        """Whether it needs more input before it can give more output."""

    @property
    def finished(self) -> bool:
        """Whether the member's end was reached."""

    @property
    def unused(self) -> bytes:
        """Input after the member's end."""


class _Gzip:
    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)

    def feed(self, data: bytes) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, BLOCK_BYTES)

    @property
    def hungry(self) -> bool:
        return not self._inner.unconsumed_tail

    @property
    def finished(self) -> bool:
        return self._inner.eof

    @property
    def unused(self) -> bytes:
        return self._inner.unused_data


class _Standard:
    """bzip2 and xz, whose decompressors share an interface."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def feed(self, data: bytes) -> bytes:
        produced: bytes = self._inner.decompress(data, BLOCK_BYTES)
        return produced

    @property
    def hungry(self) -> bool:
        needs_input: bool = self._inner.needs_input
        return needs_input

    @property
    def finished(self) -> bool:
        eof: bool = self._inner.eof
        return eof

    @property
    def unused(self) -> bytes:
        unused: bytes = self._inner.unused_data
        return unused


class _Zstd:
    """A zstd frame, fed a few of its blocks at a time: zstandard's incremental object does not bound its output itself.

    A block gives at most 128 KiB (RFC 8878, 3.1.1.2), whatever it takes of input.
    """

    _BLOCKS_AT_ONCE = BLOCK_BYTES >> 17
    _LONGEST_HEADER_BYTES = 18
    _BLOCK_HEADER_BYTES = 3
    _RUN_LENGTH_BLOCK = 1

    def __init__(self) -> None:
        import zstandard

        self._error = zstandard.ZstdError
        self._frame_header_size = zstandard.frame_header_size
        self._inner = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES).decompressobj()
        self._pending = b""
        self._to_next_header = -1
        self._ended = False
        self._starved = False

    def feed(self, data: bytes) -> bytes:
        try:
            return self._feed(data)
        except self._error as error:
            raise ValueError(str(error)) from error

    def _feed(self, data: bytes) -> bytes:
        if data:
            self._pending += data
        self._starved = False
        if self._pending[1:4] == b"\x2a\x4d\x18" and self._to_next_header < 0:
            self._ended = True
        take = len(self._pending) if self._ended else self._span_of_some_blocks()
        taken, self._pending = self._pending[:take], self._pending[take:]
        if not taken:
            self._starved = True
            return b""
        if not self._ended:
            self._to_next_header -= take
        return self._inner.decompress(taken)

    def _span_of_some_blocks(self) -> int:
        if self._to_next_header < 0:
            try:
                self._to_next_header = self._frame_header_size(self._pending)
            except self._error:
                if len(self._pending) >= self._LONGEST_HEADER_BYTES:
                    raise
                return 0
        for _ in range(self._BLOCKS_AT_ONCE):
            header = self._pending[self._to_next_header : self._to_next_header + self._BLOCK_HEADER_BYTES]
            if len(header) < self._BLOCK_HEADER_BYTES:
                return min(self._to_next_header, len(self._pending))
            fields = int.from_bytes(header, "little")
            if fields & 1:
                self._ended = True
                return len(self._pending)
            size = 1 if fields >> 1 & 3 == self._RUN_LENGTH_BLOCK else fields >> 3
            self._to_next_header += self._BLOCK_HEADER_BYTES + size
        return min(self._to_next_header, len(self._pending))

    @property
    def hungry(self) -> bool:
        return self._starved or not self._pending

    @property
    def finished(self) -> bool:
        return self._inner.eof

    @property
    def unused(self) -> bytes:
        return self._inner.unused_data + self._pending


@dataclass(frozen=True, slots=True)
class Compression:
    """A kind of compression: how it is recognised and how a member of it is read."""

    name: str
    magics: tuple[bytes, ...]
    new_decoder: Callable[[], _Decoder]


COMPRESSIONS = (
    Compression("gzip", (b"\x1f\x8b\x08",), _Gzip),
    Compression("zstd", (b"\x28\xb5\x2f\xfd", *(bytes((low,)) + b"\x2a\x4d\x18" for low in range(0x50, 0x60))), _Zstd),
    Compression(
        "xz", (b"\xfd7zXZ\x00",), lambda: _Standard(lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MEMORY_LIMIT_BYTES))
    ),
    Compression(
        "bzip2",
        tuple(b"BZh%d" % level + start for level in range(1, 10) for start in (b"1AY&SY", b"\x17rE8P\x90")),
        lambda: _Standard(bz2.BZ2Decompressor()),
    ),
)

MAGIC_BYTES = max(len(magic) for compression in COMPRESSIONS for magic in compression.magics)
"""How many of the first bytes are needed to recognise any kind."""


def recognise(head: bytes) -> Compression | None:
    """The compression whose magic number `head` (at least MAGIC_BYTES, or all there is) begins with."""
    return next((kind for kind in COMPRESSIONS if head.startswith(kind.magics)), None)


class Damage(Exception):
    """The compressed stream cannot be read further; what came before it was given."""


def decompress(compression: Compression, blocks: Iterator[bytes]) -> Iterator[bytes]:
    """The content of one or more members, in blocks of about BLOCK_BYTES at most; raises Damage with the offset.

    Zero bytes after a member are padding and are left out without a word.
    """
    decoder: _Decoder | None = None
    fed_bytes = 0
    members = 0
    for block in blocks:
        data = block
        fed_bytes += len(block)
        while True:
            if decoder is None:
                data = data.lstrip(b"\0")
                if not data:
                    break
                decoder = compression.new_decoder()
            try:
                produced = decoder.feed(data)
            except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError, MemoryError) as error:
                raise Damage(_describe_damage(compression, error, fed_bytes - len(data), members)) from error
            data = b""
            if produced:
                yield produced
            if decoder.finished:
                data = decoder.unused
                decoder = None
                members += 1
            elif decoder.hungry:
                break
    if decoder is not None:
        raise Damage(f"the {compression.name} stream breaks off at byte {fed_bytes:,}")


def _describe_damage(compression: Compression, error: Exception, offset: int, members: int) -> str:
    if isinstance(error, lzma.LZMAError) and "limit" in str(error).lower():
        return f"the {compression.name} stream asks for more memory than a log needs"
    after = " after a complete stream" if members else ""
    return f"the {compression.name} stream is damaged near byte {offset:,}{after}"
