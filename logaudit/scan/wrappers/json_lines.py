"""Recognises JSON records whose text is a log line: shippers, container engines, journals, notebooks on one line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import regex

from logaudit.lazy import lazy_pattern
from logaudit.scan.prefix import is_bare, may_hold_line, parse_stamp
from logaudit.scan.wrappers.interface import Hit
from logaudit.scan.wrappers.literals import LITERAL, value
from logaudit.scan.wrappers.string_list import lines_of

NAME = "JSON lines"
ORDER = 8
EACH = False
SURE = True
SAMPLES = (
    (
        r'{"log":"[2026-01-02 03:04:05] Load weight begin.\n","stream":"stderr","time":"2026-01-02T03:04:05.6Z"}',
        ("[2026-01-02 03:04:05] Load weight begin.",),
    ),
    (r'{"log": {"message": "Load weight begin."}, "pod": "a"}', ("Load weight begin.",)),
    (r'{"job": 7, "console": "Load weight begin.\nMemory pool end."}', ("Load weight begin.", "Memory pool end.")),
    (r'{"MESSAGE": [76, 111, 97, 100], "_HOSTNAME": "gpu1"}', ("Load",)),
)

TEXT_KEYS = ("log", "line", "message", "msg", "MESSAGE", "text", "textPayload", "body", "content", "event", "_raw")
_TEXT = frozenset((*TEXT_KEYS, "@message", "Message", "Body", "Log", "short_message", "full_message", "logMessage"))
_AROUND = frozenset(
    (
        "jsonPayload",
        "attributes",
        "record",
        "fields",
        "data",
        "payload",
        "_source",
        "result",
        "results",
        "events",
        "logEvents",
        "streams",
        "values",
        "entries",
        "logs",
        "lines",
        "hits",
        "messages",
        "records",
        "items",
        "resource",
        "value",
        "cells",
        "outputs",
        "worksheets",
        "traceback",
        "output",
        "stdout",
        "stderr",
    )
)
_TIMES = (
    "time",
    "timestamp",
    "ts",
    "@timestamp",
    "Timestamp",
    "__REALTIME_TIMESTAMP",
    "_SOURCE_REALTIME_TIMESTAMP",
    "date",
    "t",
)
_STREAMS = (
    "container_name",
    "container",
    "pod_name",
    "pod",
    "CONTAINER_NAME",
    "_SYSTEMD_UNIT",
    "service",
    "logStreamName",
)
_HOSTS = ("pod_name", "pod", "_HOSTNAME", "hostname", "host", "node", "instance")
_DECODER = json.JSONDecoder(strict=False)
_BETWEEN = lazy_pattern(r"(?:[\s,;\]\[]|\\[nr]|⏎|↵|␤|<br ?/?>)*")
_LOOSE = lazy_pattern(r"""["'](?P<key>log|line|message|msg|MESSAGE|textPayload)["']\s*:\s*(?=[ub]?["'])""")
_STAMP = lazy_pattern(r"\[\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d")
_LOGFMT = lazy_pattern(r"""(?:^|\s)(?:msg|message|log|line)=(?=")""")
_PARTIAL_BYTES = 16_000
"""Container engines cut a line at 16 KiB; a record as long as that without a line end has its rest in the next one."""


def _texts(data: Any, depth: int = 0) -> Iterator[str]:
    if depth > 12:
        return
    if isinstance(data, dict):
        if isinstance(data.get("cell_type"), str) and isinstance(data.get("source"), (str, list)):
            yield from _strings(data["source"])
        for key, inner in data.items():
            if key in _TEXT or key in ("text/plain", "evalue"):
                if isinstance(inner, (dict,)):
                    yield from _texts(inner, depth + 1)
                else:
                    yield from _strings(inner)
            elif key in ("traceback",) or (key in _AROUND and isinstance(inner, (dict, list))):
                yield from _texts(inner, depth + 1) if key != "traceback" else _strings(inner)
            elif key == "data" and isinstance(inner, str):
                yield inner
    elif isinstance(data, list):
        for inner in data:
            if isinstance(inner, (dict, list)):
                yield from _texts(inner, depth + 1)
            elif isinstance(inner, str) and depth and not inner.isdigit():
                yield inner


