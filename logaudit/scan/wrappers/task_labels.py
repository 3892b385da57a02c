"""Recognises the task number that srun, MPI and torchrun put before a line."""

from __future__ import annotations

import regex

from logaudit.scan.wrappers.interface import Hit

NAME = "task labels"
ORDER = 35
SURE = False
SAMPLES = (
    ("3: [2026-01-02 03:04:05] Load weight begin.", ("[2026-01-02 03:04:05] Load weight begin.",)),
    ("[1,0]<stderr>: [2026-01-02 03:04:05] Load weight begin.", ("[2026-01-02 03:04:05] Load weight begin.",)),
    ("[default0]:[2026-01-02 03:04:05 TP0] Load weight begin.", ("[2026-01-02 03:04:05 TP0] Load weight begin.",)),
)

_MPI = regex.compile(r"\[(?P<job>\d{1,6}),(?P<task>\d{1,6})\](?:<std\w{3,4}>)?(?:\[[^\]]{0,60}\])?: ?")
_SRUN = regex.compile(r" {0,5}(?P<task>\d{1,5}): ")
_RANK = regex.compile(
    r"\[?(?:rank|default|local_rank|worker|node|task|proc|host|Rank)[ _:=-]?(?P<task>\d{1,5})(?:\]:?|:)(?P<gap> ?)"
    r"|\[(?P<t2>\d{1,5})\]:?(?P<gap2> )"
)


def match(text: str) -> Hit | None:
    """See `Hit`."""
    found = _MPI.match(text) or _SRUN.match(text)
    if found:
        return Hit((text[found.end() :],), host=f"task {found['task']}")
    found = _RANK.match(text)
    return Hit((text[found.end() :],)) if found else None
