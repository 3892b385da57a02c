"""Logs of containers, pods, units and commands, through stand-ins that print what the real clients print."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from logaudit.errors import SourceError
from logaudit.sources.command import ByOffset, ByTimestamp, CommandLog
from logaudit.sources.follow import Data, Event
from logaudit.sources.interface import Source
from logaudit.sources.remote.open import open_reached
from logaudit.sources.remote.reach import NEAR, Reach
from tests.sources.remote.sshd import World

StandIn = Callable[[str, str], Path]


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """Puts a shell script under a client's name first on the PATH; it logs its arguments to `NAME.args`."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def make(name: str, body: str) -> Path:
        script = folder / name
        log = tmp_path / f"{name}.args"
        script.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$*\" >> {log}\n{textwrap.dedent(body)}\n")
        script.chmod(0o755)
        return log

    return make


def read(argument: str, reach: Reach = NEAR) -> bytes:
    (source,) = open_reached([argument], reach)
    return b"".join(source.blocks())


def follow(source: Source, until: Callable[[bytes], bool], seconds: float = 10.0) -> bytes:
    assert isinstance(source, CommandLog)
    stop = threading.Event()
    threading.Timer(seconds, stop.set).start()
    got = b""
    events: Iterator[Event] = source.follow(stop)
    for event in events:
        if isinstance(event, Data):
            got += event.data
        if until(got):
            stop.set()
    return got


def test_docker_gives_both_streams(stand_in: StandIn) -> None:
    args = stand_in("docker", "echo to stdout; echo to stderr >&2")
    assert sorted(read("docker:sglang").splitlines()) == [b"to stderr", b"to stdout"]
    assert args.read_text() == "logs sglang\n"


def test_an_unknown_container_is_said(stand_in: StandIn) -> None:
    stand_in("docker", "echo 'Error response from daemon: No such container: nope' >&2; exit 1")
    with pytest.raises(SourceError, match="No such container: nope") as caught:
        read("docker:nope")
    assert "check the name" in str(caught.value)


def test_a_missing_client_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SourceError, match="docker"):
        read("docker:sglang")


@pytest.mark.parametrize("argument", ["docker:--help", "docker:", "kube:-n/x", "kube:a/b/c/d", "journal:", "command:"])
def test_names_that_a_client_could_take_for_options_are_refused(argument: str) -> None:
    with pytest.raises(SourceError):
        open_reached([argument], NEAR)


@pytest.mark.parametrize(
    ("argument", "arguments"),
    [
        ("kube:pod-0", "logs pod-0"),
        ("kube:prod/pod-0", "logs --namespace prod pod-0"),
        ("kube:prod/pod-0/sglang", "logs --namespace prod pod-0 --container sglang"),
    ],
)
def test_kubectl_is_asked_for_the_pod(stand_in: StandIn, argument: str, arguments: str) -> None:
    args = stand_in("kubectl", "echo the log")
    assert read(argument) == b"the log\n"
    assert args.read_text() == arguments + "\n"


def test_two_names_may_be_pod_and_container(stand_in: StandIn) -> None:
    stand_in(
        "kubectl",
        """
        if [ "$2" = --namespace ]; then
          echo 'Error from server (NotFound): namespaces "pod-0" not found' >&2; exit 1
        fi
        echo the log
        """,
    )
    assert read("kube:pod-0/sglang") == b"the log\n"


def test_the_journal_gives_long_fields_whole(stand_in: StandIn) -> None:
    args = stand_in("journalctl", "echo the log")
    assert read("journal:sglang.service") == b"the log\n"
    assert args.read_text() == "--unit=sglang.service --all --no-pager --quiet --output=cat\n"


def test_a_command_is_interpreted_by_no_shell(tmp_path: Path) -> None:
    assert read(f"command:printf '%s|' 'a b' '$(id)' ; > {tmp_path}/x") == f"a b|$(id)|;|>|{tmp_path}/x|".encode()


def test_via_runs_the_client_on_the_host(world: World, stand_in: StandIn, tmp_path: Path) -> None:
    argument = f"command:printf %s|%s|%s 'it is' '$(touch {tmp_path}/pwned)' 'a\"b'"
    assert read(argument, Reach(via="gpu07")) == f'it is|$(touch {tmp_path}/pwned)|a"b'.encode()
    assert not (tmp_path / "pwned").exists()