def _strings(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, list):
        if data and all(isinstance(item, int) and 0 <= item < 256 for item in data):
            yield bytes(data).decode("utf-8", "replace")
        elif all(isinstance(item, str) for item in data):
            yield "".join(data)
        else:
            yield from _texts(data, 1)


def _logs(data: Any, depth: int = 0) -> Iterator[str]:
    """Strings under any key that hold a log line at the start of one of their lines."""
    if isinstance(data, str):
        lines = data.split("\n", 200) if may_hold_line(data) else []
        if any(is_bare(line) or line.startswith('{"') for line in lines) or (len(lines) > 1 and _STAMP.search(data)):
            yield data
    elif depth < 6 and isinstance(data, (dict, list)):
        for inner in data.values() if isinstance(data, dict) else data:
            yield from _logs(inner, depth + 1)


def _find(data: dict[str, Any], names: tuple[str, ...]) -> Any:
    for name in names:
        if data.get(name) is not None:
            return data[name]
    for around in ("kubernetes", "labels", "resource", "_source", "stream", "attributes", "fields", "docker", "log"):
        inner = data.get(around)
        if isinstance(inner, dict):
            for name in names:
                if isinstance(inner.get(name), (str, int, float)):
                    return inner[name]
    return None


def _time(found: Any) -> datetime | None:
    if isinstance(found, str) and not found.replace(".", "", 1).isdigit():
        return parse_stamp(found)
    try:
        number = float(found)
    except (TypeError, ValueError):
        return None
    while number > 1e11:
        number /= 1000
    if number < 1e9:
        return None
    return datetime.fromtimestamp(number, UTC).replace(tzinfo=None)


def _word(found: Any) -> str:
    return found if isinstance(found, str) else ""


def _hit(records: list[Any]) -> Hit | None:
    texts: list[str] = []
    for record in records:
        for text in _texts(record, 0 if isinstance(record, dict) else 1):
            texts.extend(lines_of(text))
    if not texts:
        texts = [line for record in records for text in _logs(record) for line in lines_of(text)]
    if not texts:
        return None
    first = records[0] if isinstance(records[0], dict) else {}
    last = texts[-1]
    whole = first.get("log")
    partial = (
        isinstance(whole, str) and "stream" in first and len(whole.encode(errors="replace")) >= _PARTIAL_BYTES
    ) and not whole.endswith("\n")
    tagged = first.get("logtag") == "P" or first.get("partial_message") in ("true", True)
    host = _word(_find(first, _HOSTS))
    stream = _word(_find(first, _STREAMS)) or host
    return Hit(
        tuple(texts) if len(texts) > 1 else (last,),
        _time(_find(first, _TIMES)),
        stream=stream,
        host=host,
        partial=len(texts) == 1 and (partial or tagged),
    )


def match(text: str) -> Hit | None:
    """See `Hit`."""
    start = text.lstrip(" \t,[")
    if start[:2] in ('{"', "{ ", "{\\", "{'") or start[:3] == "{\n ":
        at = len(text) - len(start)
        records: list[Any] = []
        try:
            while at < len(text):
                record, at = _DECODER.raw_decode(text, at)
                records.append(record)
                gap = _BETWEEN.match(text, at)
                at = gap.end() if gap else at
                if at < len(text) and text[at] != "{":
                    break
        except (ValueError, RecursionError):
            pass
        if records and isinstance(records[0], dict):
            return _hit(records)
        return _loose(text, _LOOSE)
    if '="' in text and not text.startswith(("[", "server_args")):
        return _loose(text, _LOGFMT)
    return None


def _loose(text: str, form: regex.Pattern[str]) -> Hit | None:
    """Records that are no valid JSON: Python's spelling, cut off, `key="value"`."""
    found = form.search(text)
    if found is None:
        return None
    item = LITERAL.match(text, found.end())
    return Hit(tuple(lines_of(value(item)))) if item else None


def follow(text: str, shape: str) -> Hit | None:
    """As `match`; a bracket alone opens or closes the array of records."""
    if text.strip() in ("[", "]", "],", "{", "}", "},"):
        return Hit(())
    return match(text)
