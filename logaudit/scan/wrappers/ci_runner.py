"""Recognises the marks of GitLab, Buildkite, GitHub and supervisord."""

from __future__ import annotations

from datetime import UTC, datetime

import regex

from logaudit.scan.prefix import parse_stamp
from logaudit.scan.wrappers.interface import STAMP, Hit

NAME = "CI runner"
ORDER = 12
SURE = True
SAMPLES = (
    (
        "2026-01-02T03:04:05.678901Z 00O [2026-01-02 03:04:05] Load weight begin.",
        ("[2026-01-02 03:04:05] Load weight begin.",),
    ),
    ("_bk;t=1767323045678[2026-01-02 03:04:05] Load weight begin.", ("[2026-01-02 03:04:05] Load weight begin.",)),
    ("2026-01-02 03:04:05,678 DEBG 'sglang' stderr output:", ()),
)

_GITLAB = regex.compile(rf"(?P<time>{STAMP}) \d\d[OE](?P<more>[+ ])")
_BUILDKITE = regex.compile(r"_bk;t=(?P<ms>\d{13})[\x07;]?")
_SECTION = regex.compile(r"section_(?:start|end):\d+:[\w.\-]+(?:\[[^\]]*\])?\s*")
_GITHUB = regex.compile(
    r"##\[(?:group|endgroup|command|section|debug|notice|warning|error)\]|::(?:group|endgroup|notice|debug)[^:]{0,80}::"
)
_STEP = regex.compile(rf"(?P<job>[^\t]{{1,120}})\t(?P<step>[^\t]{{1,120}})\t(?=\ufeff?{STAMP} )")
_SUPERVISOR = regex.compile(rf"{STAMP} DEBG '(?P<name>[^']{{1,80}})' std(?:out|err) output:\s*$")


def match(text: str) -> Hit | None:
    """See `Hit`."""
    found = _GITLAB.match(text)
    if found:
        return Hit((text[found.end() :],), parse_stamp(found["time"]))
    found = _BUILDKITE.match(text)
    if found:
        time = datetime.fromtimestamp(int(found["ms"]) / 1000, UTC).replace(tzinfo=None)
        return Hit((text[found.end() :],), time)
    for form in (_SECTION, _GITHUB):
        found = form.match(text)
        if found:
            rest = text[found.end() :]
            return Hit((rest,) if rest.strip() else ())
    if _SUPERVISOR.match(text):
        return Hit(())
    found = _STEP.match(text)
    return Hit((text[found.end() :],)) if found else None
