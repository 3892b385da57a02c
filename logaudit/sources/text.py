"""Telling text from binary data, and which encoding the text has, by its first bytes."""

from __future__ import annotations

import codecs

_BINARY_SHARE = 0.05
"""Share of control characters above which data is not text: random bytes have 0.1, logs none to speak of."""

_CONTROLS = (
    bytes(code for code in range(0x20) if code not in (0x00, 0x07, 0x08, 0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x1B)) + b"\x7f"
)

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def sniff_encoding(head: bytes) -> str:
    """Python's name of the UTF-8, UTF-16 or UTF-32 form that `head` is in, by its mark or by where zero bytes lie."""
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    sample = head[: 1 << 12]
    even, odd = sample[0::2], sample[1::2]
    if len(odd) < 4:
        return "utf-8"
    even_zeros, odd_zeros = even.count(0) / len(even), odd.count(0) / len(odd)
    if odd_zeros > 0.4 and even_zeros < 0.05:
        return "utf-16-le"
    if even_zeros > 0.4 and odd_zeros < 0.05:
        return "utf-16-be"
    return "utf-8"


def looks_binary(head: bytes) -> bool:
    """Whether `head` is no text in any of the encodings of `sniff_encoding`; zero bytes alone do not make it binary.

    A log that was rotated by truncation while its writer went on begins with a hole of zeros.
    """
    encoding = sniff_encoding(head)
    if encoding not in ("utf-8", "utf-8-sig"):
        head = head.decode(encoding, "replace").encode()
    body = head.strip(b"\0")
    if not body:
        return False
    zeros = len(body) - len(body.replace(b"\0", b""))
    controls = len(body) - len(body.translate(None, _CONTROLS))
    return controls > _BINARY_SHARE * len(body) or zeros > 0.3 * len(body)
