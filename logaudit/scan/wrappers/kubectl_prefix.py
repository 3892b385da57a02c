"""Recognises the pod and container that kubectl puts before a line."""

from __future__ import annotations

import regex

from logaudit.scan.wrappers.interface import Hit

NAME = "kubectl --prefix"
ORDER = 15
SURE = True
SAMPLES = (
    ("[pod/sglang-0/server] [2026-01-02 03:04:05] Load weight begin.", ("[2026-01-02 03:04:05] Load weight begin.",)),
)

_LINE = regex.compile(r"\[?pod/(?P<pod>[\w.\-]{1,253})(?:/(?P<container>[\w.\-]{1,253}))?\]?:? ?")


def match(text: str) -> Hit | None:
    """See `Hit`."""
    found = _LINE.match(text) if text.startswith(("[pod/", "pod/")) else None
    if found is None:
        return None
    return Hit(
        (text[found.end() :],), stream=f"{found['pod']}/{found['container'] or ''}".rstrip("/"), host=found["pod"]
    )
