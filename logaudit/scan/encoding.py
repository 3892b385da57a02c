"""Any Unicode encoding to UTF-8, block by block."""

from __future__ import annotations

import codecs
from collections.abc import Iterator

_SLICE_BYTES = 1 << 18


def transcode(blocks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    """The blocks in UTF-8; what does not decode becomes U+FFFD."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for block in blocks:
        for start in range(0, len(block), _SLICE_BYTES):
            yield decoder.decode(block[start : start + _SLICE_BYTES]).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


def decode_line(data: bytes, number: int) -> str:
    """A line without its line end; bad bytes become U+FFFD, zero bytes (a hole in the file) are left out."""
    if data.endswith(b"\n"):
        data = data[:-2] if data.endswith(b"\r\n") else data[:-1]
    if b"\0" in data:
        data = data.replace(b"\0", b"")
    text = data.decode("utf-8", "replace")
    return text.removeprefix("\ufeff") if number == 1 else text
