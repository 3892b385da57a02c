"""Recognises the clock and the name that chat programs put before a copied line."""

from __future__ import annotations

from logaudit.lazy import lazy_pattern
from logaudit.scan.wrappers.interface import TIMEOUT_S, Hit

NAME = "chat"
ORDER = 42
SURE = False
SAMPLES = (
    ("[12:03 PM] Alice: [2026-01-02 03:04:05] Load weight begin.", ("[2026-01-02 03:04:05] Load weight begin.",)),
    ("Alice Doe  12:03 PM [2026-01-02 03:04:05] Load weight begin.", ("[2026-01-02 03:04:05] Load weight begin.",)),
    ("<alice> [2026-01-02 03:04:05] Load weight begin.", ("[2026-01-02 03:04:05] Load weight begin.",)),
)

_WHEN = r"(?:\d{1,4}[./-]\d{1,2}[./-]\d{1,4},? )?\d{1,2}:\d\d(?::\d\d)?(?: ?[AaPp]\.?[Mm]\.?)?"
_LINE = lazy_pattern(
    rf"(?:\[(?:{_WHEN})\]|{_WHEN})[ \t]*[-–—|]?[ \t]*(?:<[^<>]{{1,60}}>"
    rf"|(?!DP|TP|[\w.]*(?:Error|Exception|Warning|Exit):)[\w .@'’()\-]{{1,60}}?:)?[ \t]+"
    rf"|(?:<[@+]?[\w.\-]{{1,40}}>|[@\w][\w .'’@()\-]{{0,58}}?[ \t]*"
    rf"(?!\[?\d{{4}}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)[\[(]?{_WHEN}[\])]?:?)[ \t]+"
    rf"|(?!\w*(?:Error|Exception|Warning|Exit):)[@A-Z][\w.'’\-]{{0,30}}(?: [A-Z][\w.'’\-]{{0,30}}){{0,2}}: "
)


def match(text: str) -> Hit | None:
    """See `Hit`."""
    found = _LINE.match(text, timeout=TIMEOUT_S) if text[:1].isalnum() or text[:1] in ("[", "<", "@") else None
    return Hit((text[found.end() :],)) if found else None
