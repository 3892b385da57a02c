"""The commands by name: where each lives and what it does, without importing any of them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Command:
    """One command, loaded when it is called."""

    target: str
    """`module:function`; the function takes typer parameters and returns the exit code."""
    summary: str
    """One line for `logaudit --help`."""

    def load(self) -> Callable[..., int]:
        """The function itself."""
        module, _, name = self.target.partition(":")
        found: Any = getattr(importlib.import_module(module), name)
        return found  # type: ignore[no-any-return]


COMMANDS: Mapping[str, Command] = {
    "report": Command("logaudit.cli.report:report", "explain a start; `logaudit LOG` for short"),
    "watch": Command("logaudit.cli.watch:watch", "follow a start as it happens, report when it is ready or crashed"),
    "whatif": Command("logaudit.cli.whatif:whatif", "the same start under other arguments: tokens, requests, headroom"),
    "frame": Command("logaudit.cli.frame:frame", "the figures as a table: CSV, JSON or Parquet"),
    "diff": Command("logaudit.cli.diff:diff", "two starts: what changed, and what each change is worth in tokens"),
    "fleet": Command("logaudit.cli.fleet:fleet", "any number of logs as one Parquet dataset, with a report on them"),
    "kinds": Command("logaudit.cli.kinds:kinds", "the kinds of log lines that are understood"),
    "attach": Command("logaudit.cli.attach:attach", "put a report on a ticket: Jira, GitHub, GitLab, Redmine"),
    "redact": Command("logaudit.cli.redact:redact", "a copy of a log without secrets, for a public bug report"),
    "schema": Command("logaudit.cli.schema:schema", "the JSON Schema of the report's JSON form"),
}
