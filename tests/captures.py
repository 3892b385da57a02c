"""Logs as tools and people hand them on: each way of capture written from what the tool prints, lines in, lines out."""

from __future__ import annotations

import csv
import html
import io
import json
import pprint
import re
import textwrap
from collections.abc import Callable

Lines = list[str]
Capture = Callable[[Lines], Lines]

OWN = re.compile(r"^\[(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)((?: [A-Z]+\d+)*)\] ")
"""The prefix that SGLang itself prints: date, clock, ranks."""


def _each(form: Callable[[int, str], str]) -> Capture:
    return lambda lines: [form(index, line) for index, line in enumerate(lines)]


def _prefix(form: Callable[[str, str, str], str]) -> Capture:
    """SGLang's own prefix written as another logging configuration writes it."""

    def capture(lines: Lines) -> Lines:
        out = []
        for line in lines:
            own = OWN.match(line)
            out.append(form(own[1], own[2], own[3]) + line[own.end() :] if own else line)
        return out

    return capture


def _time(index: int, zone: str = "Z", digits: int = 9) -> str:
    fraction = (123456789 + index * 7919) % 1000000000
    return f"2026-11-29T13:{(18 + index // 60) % 60:02}:{index % 60:02}.{f'{fraction:09}'[:digits]}{zone}"


def _second(index: int) -> str:
    return f"13:18:{index % 60:02}"


def _json(index: int, line: str, key: str, **around: object) -> str:
    return json.dumps({**around, key: line})


def _cri(size: int) -> Capture:
    def capture(lines: Lines) -> Lines:
        out = []
        for index, line in enumerate(lines):
            parts = [line[at : at + size] for at in range(0, len(line), size)] or [""]
            out += [f"{_time(index, '+00:00')} stderr P {part}" for part in parts[:-1]]
            out.append(f"{_time(index, '+00:00')} stderr F {parts[-1]}")
        return out

    return capture


def _export(lines: Lines) -> Lines:
    out = []
    for index, line in enumerate(lines):
        out += [f"__CURSOR=s=ab;i={index:x}", f"__REALTIME_TIMESTAMP={1795958282000000 + index}", "_TRANSPORT=stdout"]
        out += ["PRIORITY=6", "SYSLOG_IDENTIFIER=sglang", f"MESSAGE={line}", "_PID=123", "_HOSTNAME=gpu1", ""]
    return out


def _verbose(lines: Lines) -> Lines:
    out = []
    for index, line in enumerate(lines):
        out += [f"Sun 2026-11-29 {_second(index)}.123456 UTC [s=ab;i={index:x};b=0]", "    _TRANSPORT=stdout"]
        out += ["    PRIORITY=6", f"    MESSAGE={line}", "    _PID=123", "    _HOSTNAME=gpu1"]
    return out


def _journal_pretty(lines: Lines) -> Lines:
    out: Lines = []
    for line in lines:
        out += json.dumps({"PRIORITY": "6", "_PID": "1", "MESSAGE": line, "_HOSTNAME": "a"}, indent=8).split("\n")
    return out


def _journal_bytes(index: int, line: str) -> str:
    return json.dumps({"MESSAGE": list(line.encode()) if index % 7 == 3 else line, "_PID": "123"})


