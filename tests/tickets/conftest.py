"""A report on disk, a server to send it to, and no waiting."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from logaudit.report.document import Document
from logaudit.report.render import render
from logaudit.tickets import http, retry
from tests.report import samples
from tests.tickets.tracker_server import TrackerServer


@dataclass(frozen=True)
class OnDisk:
    """A document and its HTML file."""

    document: Document
    path: Path


@pytest.fixture(scope="session")
def sample_html() -> bytes:
    return render(samples.document(samples.seed_launch()), "html").encode()


@pytest.fixture
def report(tmp_path: Path, sample_html: bytes) -> OnDisk:
    path = tmp_path / "kimi.html"
    path.write_bytes(sample_html)
    return OnDisk(samples.document(samples.seed_launch()), path)


@pytest.fixture
def other_report(tmp_path: Path) -> OnDisk:
    """A later report of the same log."""
    document = samples.document(samples.seed_launch(verdict=["Ready, and later than before."]))
    path = tmp_path / "later.html"
    path.write_bytes(render(document, "html").encode())
    return OnDisk(document, path)


@pytest.fixture
def server() -> Iterator[TrackerServer]:
    made = TrackerServer()
    yield made
    made.close()


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Waiting costs nothing and is noted; an answer may take one second."""
    noted: list[float] = []
    monkeypatch.setattr(retry, "pause", noted.append)
    monkeypatch.setattr(http, "TIMEOUT_S", 1.0)
    return noted
