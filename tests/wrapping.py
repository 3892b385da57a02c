"""Wraps a plain log in the ways that logs are captured, pasted and cut in: what the tests of unwrapping are made of."""

from __future__ import annotations

import html
import json
import textwrap
from collections.abc import Callable, Iterable

Wrapper = Callable[[str], str]

_DAY = "2026-03-04"


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return lines


def _each(form: Callable[[int, str], str]) -> Wrapper:
    def wrap(text: str) -> str:
        return "".join(form(index, line) + "\n" for index, line in enumerate(_lines(text)))

    return wrap


def _clock(index: int) -> str:
    return f"{index // 3600 % 24:02}:{index // 60 % 60:02}:{index % 60:02}"


def _iso(index: int, fraction: str = ".123456789", zone: str = "Z") -> str:
    return f"{_DAY}T{_clock(index)}{fraction}{zone}"


def _cri(text: str, size: int = 200) -> str:
    out: list[str] = []
    for index, line in enumerate(_lines(text)):
        parts = [line[at : at + size] for at in range(0, len(line), size)] or [""]
        out.extend(f"{_iso(index)} stderr P {part}" for part in parts[:-1])
        out.append(f"{_iso(index)} stderr F {parts[-1]}")
    return "\n".join(out) + "\n"


def _json_file(text: str) -> str:
    out: list[str] = []
    for index, line in enumerate(_lines(text)):
        whole = line + "\n"
        out.extend(
            json.dumps({"log": whole[at : at + 16384], "stream": "stderr", "time": _iso(index)})
            for at in range(0, len(whole), 16384)
        )
    return "\n".join(out) + "\n"