def test_via_says_what_is_missing_there(world: World) -> None:
    with pytest.raises(SourceError, match="not installed there") as caught:
        read("command:no-such-client logs", Reach(via="gpu07"))
    assert "gpu07" in str(caught.value)


def test_docker_is_followed_over_breaks_without_a_line_lost_or_doubled(stand_in: StandIn, tmp_path: Path) -> None:
    count = tmp_path / "count"
    args = stand_in(
        "docker",
        f"""
        stamp() {{ printf '2026-11-29T13:35:0%s.%sZ %s\\n' "$1" "$2" "$3"; }}
        runs=$(cat {count} 2>/dev/null || echo 0); echo $((runs + 1)) > {count}
        case $runs in
          0) stamp 1 000000001 one; stamp 2 5 two; stamp 2 5 three; printf '2026-11-29T13:35:02.5Z fo';;
          1) stamp 2 5 two; stamp 2 5 three; stamp 2 5 four; stamp 3 0 five;;
          *) stamp 3 0 five; stamp 4 0 six; sleep 30;;
        esac
        """,
    )
    (source,) = open_reached(["docker:sglang"], NEAR)
    assert follow(source, lambda got: b"six" in got) == b"one\ntwo\nthree\nfour\nfive\nsix\n"
    assert args.read_text().splitlines()[1] == "logs --timestamps --follow --since 2026-11-29T13:35:02.5Z sglang"


def test_the_journal_is_followed_by_cursor(stand_in: StandIn, tmp_path: Path) -> None:
    count = tmp_path / "count"
    args = stand_in(
        "journalctl",
        f"""
        runs=$(cat {count} 2>/dev/null || echo 0); echo $((runs + 1)) > {count}
        if [ $runs = 0 ]; then
          echo '{{"__CURSOR":"c1","MESSAGE":"one"}}'
          echo '{{"__CURSOR":"c2","MESSAGE":[27,91,109,116,119,111]}}'
        else
          echo '{{"__CURSOR":"c3","MESSAGE":"three"}}'; sleep 30
        fi
        """,
    )
    (source,) = open_reached(["journal:sglang"], NEAR)
    assert follow(source, lambda got: b"three" in got) == b"one\n\x1b[mtwo\nthree\n"
    assert args.read_text().splitlines()[1].endswith("--follow --after-cursor=c2")


def test_lines_that_containers_store_in_pieces_are_joined() -> None:
    stamp = b"2026-11-29T13:35:01.000000001Z "
    line = stamp + b"x" * 16384 + stamp + b"y" * 100 + b"\n"
    assert ByTimestamp().take(line) == b"x" * 16384 + b"y" * 100 + b"\n"


def test_output_that_begins_again_is_passed_over_as_far_as_it_was_read() -> None:
    resume = ByOffset()
    resume.begin()
    assert resume.take(b"one\ntwo\n") == b"one\ntwo\n"
    resume.begin()
    assert resume.take(b"one\n") == b""
    assert resume.take(b"two\nthree\n") == b"three\n"


def test_other_output_is_taken_whole() -> None:
    resume = ByOffset()
    resume.begin()
    resume.take(b"one\ntwo\n")
    resume.begin()
    assert resume.take(b"a new start\n") == b"a new start\n"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="PR_SET_PDEATHSIG")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_children_end_with_the_program_whatever_ends_it(world: World, tmp_path: Path, how: signal.Signals) -> None:
    pids = [tmp_path / "near.pid", tmp_path / "far.pid"]
    program = f"""
import threading
from logaudit.sources.remote.open import open_reached
from logaudit.sources.remote.reach import Reach
near, = open_reached(["command:sh -c 'echo $$ > {pids[0]}; exec sleep 300'"], Reach())
far, = open_reached(["command:sh -c 'echo $$ > {pids[1]}; exec sleep 300'"], Reach(via="gpu07"))
for source in (near, far):
    threading.Thread(target=lambda s=source: list(s.follow(threading.Event()))).start()
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.DEVNULL)
    deadline = time.monotonic() + 20
    while not all(path.exists() and path.read_text().strip() for path in pids):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(how)
    process.wait(10)
    deadline = time.monotonic() + 10
    alive = [int(path.read_text()) for path in pids]
    while alive and time.monotonic() < deadline:
        alive = [pid for pid in alive if Path(f"/proc/{pid}/cmdline").exists() and b"sleep" in _cmdline(pid)]
        time.sleep(0.05)
    assert not alive


def _cmdline(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
