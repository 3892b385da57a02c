"""Recognises strings of JSON and Python: a list of lines, a notebook's outputs, one quoted line."""

from __future__ import annotations

from logaudit.lazy import lazy_pattern
from logaudit.scan.wrappers.interface import Hit
from logaudit.scan.wrappers.literals import LITERAL, unescape, value

NAME = "string list"
ORDER = 48
EACH = False
SURE = False
SAMPLES = (
    (r'    "[2026-01-02 03:04:05] Load weight begin.\n",', ("[2026-01-02 03:04:05] Load weight begin.",)),
    (
        r"['[2026-01-02 03:04:05] Load weight begin.\n', 'Memory pool end.\n']",
        ("[2026-01-02 03:04:05] Load weight begin.", "Memory pool end."),
    ),
    (r'  "text": "[2026-01-02 03:04:05] Load weight begin.\n"', ("[2026-01-02 03:04:05] Load weight begin.",)),
)

_OPEN = lazy_pattern(
    r"""\s*(?:"(?P<key>[\w./+@\-]{1,60})"\s*:\s*|[A-Za-z_]\w{0,60}\s*=\s*)?(?P<list>[\[({]*)\s*(?=[bruBRU]{0,2}["'])"""
)
_NEXT = lazy_pattern(r"\s*(?:,|\+)?(?:\s|<br ?/?>|⏎|\\n)*(?=[bruBRU]{0,2}[\"'])")
_CLOSE = lazy_pattern(r"(?:⏎|↵|\\n|<br ?/?>)*\s*,?\s*[\])}]*\s*[,;]?\s*(?:(?:#|//|<-|←).*)?$")
_SKELETON = lazy_pattern(
    r"""\s*(?:[\[\]{}(),]+|"[\w./+@ \-]{1,80}"\s*:\s*(?:[\[{][\[\]{}]*|"(?:[^"\\]|\\.)*+"|-?[\d.eE+\-]+|true|false"""
    r"""|null)\s*[\]}]*,?)\s*$"""
)
_TEXT_KEYS = frozenset(
    (
        "text",
        "text/plain",
        "evalue",
        "log",
        "line",
        "message",
        "msg",
        "MESSAGE",
        "output",
        "stdout",
        "stderr",
        "content",
    )
)


def lines_of(text: str) -> list[str]:
    """The lines of a decoded string; the line end at its end starts no further line."""
    text = text.replace("\r\n", "\n")
    parts = text.split("\n")
    if len(parts) > 1 and not parts[-1]:
        parts.pop()
    return parts


def match(text: str) -> Hit | None:
    """See `Hit`."""
    start = text.lstrip()[:1]
    if not (start in "\"'[({" or start.isalpha()) or not start:
        return None
    found = _OPEN.match(text)
    if found is None or (found["key"] and found["key"] not in _TEXT_KEYS and not found["list"]):
        return None
    at = found.end()
    texts: list[str] = []
    while True:
        item = LITERAL.match(text, at)
        if item is None:
            break
        texts.extend(lines_of(value(item)))
        at = item.end()
        further = _NEXT.match(text, at)
        if further is None:
            break
        at = further.end()
    if texts and _CLOSE.match(text, at):
        return Hit(tuple(texts), shape="list")
    if not texts and at < len(text) and text[at] in "\"'":
        # The closing mark was cut off with the end of the line.
        return Hit(tuple(lines_of(unescape(text[at + 1 :]))), shape="list")
    return None


def follow(text: str, shape: str) -> Hit | None:
    """As `match`; beside such strings the brackets and the scalars of the file around them hold no line."""
    if _SKELETON.match(text):
        key = _OPEN.match(text)
        if key is None or key["key"] not in _TEXT_KEYS:
            return Hit((), shape=shape)
    return match(text)
