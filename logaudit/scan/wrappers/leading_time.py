"""Recognises a time that a viewer or a runner put before the line."""

from __future__ import annotations

import regex

from logaudit.lazy import lazy_pattern
from logaudit.scan.prefix import parse_stamp
from logaudit.scan.wrappers.interface import STAMP, Hit

NAME = "leading time"
ORDER = 25
SURE = False
SAMPLES = (
    (
        "2026-01-02T03:04:05.678901234Z [2026-01-02 03:04:05] Load weight begin.",
        ("[2026-01-02 03:04:05] Load weight begin.",),
    ),
    (
        "2026-01-02 03:04:05 [2026-01-02 03:04:05 TP0] Load weight begin.",
        ("[2026-01-02 03:04:05 TP0] Load weight begin.",),
    ),
    ("Jan  2 03:04:05 Load weight begin.", ("Load weight begin.",)),
    ("@400000006956e3d51dcd6500 Load weight begin.", ("Load weight begin.",)),
    ("03:04:05 PM Load weight begin.", ("Load weight begin.",)),
)

_LINE = lazy_pattern(rf"[\[(]?(?P<time>{STAMP})[\])]?(?: \d\d[OE](?=[+ ]))?")
_CLOCK = lazy_pattern(r"[\[(]?\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?[AaPp]\.?[Mm]\.?)?[\])]?")
_MONTH = lazy_pattern(
    r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?(?:[A-Z][a-z]{2} [ \d]?\d|\d?\d [A-Z][a-z]{2})(?:,? \d{4})?,? "
    r"+\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?[AP]M)?(?: [A-Z]{2,4}\b| [+-]\d{4})?(?: \d{4})?"
)
_LOCAL = lazy_pattern(
    r"\[?\d{1,4}[./-]\d{1,2}[./-]\d{1,4},?[ T]\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d{1,9})?(?: ?[AaPp][Mm])?\]?"
)
_EPOCH = lazy_pattern(r"\[?(?:1[5-9]|2[0-3])\d{8}(?:\.\d{1,9}|\d{3}|\d{6}|\d{9})?\]?")
_TAI = lazy_pattern(r"@[0-9a-f]{24}")
_SINCE = lazy_pattern(r"(?:\[ {0,8}\d{1,9}\.\d{1,9}\]|\d{1,3}m\d{1,2}(?:\.\d+)?s|\+\d{1,7}\.\d{1,6}s?)")
_GAP = lazy_pattern(r"[ \t]{1,4}[|>-][ \t]|[:,;|>]?(?P<one>[ \t])|(?=\[\d{4}-)")


def _time(text: str) -> regex.Match[str] | None:
    first = text[:1]
    if not (first.isalnum() or first in "[(@+"):
        return None
    for form in (_LINE, _LOCAL, _EPOCH, _CLOCK, _MONTH, _TAI, _SINCE):
        found = form.match(text)
        if found:
            return found
    return None


def _hit(text: str, found: regex.Match[str], end: int, shape: str) -> Hit:
    stamp = found.groupdict().get("time")
    time = None if stamp is None else parse_stamp(stamp)
    return Hit((text[end:],), time, shape=shape)


def match(text: str) -> Hit | None:
    """See `Hit`."""
    found = _time(text)
    gap = _GAP.match(text, found.end()) if found else None
    if found is None or gap is None:
        return None
    rest = text[gap.end() :]
    end = len(text) - len(rest.lstrip(" \t"))
    return _hit(text, found, end, text[found.end() : end])


def follow(text: str, shape: str) -> Hit | None:
    """As `match`, with what stands between time and text in the line beside it and no more."""
    found = _time(text)
    if found is None:
        return None
    if text.startswith(shape, found.end()):
        return _hit(text, found, found.end() + len(shape), shape)
    if found.end() == len(text) or text[found.end()] in " \t":
        return _hit(text, found, found.end() + 1, shape)
    return None
