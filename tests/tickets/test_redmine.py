"""A real Redmine: what is attached is the file, once, and every failure says why."""

from __future__ import annotations

import os
import socket
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import redminelib

from logaudit.errors import DeliveryError
from logaudit.report.render import render
from logaudit.tickets import deliver
from logaudit.tickets.comment import markers_in
from tests.report import samples
from tests.tickets.conftest import OnDisk


@dataclass(frozen=True)
class Instance:
    """The running Redmine with an issue of this test's own."""

    url: str
    key: str
    issue: int
    client: Any

    def environ(self, home: Path, **changes: str) -> dict[str, str]:
        return {"HOME": str(home), "REDMINE_URL": self.url, "REDMINE_API_KEY": self.key, **changes}

    def notes(self) -> list[str]:
        issue = self.client.issue.get(self.issue, include=["journals"])
        return [str(journal.notes) for journal in issue.journals if getattr(journal, "notes", "")]

    def files(self) -> dict[str, Any]:
        issue = self.client.issue.get(self.issue, include=["attachments"])
        return {attachment.filename: attachment for attachment in issue.attachments}


def _setting(name: str) -> str:
    value = os.environ.get(name)
    if value:
        return value
    message = f"{name} is not set: start a Redmine with .ci/services/redmine.sh and export what it prints"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture
def redmine() -> Instance:
    url, key = _setting("LOGAUDIT_REDMINE_URL"), _setting("LOGAUDIT_REDMINE_KEY")
    client = redminelib.Redmine(url, key=key)
    issue = client.issue.create(project_id="logaudit", subject="Out of memory at start")
    return Instance(url, key, issue.id, client)


def _name(done: Any, ending: str) -> str:
    return next(str(file.name) for file in done.files if file.name.endswith(ending))


def test_the_attachment_is_the_file(redmine: Instance, report: OnDisk, tmp_path: Path) -> None:
    done = deliver(report.document, report.path, f"redmine:{redmine.issue}", environ=redmine.environ(tmp_path))
    assert done.action == "added"
    files = redmine.files()
    assert sorted(files) == sorted([_name(done, ".html"), _name(done, ".json")])
    saved = files[_name(done, ".html")].download(savepath=str(tmp_path), filename="downloaded")
    assert Path(saved).read_bytes() == report.path.read_bytes()
    (note,) = redmine.notes()
    assert note.startswith("h3. Ready. The KV cache is exactly as large")
    assert "|_. one GPU |_. GiB |" in note
    assert f"attachment:{_name(done, '.html')}" in note


def test_by_its_url(redmine: Instance, report: OnDisk, tmp_path: Path) -> None:
    ticket = f"{redmine.url}/issues/{redmine.issue}"
    done = deliver(report.document, report.path, ticket, environ=redmine.environ(tmp_path))
    assert done.url == ticket
    assert len(redmine.notes()) == 1


def test_attaching_again_adds_nothing(redmine: Instance, report: OnDisk, tmp_path: Path) -> None:
    for expected in ("added", "unchanged"):
        done = deliver(report.document, report.path, f"redmine:{redmine.issue}", environ=redmine.environ(tmp_path))
        assert done.action == expected
    assert len(redmine.notes()) == 1
    assert len(redmine.files()) == 2


def test_update_replaces_the_note(redmine: Instance, report: OnDisk, other_report: OnDisk, tmp_path: Path) -> None:
    ticket, environ = f"redmine:{redmine.issue}", redmine.environ(tmp_path)
    redmine.client.issue.update(redmine.issue, notes="We are looking at it.")
    deliver(report.document, report.path, ticket, environ=environ)
    done = deliver(other_report.document, other_report.path, ticket, environ=environ, update=True)
    assert done.action == "updated"
    notes = redmine.notes()
    assert notes[0] == "We are looking at it."
    assert [("later than before" in note) for note in notes] == [False, True]
    assert _name(done, ".html") in redmine.files()


def test_a_dry_run_sends_nothing(redmine: Instance, report: OnDisk, tmp_path: Path) -> None:
    done = deliver(
        report.document, report.path, f"redmine:{redmine.issue}", environ=redmine.environ(tmp_path), dry_run=True
    )
    assert done.comment.startswith("h3. Ready.")
    assert (redmine.notes(), redmine.files()) == ([], {})


def test_an_issue_that_is_not_there(redmine: Instance, report: OnDisk, tmp_path: Path) -> None:
    with pytest.raises(DeliveryError, match="no such ticket") as failure:
        deliver(report.document, report.path, "redmine:99999999", environ=redmine.environ(tmp_path))
    assert failure.value.exit_code == 3
    assert str(report.path) in str(failure.value)


def test_a_wrong_key(redmine: Instance, report: OnDisk, tmp_path: Path) -> None:
    environ = redmine.environ(tmp_path, REDMINE_API_KEY="not-the-key-4711")
    with pytest.raises(DeliveryError, match="wrong or has expired") as failure:
        deliver(report.document, report.path, f"redmine:{redmine.issue}", environ=environ)
    assert "not-the-key-4711" not in str(failure.value)
    assert report.path.exists()


