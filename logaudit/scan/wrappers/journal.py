"""Recognises lines as journalctl and syslog print them."""

from __future__ import annotations

from logaudit.lazy import lazy_pattern
from logaudit.scan.prefix import parse_stamp
from logaudit.scan.wrappers.interface import STAMP, Hit

NAME = "journald"
ORDER = 20
SURE = True
SAMPLES = (
    (
        "Jan 02 03:04:05 gpu1 sglang[123]: [2026-01-02 03:04:05] Load weight begin.",
        ("[2026-01-02 03:04:05] Load weight begin.",),
    ),
    ("2026-01-02T03:04:05+0000 gpu1 python3[123]: Load weight begin.", ("Load weight begin.",)),
    ("Sun 2026-01-02 03:04:05.123456 UTC [s=0a1b;i=1;b=2c;m=3d;t=4e;x=5f]", ()),
    ("MESSAGE=[2026-01-02 03:04:05] Load weight begin.", ("[2026-01-02 03:04:05] Load weight begin.",)),
)

_DAY = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?(?:[A-Z][a-z]{2} [ \d]?\d(?: \d{4})? \d\d:\d\d:\d\d(?:\.\d{1,6})?)"
_LINE = lazy_pattern(
    rf"(?:<\d{{1,3}}>1? ?)?(?:(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?(?P<time>{STAMP})|{_DAY}"
    rf"|\[ {{0,8}}\d{{1,9}}\.\d{{1,9}}\])"
    r" (?:(?P<host>[\w.\-]{1,253}) )?(?P<unit>[\w.@/\\\-]{1,120})\[\d{1,10}\]: ?"
)
_PLAIN = lazy_pattern(
    rf"(?:<\d{{1,3}}>1? ?)?(?:(?P<time>{STAMP})|{_DAY}) (?P<host>[\w.\-]{{1,253}}) (?P<unit>[\w.@/\\\-]{{1,120}}): "
)
_RFC5424 = lazy_pattern(
    rf"<\d{{1,3}}>1 (?P<time>{STAMP}) (?P<host>\S{{1,253}}) (?P<unit>\S{{1,120}}) \S{{1,128}} \S{{1,32}} (?:-"
    rf"|\[[^\]]*\]) ?"
)
_EXPORT = lazy_pattern(r"MESSAGE=")
_LEVELS = ("INFO", "WARNING", "ERROR", "DEBUG")
_ENTRY = lazy_pattern(rf"(?:[A-Z][a-z]{{2}} )?{STAMP} \[s=[0-9a-f]+;.{{0,300}}\]$")
_FIELD = lazy_pattern(r"_{0,2}[A-Z][A-Z0-9_]{1,63}=|MESSAGE$")


def match(text: str) -> Hit | None:
    """See `Hit`."""
    first = text[:1]
    if first == "M" and _EXPORT.match(text):
        return Hit((text[8:],), shape="export")
    if not (first.isalnum() or first in "<["):
        return None
    if text.endswith("]") and _ENTRY.match(text):
        return Hit(())
    found = _RFC5424.match(text) or _LINE.match(text) or _PLAIN.match(text)
    if found is None or found["unit"] in _LEVELS or found["unit"].endswith(("Error", "Exception", "Warning", "Exit")):
        return None
    host = found["host"] or ""
    stream = f"{host}/{found['unit']}" if host else found["unit"]
    return Hit((text[found.end() :],), parse_stamp(found["time"] or ""), stream=stream, host=host)


def follow(text: str, shape: str) -> Hit | None:
    """As `match`; beside an exported message the entry's other fields hold no line."""
    hit = match(text)
    if hit is None and shape == "export" and _FIELD.match(text):
        return Hit(())
    return hit
