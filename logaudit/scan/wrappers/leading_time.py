"""Recognises a time that a viewer or a runner put before the line."""

from __future__ import annotations

import regex

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

_LINE = regex.compile(
    rf"[\[(]?(?P<time>{STAMP})[\])]?(?P<gap>(?: \d\d[OE][+ ])|[ \t]*[|>:,;-]?[ \t]+|[ \t]*[|>]|(?=\[\d{{4}}-))"
)
_CLOCK = regex.compile(r"[\[(]?\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?[AaPp]\.?[Mm]\.?)?[\])]?[ \t]*[|>-]?[ \t]+")
_MONTH = regex.compile(
    r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?(?:[A-Z][a-z]{2} [ \d]?\d|\d?\d [A-Z][a-z]{2})(?:,? \d{4})?,? "
    r"+\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?[AP]M)?(?: [A-Z]{2,4}| [+-]\d{4})?(?: \d{4})?[ \t]*[|>-]?[ \t]+"
)
_LOCAL = regex.compile(
    r"\[?\d{1,4}[./-]\d{1,2}[./-]\d{1,4},?[ T]\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d{1,9})?(?: ?[AaPp][Mm])?\]?[ \t]*[|>-]?[ \t]+"
)
_EPOCH = regex.compile(r"\[?(?:1[5-9]|2[0-3])\d{8}(?:\.\d{1,9}|\d{3}|\d{6}|\d{9})?\]?[ \t:|]+")
_TAI = regex.compile(r"@[0-9a-f]{24} ?")
_SINCE = regex.compile(r"(?:\[ {0,8}\d{1,9}\.\d{1,9}\] |\d{1,3}m\d{1,2}(?:\.\d+)?s\s+|\+\d{1,7}\.\d{1,6}s? )")


def match(text: str) -> Hit | None:
    """See `Hit`."""
    first = text[:1]
    if not (first.isalnum() or first in "[(@+"):
        return None
    found = _LINE.match(text)
    if found:
        return Hit((text[found.end() :],), parse_stamp(found["time"]))
    for form in (_LOCAL, _EPOCH, _CLOCK, _MONTH, _TAI, _SINCE):
        found = form.match(text)
        if found:
            return Hit((text[found.end() :],))
    return None