def test_a_user_who_may_only_read(redmine: Instance, report: OnDisk, tmp_path: Path) -> None:
    environ = redmine.environ(tmp_path, REDMINE_API_KEY=_setting("LOGAUDIT_REDMINE_READER_KEY"))
    with pytest.raises(DeliveryError) as failure:
        deliver(report.document, report.path, f"redmine:{redmine.issue}", environ=environ)
    assert failure.value.exit_code == 3
    assert redmine.notes() == []


def test_a_file_over_the_size_limit(redmine: Instance, tmp_path: Path) -> None:
    # The instance takes 1 MiB: quotes of 2 MB make a larger report.
    quotes = [samples.Quote(line, f"line {line} " + "x" * 1000) for line in range(1, 2001)]
    document = samples.document(samples.seed_launch(quotes=quotes))
    path = tmp_path / "large.html"
    path.write_bytes(render(document, "html").encode())
    with pytest.raises(DeliveryError, match="maximum allowed file size") as failure:
        deliver(document, path, f"redmine:{redmine.issue}", environ=redmine.environ(tmp_path))
    assert str(path) in str(failure.value)
    assert redmine.notes() == []


def test_an_issue_that_is_written_in_markdown(redmine: Instance, report: OnDisk, tmp_path: Path) -> None:
    redmine.client.issue.update(redmine.issue, description="## It stops\n\n**Why?**\n\n```\nout of memory\n```")
    deliver(report.document, report.path, f"redmine:{redmine.issue}", environ=redmine.environ(tmp_path))
    assert redmine.notes()[-1].startswith("### Ready. The KV cache is exactly as large")
    assert "| one GPU | GiB |" in redmine.notes()[-1]


def test_the_text_format_can_be_said(redmine: Instance, report: OnDisk, tmp_path: Path) -> None:
    environ = redmine.environ(tmp_path, REDMINE_TEXT_FORMATTING="common_mark")
    deliver(report.document, report.path, f"redmine:{redmine.issue}", environ=environ)
    assert redmine.notes()[0].startswith("### Ready.")


class Cutter:
    """Stands before Redmine and cuts the first `times` requests that start with `method`, passed on or not."""

    def __init__(self, upstream: tuple[str, int], method: bytes, *, passes: bool, times: int) -> None:
        self._upstream, self._method, self._passes, self._times = upstream, method, passes, times
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.cut = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._one, args=(client,), daemon=True).start()

    def _one(self, client: socket.socket) -> None:
        """One request: read whole, passed on or not, answered or not; then the connection is closed."""
        with client:
            data = b""
            while b"\r\n\r\n" not in data:
                data += client.recv(65536) or b"\r\n\r\n"
            head, _, body = data.partition(b"\r\n\r\n")
            lengths = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
            length = int(lengths[0].partition(b":")[2]) if lengths else 0
            while len(body) < length:
                body += client.recv(65536)
            cut = head.startswith(self._method) and self.cut < self._times
            self.cut += cut
            if cut and not self._passes:
                return
            lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
            with socket.create_connection(self._upstream) as server:
                server.sendall(b"\r\n".join([*lines, b"Connection: close"]) + b"\r\n\r\n" + body)
                answer = b""
                while block := server.recv(65536):
                    answer += block
            if not cut:
                client.sendall(answer.replace(b"\r\nConnection: keep-alive", b""))


@pytest.fixture
def upstream(redmine: Instance) -> tuple[str, int]:
    host, _, port = redmine.url.removeprefix("http://").partition(":")
    return host, int(port)


@pytest.mark.parametrize("passes", [True, False], ids=["the note arrived", "the note did not arrive"])
def test_a_server_that_stops_at_the_note(
    redmine: Instance, upstream: tuple[str, int], report: OnDisk, tmp_path: Path, waits: list[float], passes: bool
) -> None:
    cutter = Cutter(upstream, b"PUT /issues/", passes=passes, times=1)
    try:
        environ = redmine.environ(tmp_path, REDMINE_URL=cutter.url)
        done = deliver(report.document, report.path, f"redmine:{redmine.issue}", environ=environ)
    finally:
        cutter.close()
    assert cutter.cut == 1
    notes = redmine.notes()
    assert len(notes) == 1
    assert len(markers_in(notes[0])) == 1
    assert sorted(redmine.files()) == sorted([_name(done, ".html"), _name(done, ".json")])


def test_a_server_that_stops_for_good_half_way(
    redmine: Instance, upstream: tuple[str, int], report: OnDisk, tmp_path: Path, waits: list[float]
) -> None:
    cutter = Cutter(upstream, b"PUT /issues/", passes=False, times=10**6)
    try:
        environ = redmine.environ(tmp_path, REDMINE_URL=cutter.url)
        with pytest.raises(DeliveryError, match="connection failed") as failure:
            deliver(report.document, report.path, f"redmine:{redmine.issue}", environ=environ)
    finally:
        cutter.close()
    assert failure.value.exit_code == 3
    assert str(report.path) in str(failure.value)
    assert redmine.notes() == []