def _notebook(*texts: object, indent: int | None = 1) -> Lines:
    outputs = [{"name": "stderr", "output_type": "stream", "text": text} for text in texts]
    cell = {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": outputs, "source": ["start()\n"]}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4}, indent=indent, ensure_ascii=False).split("\n")


def _ended(lines: Lines) -> Lines:
    return [line + "\n" for line in lines]


def _halves(lines: Lines) -> Lines:
    middle = len(lines) // 2
    return _notebook(_ended(lines[:middle]), _ended(lines[middle:]), indent=2)


def _cells_of_two(lines: Lines, mark: str = "", end: str = "<br>") -> Lines:
    cells = [end.join(f"{mark}{line}{mark}" for line in lines[at : at + 2]) for at in range(0, len(lines), 2)]
    return ["| rank | log |", "|---|---|", *(f"| {at} | {cell} |" for at, cell in enumerate(cells))]


def _remark(text: str) -> Capture:
    """A person's remark behind every third line of SGLang's."""
    return lambda lines: [
        line + text if OWN.match(line) and index % 3 == 0 else line for index, line in enumerate(lines)
    ]


def _cut(width: int, indent: str = "") -> Capture:
    """As a terminal: at the width, in the middle of words."""

    def capture(lines: Lines) -> Lines:
        out = []
        for line in lines:
            out.append(line[:width])
            rest, room = line[width:], width - len(indent)
            out += [indent + rest[at : at + room] for at in range(0, len(rest), room)]
        return out

    return capture


def _fold(width: int, indent: str = "", *, hyphens: bool = False, flowed: bool = False) -> Capture:
    """As a mail program or a person: at blanks."""

    def capture(lines: Lines) -> Lines:
        out = []
        for line in lines:
            parts = textwrap.wrap(
                line,
                width,
                subsequent_indent=indent,
                break_on_hyphens=hyphens,
                break_long_words=not flowed,
                replace_whitespace=False,
                expand_tabs=False,
            ) or [""]
            out += [part + " " for part in parts[:-1]] if flowed else parts[:-1]
            out.append(parts[-1])
        return out

    return capture


def _csv(lines: Lines) -> Lines:
    text = io.StringIO()
    csv.writer(text).writerows([["timestamp", "message"], *([_time(i), line] for i, line in enumerate(lines))])
    return text.getvalue().rstrip("\r\n").split("\r\n")


def _box(lines: Lines) -> Lines:
    width = max(map(len, lines))
    return ["┌" + "─" * width + "┐", *(f"│{line:<{width}}│" for line in lines), "└" + "─" * width + "┘"]


CAPTURES: dict[str, Capture] = {
    "prefix with a logger's place": _prefix(
        lambda day, clock, ranks: f"[{day} {clock}{ranks}] INFO server_args.py:12: "
    ),
    "prefix of logging.Formatter": _prefix(
        lambda day, clock, ranks: f"{day} {clock},491 [INFO] sglang.srt.mem_cache.memory_pool: [{day} {clock}{ranks}] "
    ),
    "prefix with dashes": _prefix(
        lambda day, clock, ranks: f"{day} {clock},491 - sglang.srt.server_args - INFO - [{day} {clock}{ranks}] "
    ),
    "two clocks in a prefix": _prefix(lambda day, clock, ranks: f"[{day} {clock}] [{day} {clock}{ranks}] "),
    "side in the prefix": _prefix(
        lambda day, clock, ranks: f"[{day} {clock} DisaggregationMode.DECODE{ranks}] " if ranks else f"[{day} {clock}] "
    ),
    "clock without a day": _prefix(lambda day, clock, ranks: f"[{clock}{ranks}] " if ranks else f"[{day} {clock}] "),
    "ranks alone": _prefix(lambda day, clock, ranks: f"[{ranks.strip()}] " if ranks else f"[{day} {clock}] "),
    "ranks in brackets of their own": _prefix(
        lambda day, clock, ranks: f"[{day} {clock}]{''.join(f'[{rank}]' for rank in ranks.split())} "
    ),
    "milliseconds": _prefix(lambda day, clock, ranks: f"[{day} {clock}.123{ranks}] "),
    "compose v1": _each(lambda i, line: f"sglang_1          | {line}"),
    "compose in colours": _each(lambda i, line: f"\x1b[36msglang-server-1  | \x1b[0m{line}"),
    "compose with times": _each(lambda i, line: f"sglang-1  | {_time(i)} {line}"),
    "swarm": _each(lambda i, line: f"sglang_server.1.x1y2z3a4b5c6@gpu-node-1    | {line}"),
    "json-file with a tag": _each(
        lambda i, line: json.dumps({"log": line + "\n", "stream": "stderr", "attrs": {"tag": "a"}, "time": _time(i)})
    ),
    "desktop": _each(lambda i, line: f"2026-11-29 {_second(i)} {line}"),
    "desktop with a bar": _each(lambda i, line: f"2026-11-29 {_second(i)}.{i % 1000:03} | {line}"),
    "kubectl prefix and time": _each(lambda i, line: f"[pod/sglang-7d9f8b6c5-x2x9q/sglang] {_time(i)} {line}"),
    "cri of 16 KiB": _cri(16384),
    "cri of 500": _cri(500),
    "stern in colours": _each(lambda i, line: f"\x1b[32msglang-0\x1b[0m \x1b[36mserver\x1b[0m {line}"),
    "journal precise": _each(lambda i, line: f"Nov 29 {_second(i)}.123456 gpu-node-1 sglang[12345]: {line}"),
    "journal full": _each(lambda i, line: f"Sun 2026-11-29 {_second(i)} UTC gpu-node-1 docker[12345]: {line}"),
    "journal unix": _each(lambda i, line: f"1795958282.{i:06} gpu-node-1 docker[12345]: {line}"),
    "journal json with bytes": _each(_journal_bytes),
    "journal export": _export,
    "journal verbose": _verbose,
    "journal json over lines": _journal_pretty,
    "ray actor with a name": _each(lambda i, line: f"(EngineActor(rank=0) pid=1234, ip=10.0.0.2) {line}"),
    "srun": _each(lambda i, line: f" 3: {line}"),
    "logcli": _each(lambda i, line: f'2026-11-29T{_second(i)}Z {{app="sglang", pod="sglang-0"}} {line}'),
    "loki push": _each(lambda i, line: json.dumps({"stream": {"app": "a"}, "values": [[str(1795958282 + i), line]]})),
    "datadog export": _each(
        lambda i, line: json.dumps({"id": "A", "content": {"timestamp": _time(i), "host": "h", "message": line}})
    ),
    "datadog flat": _each(lambda i, line: _json(i, line, "message", timestamp=_time(i), status="info", ddtags="a:b")),
    "fluentd": _each(
        lambda i, line: (
            f"2026-11-29 {_second(i)}.000000000 +0000 kubernetes.var.log: {_json(i, line, 'log', stream='stderr')}"
        )
    ),
    "fluent-bit": _each(
        lambda i, line: f"[{i}] kube.sglang: [[1795958282.{i:09}, {{}}], {_json(i, line, 'log', stream='stderr')}]"
    ),
    "vector": _each(lambda i, line: _json(i, line, "message", file="/var/log/x", host="gpu1", timestamp=_time(i))),
    "gelf": _each(lambda i, line: _json(i, line, "short_message", version="1.1", host="gpu1", level=6)),
    "logfmt": _each(lambda i, line: f'time="{_time(i)}" level=info msg={json.dumps(line)}'),
    "stackdriver": _each(lambda i, line: _json(i, line + "\n", "textPayload", insertId="x", timestamp=_time(i))),
    "elastic": _each(lambda i, line: json.dumps({"_index": "a", "_source": {"@timestamp": _time(i), "message": line}})),
    "splunk": _each(lambda i, line: json.dumps({"preview": False, "result": {"_raw": line, "_time": _time(i)}})),
    "cloudwatch events": lambda lines: json.dumps(
        {"events": [{"timestamp": 1795958282000 + i, "message": line} for i, line in enumerate(lines)]}, indent=4
    ).split("\n"),
    "a job's record": lambda lines: [json.dumps({"job": "x", "console": "\n".join(lines) + "\n", "status": "ok"})],
    "notebook of two outputs": _halves,
    "notebook with one text": lambda lines: _notebook("\n".join(lines) + "\n"),
    "strings of a notebook": lambda lines: [f"      {json.dumps(line)}," for line in _ended(lines)],
    "assigned list": lambda lines: ["lines = [", *(f"    {line!r}," for line in lines), "]"],
    "pprint": lambda lines: pprint.pformat(_ended(lines), width=10000).split("\n"),
    "bytes of Python": _each(lambda i, line: repr((line + "\n").encode())),
    "one Python string": lambda lines: [repr("\n".join(lines) + "\n")],
    "one JSON string": lambda lines: [json.dumps("\n".join(lines) + "\n")],
    "signs with blanks": lambda lines: [" ⏎ ".join(lines)],
    "written CR LF": lambda lines: ["\\r\\n".join(lines)],
    "sign behind each line": _each(lambda i, line: line + "↵"),
    "escape behind each line": _each(lambda i, line: line + "\\n"),
    "fence in a list": lambda lines: ["1. Start", "   ```bash", *(f"   {line}" for line in lines), "   ```"],
    "nested quotes": _each(lambda i, line: f"> > {line}"),
    "tight quotes": _each(lambda i, line: f">{line}"),
    "numbered": _each(lambda i, line: f"{i + 1}. {line}"),
    "indented bullets": _each(lambda i, line: f"  - {line}"),
    "bold": _each(lambda i, line: f"**{line}**"),
    "two backticks": _each(lambda i, line: f"``{line}``"),
    "table with notes": lambda lines: [
        "| log line | note |",
        "| --- | --- |",
        *(f"| {line} | {index}.12 GB less |" for index, line in enumerate(lines)),
    ],
    "cells of two with marks": lambda lines: _cells_of_two(lines, "`", "<br/>"),
    "nl": _each(lambda i, line: f"{i + 1:6}  {line}"),
    "bat": _each(lambda i, line: f"{i + 1:4} │ {line}"),
    "grep with context": _each(
        lambda i, line: f"server.log{':' if i % 3 else '-'}{i + 1}{':' if i % 3 else '-'}{line}"
    ),
    "grep of a path": _each(lambda i, line: f"/var/log/sglang/server-0.log:{i + 1}:{line}"),
    "two tabs": _each(lambda i, line: f"\t\t{line}"),
    "two blank lines": lambda lines: [row for line in lines for row in (line, "", "")],
    "blanks behind": _each(lambda i, line: line + "   "),
    "long arrow": _remark("  <=== avail mem=3.21 GB ???"),
    "arrow with a figure": _remark("   <- only 7.12 GB left here, was 20.5 GB"),
    "sign with a figure": _remark("  ← 12.34 GB missing (16 GB expected)"),
    "comment": _remark("  // 12.5 GB"),
    "versus": _remark("  (vs 15.01 GB before)"),
    "cut at 72": _cut(72),
    "cut at 80 with indent": _cut(80, "    "),
    "cut at 100": _cut(100),
    "cut at 132 with indent": _cut(132, "  "),
    "cut at 160": _cut(160),
    "folded at 72": _fold(72),
    "folded at 80 with indent": _fold(80, "    "),
    "folded at 100 at hyphens": _fold(100, hyphens=True),
    "folded at 132": _fold(132),
    "flowed mail": _fold(72, flowed=True),
    "quoted mail": lambda lines: [f"> {line}" for line in _fold(72)(lines)],
    "page of lines": _each(lambda i, line: f'<div class="line">{html.escape(line, quote=False)}</div>'),
    "line breaks of a page": _each(lambda i, line: f"{html.escape(line)}<br>"),
    "box": _box,
    "csv": _csv,
    "tsv": _each(lambda i, line: f"{_time(i)}\tsglang-0\t{line}"),
    "step of a workflow": _each(lambda i, line: f"test\tRun server\t{_time(i, digits=7)} {line}"),
    "gitlab": _each(lambda i, line: f"{_time(i, digits=6)} 01O {line}"),
    "fly": _each(lambda i, line: f"2026-11-29T{_second(i)}Z app[91857e9f] ord [info]{line}"),
    "heroku": _each(lambda i, line: f"2026-11-29T{_second(i)}.123456+00:00 app[web.1]: {line}"),
    "shell around": lambda lines: ["root@gpu1:~# docker logs sglang", *lines, "root@gpu1:~# "],
}

BREAKING = frozenset(name for name in CAPTURES if name.startswith(("cut at", "folded at", "flowed", "quoted mail")))
"""Those that break lines."""

REMARKING = frozenset({"long arrow", "arrow with a figure", "sign with a figure", "comment", "versus"})
"""Those that a person adds behind a figure."""

PREFIXING = frozenset(
    name for name in CAPTURES if name.startswith(("prefix", "two clocks", "side", "clock", "ranks", "milli"))
)
"""Those that a logging configuration makes: nothing stands inside them."""
