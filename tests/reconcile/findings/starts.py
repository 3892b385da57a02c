"""Logs for the tests of findings: fixtures, and fixtures that were made to end badly."""

from __future__ import annotations

import tempfile
from pathlib import Path

from logaudit.auditing import cases_of, given_of, launches_of, read_source
from logaudit.reconcile.case import Case, Found
from logaudit.reconcile.findings import all_findings
from logaudit.report.document import Finding
from logaudit.report.findings import words_of
from logaudit.sources import open_sources
from tests.conftest import ROOT

FIXTURES = ROOT / "fixtures"
SEED = FIXTURES / "kimi-k25-tp8.log"
REFUSED = FIXTURES / "oracle" / "0.5.6__llama8b-oom.log"
GOOD = FIXTURES / "oracle" / "0.5.7__llama8b-default.log"
READY = "[2026-11-29 13:36:00] The server is fired up and ready to roll!\n"
DEATH = "[2026-11-29 13:50:03] Received sigquit from a child process. It usually means the child failed.\n"


def fixture(name: str) -> Path:
    return FIXTURES / "oracle" / f"{name}.log"


def starts(log: Path | str, **given: object) -> tuple[Case, ...]:
    """The cases of a log, given as a file or as its text."""
    if isinstance(log, str):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "server.log"
            file.write_text(log)
            return starts(file, **given)
    sources = [read_source(source) for source in open_sources([str(log)])]
    return cases_of(launches_of(sources), given_of(**given))  # type: ignore[arg-type]


def start(log: Path | str, **given: object) -> Case:
    """The last case of a log."""
    return starts(log, **given)[-1]


def found(case: Case, code: str) -> Found | None:
    return next((finding for finding in all_findings(case) if finding.code == code), None)


def codes(case: Case) -> dict[str, str]:
    """Code -> severity of everything found."""
    return {finding.code: finding.severity for finding in all_findings(case)}


def words(case: Case, code: str) -> Finding:
    finding = found(case, code)
    assert finding is not None, f"{code} did not fire: {sorted(codes(case))}"
    return words_of([finding])[0]


def cut_before(log: Path, text: str) -> str:
    """The lines of a log before the first that holds `text`."""
    lines = log.read_text().splitlines(keepends=True)
    return "".join(lines[: next(index for index, line in enumerate(lines) if text in line)])


def cut_after(log: Path, text: str) -> str:
    """The lines of a log up to the last that holds `text`."""
    lines = log.read_text().splitlines(keepends=True)
    return "".join(lines[: max(index for index, line in enumerate(lines) if text in line) + 1])


def died(text: str, error: str, rank: str = " TP0", at: str = "13:49:59") -> str:
    """A log that ends with an exception of a scheduler."""
    head = f"[2026-11-29 {at}{rank}] Scheduler hit an exception: Traceback (most recent call last):"
    return f"{text}{head}\n{error}\n{DEATH}"


def device_error(asked: str, free: str, total: str = "95.00 GiB", own: str = "93.10 GiB") -> str:
    return (
        f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {asked}. GPU 0 has a total capacity of {total} "
        f"of which {free} is free. Including non-PyTorch memory, this process has {own} memory in use."
    )
