"""What a command does not import it does not wait for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FIXTURE = Path(__file__).parents[2] / "fixtures" / "kimi-k25-tp8.log"


def imported(arguments: list[str]) -> set[str]:
    """The modules in memory after a command line of logaudit."""
    code = f"import sys; from logaudit.cli.main import run; run({arguments!r}); print(*sys.modules, sep='\\n', file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_help_needs_neither_the_parser_of_arguments_nor_the_report(arguments: list[str]) -> None:
    assert not imported(arguments) & {"typer", "regex", "rich", "jinja2", "pandas", "msgspec", "logaudit.auditing"}


def test_a_report_of_a_small_log_needs_no_frames() -> None:
    modules = imported(["report", str(FIXTURE)])
    assert "logaudit.auditing" in modules
    assert not modules & {"pandas", "numpy", "pyarrow", "pydantic", "dask", "fsspec", "requests", "asyncio"}