def _notebook(text: str, indent: int | None = 1) -> str:
    lines = text.splitlines(keepends=True)
    output = {"name": "stderr", "output_type": "stream", "text": lines}
    code = {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [output], "source": ["run()"]}
    prose = {"cell_type": "markdown", "metadata": {}, "source": ["# A server\n", "It starts."]}
    book = {
        "cells": [prose, code],
        "metadata": {"language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(book, indent=indent) + "\n"


def _hard(width: int, indent: str = "") -> Wrapper:
    def wrap(text: str) -> str:
        out: list[str] = []
        for line in _lines(text):
            out.append(line[:width])
            rest = line[width:]
            step = width - len(indent)
            out.extend(indent + rest[at : at + step] for at in range(0, len(rest), step))
        return "\n".join(out) + "\n"

    return wrap


def _soft(width: int, indent: str = "") -> Wrapper:
    def wrap(text: str) -> str:
        out: list[str] = []
        for line in _lines(text):
            out.extend(
                textwrap.wrap(
                    line,
                    width,
                    subsequent_indent=indent,
                    break_long_words=True,
                    break_on_hyphens=False,
                    expand_tabs=False,
                )
                or [""]
            )
        return "\n".join(out) + "\n"

    return wrap


def _table(text: str) -> str:
    rows = "".join(f"| {index + 1} | {line.replace('|', chr(92) + '|')} |\n" for index, line in enumerate(_lines(text)))
    return "| # | log |\n|---|-----|\n" + rows


def _cells_of_two(text: str) -> str:
    lines = _lines(text)
    rows = [lines[at : at + 2] for at in range(0, len(lines), 2)]
    return "| log |\n|---|\n" + "".join(
        "| " + "<br>".join(line.replace("|", "\\|") for line in row) + " |\n" for row in rows
    )


def _details(text: str) -> str:
    return (
        f"Here is my log:\n\n<details>\n<summary>log</summary>\n\n```text\n{text.rstrip(chr(10))}\n```\n\n</details>\n"
    )


def _journal_json(text: str) -> str:
    out = []
    for index, line in enumerate(_lines(text)):
        message: object = line if index % 3 else list(line.encode())
        out.append(
            json.dumps(
                {
                    "__REALTIME_TIMESTAMP": str(1772582400000000 + index),
                    "_HOSTNAME": "gpu1",
                    "PRIORITY": "6",
                    "MESSAGE": message,
                }
            )
        )
    return "\n".join(out) + "\n"


def _journal_export(text: str) -> str:
    return "".join(
        f"__CURSOR=s=a;i={index}\n__REALTIME_TIMESTAMP={1772582400000000 + index}\n"
        f"_HOSTNAME=gpu1\nPRIORITY=6\nMESSAGE={line}\n\n"
        for index, line in enumerate(_lines(text))
    )


def _pad_box(text: str) -> str:
    width = max((len(line) for line in _lines(text)), default=0)
    bar = "─" * (width + 2)
    rows = "".join(f"│ {line:<{width}} │\n" for line in _lines(text))
    return f"┌{bar}┐\n{rows}└{bar}┘\n"


def _remark(remark: str) -> Wrapper:
    def form(index: int, line: str) -> str:
        return line + remark if line.rstrip().endswith(("GB", "GB.")) else line

    return _each(form)


WRAPPERS: dict[str, Wrapper] = {
    "none": lambda text: text,
    "colours": _each(lambda i, line: f"\x1b[32m{line}\x1b[0m"),
    "written colours": _each(lambda i, line: f"\\u001b[1;33m{line}\\u001b[0m"),
    "syslog colours": _each(lambda i, line: f"#033[33m{line}#033[0m"),
    "windows line ends": lambda text: text.replace("\n", "\r\n"),
    "docker compose": _each(lambda i, line: f"name-1  | {line}"),
    "docker compose with times": _each(lambda i, line: f"sglang-server-1  | {_iso(i)} {line}"),
    "docker json-file": _json_file,
    "docker timestamps": _each(lambda i, line: f"{_iso(i)} {line}"),
    "docker desktop": _each(lambda i, line: f"{_DAY} {_clock(i)} {line}"),
    "kubectl timestamps": _each(lambda i, line: f"{_iso(i, '.123456', '+02:00')} {line}"),
    "kubectl prefix": _each(lambda i, line: f"[pod/sglang-0/server] {line}"),
    "stern": _each(lambda i, line: f"sglang-0 server {line}"),
    "cri": _each(lambda i, line: f"{_iso(i)} stderr F {line}"),
    "cri partial": _cri,
    "journald": _each(lambda i, line: f"Mar 04 {_clock(i)} gpu1 sglang[4242]: {line}"),
    "journald iso": _each(lambda i, line: f"{_DAY}T{_clock(i)}+0000 gpu1 python3[4242]: {line}"),
    "journald json": _journal_json,
    "journald export": _journal_export,
    "syslog 5424": _each(lambda i, line: f"<14>1 {_iso(i, '.123')} gpu1 sglang 4242 - - {line}"),
    "ray": _each(lambda i, line: f"(Worker pid=123, ip=10.0.0.5) {line}"),
    "ray coloured": _each(lambda i, line: f"\x1b[36m(RayWorkerWrapper pid=123)\x1b[0m {line}"),
    "slurm": _each(lambda i, line: f"3: {line}"),
    "mpi": _each(lambda i, line: f"[1,0]<stderr>: {line}"),
    "torchrun": _each(lambda i, line: f"[default0]:{line}"),
    "json loki": _each(lambda i, line: json.dumps({"labels": {"pod": "a"}, "line": line, "timestamp": _iso(i)})),
    "json datadog": _each(
        lambda i, line: json.dumps({"date": _iso(i), "host": "gpu1", "message": line, "status": "info"})
    ),
    "json fluentd": _each(
        lambda i, line: json.dumps({"time": 1772582400 + i, "kubernetes": {"pod_name": "a"}, "log": line + "\n"})
    ),
    "json msg": _each(lambda i, line: json.dumps({"level": "info", "msg": line})),
    "json nested": _each(lambda i, line: json.dumps({"ts": _iso(i), "log": {"message": line}}, ensure_ascii=False)),
    "json array": lambda text: json.dumps([{"message": line} for line in _lines(text)], indent=2) + "\n",
    "notebook": _notebook,
    "notebook on one line": lambda text: _notebook(text, None),
    "json list": lambda text: json.dumps([line + "\n" for line in _lines(text)], indent=4) + "\n",
    "json list on one line": lambda text: json.dumps(_lines(text)) + "\n",
    "python list": lambda text: "[\n" + "".join(f"    {line + chr(10)!r},\n" for line in _lines(text)) + "]\n",
    "python list on one line": lambda text: repr([line + "\n" for line in _lines(text)]) + "\n",
    "one line with signs": lambda text: "⏎".join(_lines(text)) + "\n",
    "one line with escapes": lambda text: "\\n".join(_lines(text)) + "\n",
    "fence": lambda text: f"```\n{text}```\n",
    "details": _details,
    "quote": _each(lambda i, line: f"> {line}"),
    "mail quote": _each(lambda i, line: f">> {line}"),
    "bullets": _each(lambda i, line: f"- {line}"),
    "backticks": _each(lambda i, line: f"`{line}`"),
    "bullets with backticks": _each(lambda i, line: f"* `{line}`"),
    "table": _table,
    "cells of two lines": _cells_of_two,
    "line numbers with bar": _each(lambda i, line: f"{i + 392}| {line}"),
    "line numbers with colon": _each(lambda i, line: f"{i + 12}:{line}"),
    "cat -n": _each(lambda i, line: f"{i + 1:6}\t{line}"),
    "line numbers with arrow": _each(lambda i, line: f"{i + 1:6}→{line}"),
    "file names": _each(lambda i, line: f"server.log:{line}"),
    "file names and numbers": _each(lambda i, line: f"logs/server.log:{i + 1}:{line}"),
    "file column": _each(lambda i, line: f"server.log | {line}"),
    "tail header": lambda text: f"==> server.log <==\n{text}",
    "indent": _each(lambda i, line: f"    {line}"),
    "tab indent": _each(lambda i, line: f"\t{line}"),
    "blank lines": _each(lambda i, line: f"{line}\n"),
    "arrow remark": _remark("  <- look, 3.21 GB less"),
    "arrow sign remark": _remark(" ← was 12.00 GB"),
    "hash remark": _remark("  # 15.01 GB before"),
    "times remark": _remark(" [x 8 GPUs]"),
    "was remark": _remark(" (was 15.01 GB @256k)"),
    "wrapped at 80": _hard(80),
    "wrapped at 120 with indent": _hard(120, "    "),
    "wrapped at 200": _hard(200),
    "wrapped at blanks, 72": _soft(72),
    "wrapped at blanks, 100, with indent": _soft(100, "  "),
    "mail": lambda text: _each(lambda i, line: f"> {line}")(_soft(76)(text)),
    "html": lambda text: "<pre>\n" + html.escape(text) + "</pre>\n",
    "chat": _each(lambda i, line: f"[{i // 60 % 12 + 1}:{i % 60:02} PM] Alice: {line}"),
    "github": _each(lambda i, line: f"{_iso(i, '.1234567')} {line}"),
    "gitlab": lambda text: (
        "section_start:1772582400:run\r\x1b[0K" + _each(lambda i, line: f"{_iso(i, '.123456')} 01O {line}")(text)
    ),
    "buildkite": _each(lambda i, line: f"\x1b_bk;t={1772582400000 + i}\x07{line}"),
    "pm2": _each(lambda i, line: f"0|sglang  | {line}"),
    "tmux": _pad_box,
    "supervisord": _each(lambda i, line: f"{_DAY} {_clock(i)},123 DEBG 'sglang' stderr output:\n{line}"),
    "klog": _each(lambda i, line: f"I0304 {_clock(i)}.123456       1 server.go:12] {line}"),
    "cloudwatch": _each(lambda i, line: f"{_iso(i, '.123000', '+00:00')} sglang/server/0a1b {line}"),
    "csv": lambda text: (
        "time,host,line\n" + _each(lambda i, line: f'{_iso(i)},gpu1,"{line.replace(chr(34), chr(34) * 2)}"')(text)
    ),
    "times of two kinds": _each(lambda i, line: f"{_iso(i)} {_DAY} {_clock(i)} {line}"),
}
"""Every way of wrapping, by name: a function from a log's text to the wrapped text."""

BREAKS = frozenset(name for name in WRAPPERS if name.startswith("wrapped at") or name == "mail")
"""Those that break lines."""

REMARKS = frozenset(name for name in WRAPPERS if name.endswith("remark"))
"""Those that a person adds behind a figure."""


def sensible(inner: str, outer: str) -> bool:
    """Whether the outer wrapper can come upon the inner one: lines are broken once, and no box of their width is."""
    if outer in BREAKS:
        return inner not in BREAKS and inner != "tmux"
    if outer in REMARKS:
        return inner not in BREAKS and inner != "windows line ends"
    return True


def compose(names: Iterable[str]) -> Wrapper:
    """The named wrappers one around the other, the first innermost."""

    def wrap(text: str) -> str:
        for name in names:
            text = WRAPPERS[name](text)
        return text

    return wrap
