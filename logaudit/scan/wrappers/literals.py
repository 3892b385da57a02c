"""Reads string literals as JSON and Python write them."""

from __future__ import annotations

import regex

from logaudit.lazy import lazy_pattern

LITERAL = lazy_pattern(
    r"""[bruBRU]{0,2}(?:"(?P<double>(?:[^"\\]|\\.)*+)"|'(?P<single>(?:[^'\\]|\\.)*+)')""", regex.DOTALL
)
_ESCAPE = lazy_pattern(
    r"\\(?:u(?P<u>[0-9a-fA-F]{4})|U(?P<long>[0-9a-fA-F]{8})|x(?P<x>[0-9a-fA-F]{2})|(?P<octal>[0-7]{1,3})|(?P<one>.))",
    regex.DOTALL,
)
_ONE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "a": "\a", "v": "\v", "e": "\x1b"}
_SURROGATES = lazy_pattern(r"[\ud800-\udbff][\udc00-\udfff]")


def _replace(found: regex.Match[str]) -> str:
    one = found["one"]
    if one is not None:
        return _ONE.get(one, one if one in "\"'\\/\n" else "\\" + one)
    code = found["u"] or found["long"] or found["x"]
    value = int(code, 16) if code else int(found["octal"], 8)
    return chr(value) if value < 0x110000 else "\ufffd"


def unescape(body: str) -> str:
    """The text that the inside of a literal stands for."""
    if "\\" not in body:
        return body
    text = _ESCAPE.sub(_replace, body)
    if any("\ud800" <= sign <= "\udfff" for sign in text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def value(found: regex.Match[str]) -> str:
    """The text of a matched literal."""
    body: str = found["double"] if found["double"] is not None else found["single"]
    return unescape(body)
