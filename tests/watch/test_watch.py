"""`logaudit watch` as a user runs it, on logs that grow while it looks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sources.remote.sshd import World, build_world

FIXTURE = Path(__file__).parents[2] / "fixtures" / "kimi-k25-tp8.log"
READY = "[2026-11-29 13:36:00] The server is fired up and ready to roll!\n"
CRASH = (
    "[2026-11-29 13:35:40 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
    '  File "/sgl/scheduler.py", line 1, in run_scheduler_process\n    scheduler = Scheduler()\n'
    "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n"
)
TOKENS = 159277


class Watch:
    """A running `logaudit watch`."""

    def __init__(self, *arguments: str, env: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from logaudit.cli.main import main; main()", "watch", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **(env or {})},
        )

    def end(self, seconds: float = 40.0) -> tuple[int, str, str]:
        """Exit code, standard output and standard error, once it ended by itself."""
        try:
            out, err = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, err = self.process.communicate()
            pytest.fail(f"watch did not end: {err}")
        return self.process.returncode, out, err

    def until(self, path: Path, seconds: float = 30.0) -> None:
        """Wait for a file that it writes."""
        deadline = time.monotonic() + seconds
        while not path.exists():
            assert time.monotonic() < deadline, "no report"
            assert self.process.poll() is None, self.process.stderr and self.process.stderr.read()
            time.sleep(0.05)


@pytest.fixture
def start() -> str:
    return FIXTURE.read_text()


def launches(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text())["launches"]
    return found


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_waits_for_the_file_and_reports_when_it_is_ready(tmp_path: Path, start: str) -> None:
    log, report = tmp_path / "server.log", tmp_path / "report.json"
    watch = Watch(str(log), "-o", str(report))
    time.sleep(1.0)
    lines = start.splitlines(keepends=True)
    append(log, "".join(lines[:60]))
    time.sleep(0.5)
    append(log, "".join(lines[60:]))
    time.sleep(2.0)
    # The scheduler's line is not yet ready.
    assert watch.process.poll() is None
    assert not report.exists()
    append(log, READY)
    code, _, _ = watch.end()
    assert code == 0
    (launch,) = launches(report)
    assert launch["outcome"] == "ready"
    assert launch["capacity"]["max_total_num_tokens"] == TOKENS


def test_reports_a_crash(tmp_path: Path, start: str) -> None:
    log, report = tmp_path / "server.log", tmp_path / "report.json"
    append(log, "".join(start.splitlines(keepends=True)[:40]) + CRASH)
    code, _, _ = Watch(str(log), "-o", str(report)).end()
    assert code == 0
    (launch,) = launches(report)
    assert launch["outcome"] == "crashed"
    assert launch["failure"]["kind"] == "memory"


def test_a_timeout_exits_4_and_writes_what_is_known(tmp_path: Path, start: str) -> None:
    log, report = tmp_path / "server.log", tmp_path / "report.json"
    append(log, start)
    code, _, err = Watch(str(log), "-o", str(report), "--timeout", "2").end()
    assert code == 4
    assert "neither ready nor crashed" in err
    assert launches(report)[0]["outcome"] == "initialised"


def test_an_interrupt_writes_what_is_known(tmp_path: Path, start: str) -> None:
    log = tmp_path / "server.log"
    append(log, "".join(start.splitlines(keepends=True)[:60]))
    watch = Watch(str(log), "--format", "json")
    assert watch.process.stderr
    while "capturing graphs" not in watch.process.stderr.readline():
        assert watch.process.poll() is None
    watch.process.send_signal(signal.SIGINT)
    code, out, _ = watch.end()
    assert code == 0
    assert json.loads(out)["launches"][0]["outcome"] == "incomplete"


def test_keep_writes_one_report_for_each_start_over_rotations(tmp_path: Path, start: str) -> None:
    log = tmp_path / "server.log"
    first, second = tmp_path / "report.json", tmp_path / "report-2.json"
    append(log, start + READY)
    watch = Watch(str(log), "-o", str(first), "--keep")
    watch.until(first)
    append(log, "traffic\n" * 1000)
    log.rename(tmp_path / "server.log.1")
    append(log, start.replace("13:35", "14:35") + READY)
    watch.until(second)
    watch.process.send_signal(signal.SIGTERM)
    watch.end()
    assert launches(first)[0]["lines"]["first"] < 10
    assert launches(second)[0]["lines"]["first"] > 1000
    assert [launch["outcome"] for launch in launches(second)] == ["ready"]


def test_an_existing_report_is_not_overwritten(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text("mine")
    code, _, err = Watch(str(tmp_path / "server.log"), "-o", str(report)).end()
    assert code == 2
    assert "--force" in err
    assert report.read_text() == "mine"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_line(tmp_path: Path, start: str) -> None:
    log = tmp_path / "server.log"
    append(log, start + READY)
    code, _, err = Watch(str(log), "-o", "/dev/full", "--format", "json").end()
    assert code == 2
    assert "no space left" in err.splitlines()[-1]


def test_a_directory_cannot_be_watched_without_logs(tmp_path: Path) -> None:
    code, _, err = Watch(str(tmp_path)).end()
    assert code == 2
    assert len(err.splitlines()) == 1


@pytest.fixture(scope="module")
def ssh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with build_world(tmp_path_factory.mktemp("ssh")) as world:
        world.trust()
        world.configure()
        yield world


def test_follows_over_ssh_while_the_connection_breaks(ssh: World, tmp_path: Path, start: str) -> None:
    log, report = tmp_path / "server.log", tmp_path / "report.json"
    path = f"{ssh.client.parent}{os.pathsep}{os.environ['PATH']}"
    watch = Watch(f"ssh://gpu07{log}", "-o", str(report), env={"PATH": path})
    lines = start.splitlines(keepends=True)
    for part in range(0, len(lines), 55):
        append(log, "".join(lines[part : part + 55]))
        time.sleep(1.0)
        ssh.near.end_connections()
    append(log, READY)
    code, _, err = watch.end()
    assert code == 0, err
    (launch,) = launches(report)
    assert launch["outcome"] == "ready"
    assert launch["capacity"]["max_total_num_tokens"] == TOKENS
    # The dump's line and the last one, as in the file.
    assert launch["lines"]["last"] == len(lines) + 1


def test_a_host_that_is_refused_is_one_line(ssh: World, tmp_path: Path) -> None:
    path = f"{ssh.client.parent}{os.pathsep}{os.environ['PATH']}"
    ssh.known_hosts.write_text("")
    try:
        code, _, err = Watch("--via", "gpu07", str(tmp_path / "server.log"), env={"PATH": path}).end()
    finally:
        ssh.trust()
    assert code == 2
    assert "host key is not known" in err.splitlines()[-1]


def test_nodes_of_one_server_are_one_start(tmp_path: Path, start: str) -> None:
    logs = [tmp_path / "node0.log", tmp_path / "node1.log"]
    report = tmp_path / "report.json"
    for rank, log in enumerate(logs):
        text = start.replace("dist_init_addr=None", "dist_init_addr='10.0.0.1:5000'").replace("nnodes=1,", "nnodes=2,")
        append(log, text.replace("node_rank=0", f"node_rank={rank}"))
    watch = Watch(*map(str, logs), "-o", str(report))
    time.sleep(3.0)
    assert watch.process.poll() is None
    # Only the first node says that the server is ready.
    append(logs[0], READY)
    code, _, _ = watch.end()
    assert code == 0
    (launch,) = launches(report)
    assert launch["outcome"] == "ready"


def test_of_a_long_log_far_away_only_what_matters_comes_before_it_is_followed(
    ssh: World, tmp_path: Path, start: str
) -> None:
    log, report = tmp_path / "server.log", tmp_path / "report.json"
    traffic = "".join(f"Decode batch, #running-req: {number}, token usage: 0.45\n" for number in range(40_000))
    append(log, start + READY + traffic)
    path = f"{ssh.client.parent}{os.pathsep}{os.environ['PATH']}"
    second = start.replace("13:35", "14:35")
    lines = second.splitlines(keepends=True)
    append(log, "".join(lines[:50]) + "half of a li")
    watch = Watch(f"ssh://gpu07{log}", "-o", str(report), env={"PATH": path})
    time.sleep(3.0)
    append(log, "ne\n" + "".join(lines[50:]) + READY)
    code, _, err = watch.end()
    assert code == 0, err
    (launch,) = launches(report)
    assert launch["outcome"] == "ready"
    first = start.count("\n") + 1 + 40_000
    assert first < launch["lines"]["first"] < first + 10
    # Its lines, the half line and the one that says ready.
    assert launch["lines"]["last"] == first + len(lines) + 2
