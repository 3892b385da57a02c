"""Reading over SSH through the real client and a real daemon."""

from __future__ import annotations

import gzip
import os
import subprocess
import time
from pathlib import Path
from urllib.parse import quote

import pytest

from logaudit.errors import SourceError
from logaudit.sources.remote.diagnosis import ConnectionLost
from logaudit.sources.remote.host import Host, split_url
from logaudit.sources.remote.open import open_reached
from logaudit.sources.remote.reach import Reach
from logaudit.sources.ssh import SshFile, open_argument
from tests.sources.remote.sshd import World, free_port

TEXT = b"".join(b"line %d\n" % number for number in range(1000))


def content(host: str, path: Path | str) -> bytes:
    (source,) = open_argument(f"ssh://{host}{quote(os.fspath(path))}")
    return b"".join(source.blocks())


def failure(host: str, path: str = "/etc/hostname", *options: str) -> SourceError:
    (source,) = open_argument(f"ssh://{host}{path}", Reach(ssh_options=options))
    with pytest.raises(SourceError) as caught:
        list(source.blocks())
    assert "\n" not in str(caught.value)
    return caught.value


def test_reads_a_file(world: World, tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(TEXT)
    assert content("gpu07", path) == TEXT


def test_reads_more_than_one_chunk(world: World, tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(TEXT * 1200)
    assert content("gpu07", path) == TEXT * 1200


def test_reads_through_a_jump_host(world: World, tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(TEXT)
    assert content("behind", path) == TEXT


def test_decompresses_what_is_compressed_over_there(world: World, tmp_path: Path) -> None:
    path = tmp_path / "server.log.1"
    path.write_bytes(gzip.compress(TEXT))
    assert content("gpu07", path) == TEXT


@pytest.mark.parametrize(
    "name",
    [
        "with space.log",
        "it's.log",
        'say "hi".log',
        "$(touch pwned).log",
        "`touch pwned`.log",
        "two\nlines.log",
        "-rf.log",
        "star*?[a].log",
        "back\\slash.log",
        "semi;colon&and|pipe.log",
        "tab\there.log",
        "ünï.log",
        "100%.log",
        "a?b#c.log",
    ],
)
def test_no_path_is_interpreted(world: World, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(TEXT)
    before = set(tmp_path.iterdir())
    assert content("gpu07", path) == TEXT
    assert set(tmp_path.iterdir()) == before


def test_a_missing_file_is_said(world: World, tmp_path: Path) -> None:
    assert "no such file" in str(failure("gpu07", f"{tmp_path}/missing.log"))


def test_a_directory_is_said(world: World, tmp_path: Path) -> None:
    assert "directory" in str(failure("gpu07", str(tmp_path)))


def test_an_unknown_host_key_is_refused(world: World) -> None:
    world.known_hosts.write_text("")
    error = failure("gpu07")
    assert isinstance(error, ConnectionLost)
    assert (error.diagnosis.kind, error.diagnosis.retry) == ("host_key_unknown", False)
    assert "ssh gpu07" in str(error)


def test_a_changed_host_key_is_refused(world: World) -> None:
    world.known_hosts.write_text(f"gpu07 {world.far.public_host_key}\n")
    error = failure("gpu07")
    assert isinstance(error, ConnectionLost)
    assert (error.diagnosis.kind, error.diagnosis.retry) == ("host_key_changed", False)
    assert "ssh-keygen -R gpu07" in str(error)


def test_a_wrong_key_is_refused(world: World) -> None:
    world.configure(f"Host gpu07\n  IdentityFile {world.other_key}\n  IdentitiesOnly yes\n  IdentityAgent none")
    world.config.write_text(world.config.read_text().replace(f"IdentityFile {world.key}", ""))
    error = failure("gpu07")
    assert isinstance(error, ConnectionLost)
    assert (error.diagnosis.kind, error.diagnosis.retry) == ("login", False)


def test_a_host_that_is_down_is_said(world: World) -> None:
    error = failure(f"gpu07:{free_port()}")
    assert isinstance(error, ConnectionLost)
    assert error.diagnosis.kind == "network"
    assert "Connection refused" in str(error)


def test_a_host_without_a_name_is_said(world: World) -> None:
    error = failure("gpu07", "/x.log", "HostName=no-such-host.invalid")
    assert isinstance(error, ConnectionLost)
    assert error.diagnosis.kind == "name"


def test_an_option_that_ssh_does_not_know_is_said(world: World) -> None:
    error = failure("gpu07", "/x.log", "NoSuchOption=1")
    assert isinstance(error, ConnectionLost)
    assert error.diagnosis.kind == "config"


def test_options_of_the_user_reach_the_client(world: World, tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(TEXT)
    (source,) = open_argument(
        f"ssh://alias.invalid{path}", Reach(ssh_options=(f"Port={world.near.port}", "HostKeyAlias=gpu07"))
    )
    assert b"".join(source.blocks()) == TEXT


def test_what_login_scripts_print_is_no_log(world: World, tmp_path: Path) -> None:
    home = world.near.folder
    (home / ".bashrc").write_text("echo Welcome to gpu07\n")
    path = tmp_path / "server.log"
    path.write_bytes(TEXT)
    try:
        assert content("gpu07", path) == TEXT
    finally:
        (home / ".bashrc").unlink()


def test_via_reads_any_path_on_the_host(world: World, tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(TEXT)
    (source,) = open_reached([str(path)], Reach(via="gpu07"))
    assert b"".join(source.blocks()) == TEXT


def test_the_report_is_the_same_from_afar(world: World, tmp_path: Path) -> None:
    import logaudit

    log = Path(__file__).parents[3] / "fixtures" / "kimi-k25-tp8.log"
    near = logaudit.audit([str(log)])
    far = logaudit.audit(open_reached([str(log)], Reach(via="gpu07")))
    assert far.launches == near.launches


class TestFilter:
    """What the far side's grep lets through."""

    ANCHORS = (b"max_total_num_tokens=", b"Traceback (most recent call last)", b"server_args=")

    @pytest.fixture
    def log(self, tmp_path: Path) -> Path:
        path = tmp_path / "big.log"
        traffic = [b"Decode batch, #running-req: %d, token usage: 0.45\n" % number for number in range(40_000)]
        lines = [b"the first line\n", *traffic]
        lines[5000] = b"server_args=ServerArgs(model_path='/m',\n"
        lines[5001:5101] = [b"  wrapped_%d=1,\n" % number for number in range(100)]
        lines[5101] = b"  last=1)\n"
        lines[20_000] = b"max_total_num_tokens=159277, context_len=1\n"
        lines[30_000] = b"Traceback (most recent call last):\n"
        lines.append(b"the last line, unfinished")
        path.write_bytes(b"".join(lines))
        return path

    def open(self, path: Path) -> SshFile:
        (source,) = open_argument(f"ssh://gpu07{path}")
        assert isinstance(source, SshFile)
        return source

    def test_regions_are_lines_of_the_file_at_their_numbers(self, world: World, log: Path) -> None:
        lines = log.read_bytes().splitlines(keepends=True)
        regions = self.open(log).regions(self.ANCHORS)
        assert regions is not None
        seen: set[int] = set()
        last = 0
        for region in regions:
            got = region.data.splitlines(keepends=True)
            assert got == lines[region.number - 1 : region.number - 1 + len(got)]
            assert region.number > last
            last = region.number + len(got) - 1
            seen.update(range(region.number, last + 1))
        wanted = {1, *range(5001, 5103), 20_001, 30_001, len(lines)}
        assert wanted <= seen

    def test_sends_much_less_than_the_file(self, world: World, log: Path) -> None:
        source = self.open(log)
        assert source.regions(self.ANCHORS) is not None
        assert source.received_bytes < log.stat().st_size / 3

    def test_the_traffic_before_a_failure_comes_too(self, world: World, log: Path) -> None:
        regions = self.open(log).regions(self.ANCHORS)
        assert regions is not None
        assert any(region.number <= 28_000 and b"Traceback" in region.data for region in regions)

    def test_a_far_side_without_a_usable_grep_sends_all(
        self, world: World, log: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from logaudit.sources.remote import grep

        monkeypatch.setattr(grep, "usable", lambda shell: False)
        assert self.open(log).regions(self.ANCHORS) is None

    def test_a_small_file_comes_whole(self, world: World, tmp_path: Path) -> None:
        path = tmp_path / "small.log"
        path.write_bytes(TEXT)
        assert self.open(path).regions(self.ANCHORS) is None

    def test_a_compressed_file_comes_whole(self, world: World, tmp_path: Path) -> None:
        path = tmp_path / "big.log.gz"
        path.write_bytes(gzip.compress(os.urandom(2 << 20)))
        assert self.open(path).regions(self.ANCHORS) is None

    def test_can_be_switched_off(self, world: World, log: Path) -> None:
        (source,) = open_argument(f"ssh://gpu07{log}", Reach(remote_filter=False))
        assert isinstance(source, SshFile)
        assert source.regions(self.ANCHORS) is None


@pytest.mark.parametrize("shell", ["dash", "bash --posix", "busybox sh"])
def test_the_far_script_is_posix(shell: str, tmp_path: Path) -> None:
    """The shells that are at hand answer a stat and a read alike."""
    from logaudit.sources.remote import shell as far

    program, *arguments = shell.split()
    if subprocess.run(["sh", "-c", f"command -v {program}"], capture_output=True, check=False).returncode:
        pytest.skip(f"{program} is not installed")
    path = tmp_path / "it's $(x).log"
    path.write_bytes(b"0123456789")
    script = far._PRELUDE + b"la_read " + far.quote(os.fsencode(path)) + b" 4096 0 1 10\n"
    script += b"la_about " + far.quote(os.fsencode(tmp_path / "missing")) + b"\n"
    done = subprocess.run([program, *arguments], input=script, capture_output=True, check=True)
    first, second, third, fourth = done.stdout.split(b"\n")[:4]
    assert (first, second) == (b"D 10", b"0123456789")
    assert third.split()[:1] == [b"S"]
    assert int(third.split()[3]) == 10
    assert fourth.startswith(b"X ")
    assert b"No such file" in fourth


@pytest.mark.parametrize(
    ("url", "host", "path"),
    [
        ("ssh://gpu07/var/log/a.log", Host("gpu07"), b"/var/log/a.log"),
        ("ssh://me@gpu07:2222/a%20b", Host("gpu07", "me", 2222), b"/a b"),
        ("ssh://[::1]:22/x", Host("::1", None, 22), b"/x"),
        ("ssh://gpu07/a?b#c", Host("gpu07"), b"/a?b#c"),
        ("ssh://gpu07/%0a%ff", Host("gpu07"), b"/\n\xff"),
        ("ssh://u%40corp@gpu07/x", Host("gpu07", "u@corp"), b"/x"),
    ],
)
def test_addresses(url: str, host: Host, path: bytes) -> None:
    assert split_url(url) == (host, path)


@pytest.mark.parametrize(
    "url",
    [
        "ssh://gpu07",
        "ssh://gpu07/",
        "ssh:///path",
        "ssh://-oProxyCommand=x/path",
        "ssh://-l@gpu07/path",
        "ssh://gpu07:port/path",
        "ssh://gpu07:70000/path",
        "ssh://gpu07/a%00b",
        "ssh://a;b/path",
        "ssh://$(x)/path",
        "ssh://me:secret@gpu07/path",
    ],
)
def test_addresses_that_are_refused(url: str) -> None:
    with pytest.raises(SourceError) as caught:
        split_url(url)
    assert "secret" not in str(caught.value)


def test_a_shared_connection_that_stays_open_keeps_nobody_waiting(world: World, tmp_path: Path) -> None:
    """The client's background master holds the standard error of the one that began it."""
    control = world.folder / "cm"
    world.configure(f"Host gpu07\n  ControlMaster auto\n  ControlPath {control}\n  ControlPersist 20")
    path = tmp_path / "server.log"
    path.write_bytes(TEXT)
    try:
        began = time.monotonic()
        assert content("gpu07", path) == TEXT
        assert control.exists()
        assert content("gpu07", path) == TEXT
        assert "no such file" in str(failure("gpu07", f"{tmp_path}/missing.log"))
        assert time.monotonic() - began < 10
    finally:
        subprocess.run(["ssh", "-O", "exit", "gpu07"], capture_output=True, check=False)


def test_the_report_of_a_long_log_is_the_same_filtered_and_whole(world: World, tmp_path: Path) -> None:
    import logaudit

    fixture = (Path(__file__).parents[3] / "fixtures" / "kimi-k25-tp8.log").read_bytes()
    traffic = b"".join(
        b"[2026-11-29 14:%02d:%02d TP0] Decode batch, #running-req: %d, #token: 1, token usage: 0.45\n"
        % (number // 60 % 60, number % 60, number)
        for number in range(30_000)
    )
    path = tmp_path / "server.log"
    path.write_bytes(fixture + traffic + fixture.replace(b"13:35", b"15:35") + traffic)
    filtered = logaudit.audit(open_reached([str(path)], Reach(via="gpu07")))
    whole = logaudit.audit(open_reached([str(path)], Reach(via="gpu07", remote_filter=False)))
    assert len(filtered.launches) == 2
    assert filtered.sources[0].lines == whole.sources[0].lines
    assert filtered.sources[0].bytes < whole.sources[0].bytes / 4
    for one, other in zip(filtered.launches, whole.launches, strict=True):
        assert one.lines == other.lines
        assert one.ranks == other.ranks
        assert one.ledger == other.ledger
        assert one.expected == other.expected
        assert one.reconciliation == other.reconciliation
        assert one.server_args == other.server_args
