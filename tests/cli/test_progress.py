"""The progress bar: on a terminal after a while, else not at all, and always without a mark on what is read."""

from __future__ import annotations

import io
import sys

import pytest

from logaudit.cli.progress import Bar
from logaudit.reading import read_source
from logaudit.sources import open_sources
from tests.oracle import FIXTURES

KIMI = FIXTURES.parent / "kimi-k25-tp8.log"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Standard error as a terminal; in the test itself, because pytest sets its own before each phase."""
    monkeypatch.setenv("TERM", "xterm")
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    return shown


def test_no_terminal_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    quiet = io.StringIO()
    monkeypatch.setattr(sys, "stderr", quiet)
    sources = open_sources([str(KIMI)])
    with Bar(patience_s=0) as bar:
        assert bar.watch(sources) == sources
        bar.reach(1, 2)
    assert quiet.getvalue() == ""


def test_what_is_done_soon_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    with Bar("logs") as bar:
        bar.reach(1, 2)
    assert terminal.getvalue() == ""


def test_a_number_of_logs_has_its_speed_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    with Bar("logs", patience_s=0) as bar:
        bar.reach(3, 12)
    assert "3/12" in terminal.getvalue()
    assert "logs/s" in terminal.getvalue()
    assert "-:--:--" in terminal.getvalue()


def test_a_watched_log_is_read_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    plain = read_source(open_sources([str(KIMI)])[0])
    with Bar(patience_s=0) as bar:
        watched = read_source(bar.watch(open_sources([str(KIMI)]))[0])
    assert watched == plain
    assert f"{KIMI.stat().st_size / 1024:.1f}" in terminal.getvalue()
