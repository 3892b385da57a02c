"""Recognises words of an unknown tool before the line, such as the names of a pod, a stream or a level."""

from __future__ import annotations

import regex

from logaudit.scan.wrappers.interface import STAMP, TIMEOUT_S, Hit

NAME = "name columns"
ORDER = 70
SURE = False
SAMPLES = (
    ("sglang-0 server [2026-01-02 03:04:05] Load weight begin.", ("[2026-01-02 03:04:05] Load weight begin.",)),
    ("app[91857e9f] ord [info][2026-01-02 03:04:05] Load weight begin.", ("[2026-01-02 03:04:05] Load weight begin.",)),
)

_LINE = regex.compile(
    r"(?P<words>(?:[^\s│┃║|>]{1,120}[ \t]{1,30}){1,4}?(?:\[[A-Za-z]{1,12}\])?"
    r"|[^\s│┃║|]{1,60}[:\]>])(?=\[(?:\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d|gpu_id=|\d\d:\d\d:\d\d )|[\[{]+[\"']"
    r"|(?:[^\s\[\]]{1,200}[:|>]|\d{1,8}[:)|]) ?\[\d{4}-\d\d-\d\d[ T]|\([\w.]{1,120}(?:\([^()]{0,80}\))? pid="
    rf"|{STAMP}[ \t]"
    r"|[bruBRU]{0,2}[\"'`*_]{1,3}\[|[│┃║|>`-] ?[\[{\"']|[|│] )"
)


def match(text: str) -> Hit | None:
    """See `Hit`."""
    found = _LINE.match(text, timeout=TIMEOUT_S)
    if found is None or "%|" in found[0] or "it/s]" in found[0] or "s/it]" in found[0]:
        return None
    return Hit((text[found.end() :],), shape=found["words"])


def follow(text: str, shape: str) -> Hit | None:
    """Takes off the same words and no others."""
    if text.startswith(shape):
        return Hit((text[len(shape) :],), shape=shape)
    return match(text)
