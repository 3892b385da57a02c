"""Recognises the lines of Markdown, HTML, pages and boxes that hold no log text."""

from __future__ import annotations

import regex

from logaudit.lazy import lazy_pattern
from logaudit.scan.wrappers.interface import TIMEOUT_S, Hit

NAME = "Markdown and HTML blocks"
ORDER = 5
EACH = False
SURE = True
SAMPLES = (
    ("```text", ()),
    ("|---|---|", ()),
    ("<details>", ()),
    ('<div class="line">[2026-01-02 03:04:05] Load weight begin.</div>', ("[2026-01-02 03:04:05] Load weight begin.",)),
)

_BLOCK = lazy_pattern(
    r"\s*(?:(?:`{3,}|~{3,})[\w+.\-{} ]{0,40}|</?(?:pre|code|details|summary|p|div|blockquote|ul|ol|table|tbody"
    r"|thead)(?:\s[^<>]{0,200})?>|"
    r"<summary>[^<>]{0,200}</summary>|\|?(?:\s*:?-{3,}:?\s*\|)+(?:\s*:?-{3,}:?\s*)?|[┌┐└┘├┤┬┴┼╭╮╰╯─━═╔╗╚╝╠╣+]{3,}"
    r"|\+(?:-{3,}\+)+"
    r"|section_(?:start|end):\d+:\S*|==> .{1,300} <==)\s*$"
)
_OPEN = lazy_pattern(
    r"\s*+(?:<(?:pre|code|samp|div|p|span|td|li)(?:\s[^<>]{0,200})?>)+(?P<text>[^<]*\S.*)$", regex.DOTALL
)
_CLOSE = lazy_pattern(r"(?:\s*+(?:</(?:pre|code|samp|div|p|span|td|li)>|<br ?/?>))+\s*$")
_FIRST = frozenset("`~<|┌└├╭╰─━═╔╚╠+:-s=")


def match(text: str) -> Hit | None:
    """See `Hit`."""
    start = text.lstrip()
    if not start or start[0] not in _FIRST:
        return None
    if _BLOCK.match(text, timeout=TIMEOUT_S):
        return Hit(())
    found = _OPEN.match(text) if start[0] == "<" else None
    if found:
        return Hit((_CLOSE.sub("", found["text"], timeout=TIMEOUT_S),))
    return None
