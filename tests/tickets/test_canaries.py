"""A log full of planted secrets goes through every command, format and tracker; none of them comes out anywhere."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from logaudit.cli.commands import COMMANDS
from logaudit.cli.main import run
from tests.conftest import ROOT
from tests.report.test_redact import PLANTED
from tests.tickets.tracker_server import Fault, TrackerServer

CREDENTIAL = "CANARY-credential-of-the-tracker"


def _planted() -> str:
    """A real start with every kind of secret in its arguments, its command, its environment and its last words."""
    lines = (ROOT / "fixtures" / "kimi-k25-tp8.log").read_text().split("\n")
    at = next(number for number, line in enumerate(lines) if "server_args=ServerArgs(" in line)
    for name, value in {
        "api_key": "'CANARY-api-1'",
        "admin_api_key": "'CANARY-admin-2'",
        "ssl_keyfile_password": "'CANARY pass 3'",
        "hicache_storage_backend_extra_config": """'{"access_key": "CANARY-s3-4", "secret_key": "CANARY-s3-5"}'""",
    }.items():
        lines[at] = lines[at].replace(f"{name}=None", f"{name}={value}")
    assert "CANARY-api-1" in lines[at]
    stamp = lines[at].split("]")[0] + "]"
    before = [line for text in PLANTED.values() for line in text.split("\n")]
    # Lines about memory are quoted as not understood, and a traceback as the reason of a crash.
    memory = [f"{stamp} avail mem of 12.5 GB, memory pool for hf_CANARYabcdefghijklmnopqrstu12 and CANARY-api-1"]
    crash = [
        f"{stamp} Scheduler hit an exception: Traceback (most recent call last):",
        '  File "/srv/app.py", line 3, in load',
        "    raise RuntimeError(f'cannot reach https://user:CANARY-url-6@example.com/x?token=CANARY-url-7')",
        "RuntimeError: CUDA out of memory at https://user:CANARY-url-6@example.com, key CANARY-api-1",
    ]
    return "\n".join([*before, *lines, *memory, *crash, ""])


@pytest.fixture(scope="module")
def planted() -> str:
    return _planted()


@pytest.fixture
def place(tmp_path: Path, planted: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "planted.log").write_text(planted)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


@pytest.fixture(scope="module")
def planted_page(planted: str, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The HTML report of the planted log."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "planted.log").write_text(planted)
    assert run(["report", str(folder / "planted.log"), "-o", str(folder / "out.html")]) == 0
    return (folder / "out.html").read_bytes()


@pytest.fixture
def tracker(monkeypatch: pytest.MonkeyPatch, waits: list[float]) -> Iterator[TrackerServer]:
    made = TrackerServer()
    for name, value in {
        "GH_HOST": made.url,
        "GH_ENTERPRISE_TOKEN": CREDENTIAL,
        "GITLAB_URL": made.url,
        "GITLAB_TOKEN": CREDENTIAL,
        "JIRA_URL": made.url,
        "JIRA_PERSONAL_TOKEN": CREDENTIAL,
    }.items():
        monkeypatch.setenv(name, value)
    yield made
    made.close()


def _written(place: Path) -> Mapping[str, bytes]:
    """Every file that a command made."""
    return {str(path): path.read_bytes() for path in place.rglob("*") if path.is_file() and path.name != "planted.log"}


def _assert_clean(place: Path, capfd: pytest.CaptureFixture[str]) -> str:
    out, err = capfd.readouterr()
    for what, text in {"standard output": out, "standard error": err}.items():
        at = text.find("CANARY")
        assert at < 0, f"{what}: …{text[max(0, at - 120) : at + 60]}…"
    for name, data in _written(place).items():
        at = data.find(b"CANARY")
        assert at < 0, f"{name}: …{data[max(0, at - 120) : at + 60]!r}…"
    return out + err


INVOCATIONS: dict[str, list[list[str]]] = {
    "report": [
        ["planted.log"],
        ["planted.log", "--full"],
        *([["planted.log", "--format", name] for name in ("md", "html", "json")]),
        *([["planted.log", "-o", f"out.{name}"] for name in ("txt", "md", "html", "json")]),
        ["planted.log", "--check", "--strict"],
        ["planted.log", "--launch", "7"],
        ["planted.log", "-o", "missing/out.html"],
    ],
    "frame": [["planted.log"], ["planted.log", "--records"], ["planted.log", "--format", "json", "--records"]],
    "kinds": [[]],
    "schema": [[]],
    "redact": [["planted.log"], ["planted.log", "-o", "copy.log"], ["planted.log", "--redact", "hosts"]],
    "attach": [["planted.log", "--to", "jira:OPS-12"]],
    "watch": [["planted.log", "--timeout", "0.5"], ["planted.log", "--timeout", "0.5", "--format", "json"]],
}
"""How each command is tried; one that is not here is tried with the log alone, and with two."""


@pytest.mark.parametrize("verbose", [False, True], ids=["quiet", "verbose"])
@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_shows_a_secret(
    name: str, verbose: bool, place: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", open(os.devnull))  # noqa: SIM115
    for arguments in INVOCATIONS.get(name, [["planted.log"], ["planted.log", "planted.log"]]):
        run([*(["--verbose"] if verbose else []), name, *arguments])
        _assert_clean(place, capfd)


TICKETS = ["{url}/owner/repo/issues/12", "gitlab:group/project#12", "jira:OPS-12"]
FAULTS = {
    "no fault": [],
    "refused": [Fault(401, message=f"{CREDENTIAL} is wrong")],
    "failing": [Fault(503, message=f"{CREDENTIAL}")] * 30,
    "lost": [Fault(), Fault(method="POST", after=True)],
}


@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS.keys())
@pytest.mark.parametrize("ticket", TICKETS, ids=["github", "gitlab", "jira"])
def test_no_tracker_is_sent_a_secret(
    ticket: str,
    faults: list[Fault],
    place: Path,
    tracker: TrackerServer,
    planted_page: bytes,
    capfd: pytest.CaptureFixture[str],
) -> None:
    (place / "out.html").write_bytes(planted_page)
    tracker.faults.extend(faults)
    run(["--verbose", "attach", "out.html", "--to", ticket.format(url=tracker.url)])
    run(["--verbose", "attach", "out.html", "--to", ticket.format(url=tracker.url), "--dry-run"])
    _assert_clean(place, capfd)
    for _, path, _, body in tracker.requests:
        assert "CANARY" not in path
        assert b"CANARY" not in body


def test_an_unredacted_report_is_redacted_before_it_is_sent(
    place: Path, tracker: TrackerServer, planted_page: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    # As a tool that redacts nothing would have written it.
    (place / "out.html").write_text(planted_page.decode().replace("REDACTED", "hf_CANARYabcdefghijklmnopqrstu12"))
    assert run(["attach", "out.html", "--to", "jira:OPS-12"]) == 0
    assert len(tracker.files) == 2
    for _, data in tracker.files:
        assert b"CANARY" not in data
    capfd.readouterr()


def test_a_credential_on_the_command_line_is_not_echoed(
    place: Path, planted_page: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    (place / "out.html").write_bytes(planted_page)
    for ticket in ("https://me:CANARY-pw@tracker.example/x", "https://me:CANARY-pw@tracker.example/browse/OPS-1"):
        assert run(["--verbose", "attach", "out.html", "--to", ticket]) == 3
    _assert_clean(place, capfd)


def test_a_report_goes_to_the_ticket_as_it_is_made(
    place: Path, tracker: TrackerServer, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["report", "planted.log", "--attach", "jira:OPS-12", "--redact", "hosts", "-o", "out.html"]) == 0
    assert tracker.files[0][1] == (place / "out.html").read_bytes()
    assert run(["report", "planted.log", "--attach", "github:owner/repo#12", "--dry-run"]) == 0
    assert "Nothing was sent." in _assert_clean(place, capfd)
