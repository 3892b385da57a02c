"""Real OpenSSH daemons on loopback ports, with keys of their own, and a client configuration that knows them."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from getpass import getuser
from pathlib import Path

import pytest

SSH = shutil.which("ssh")


def find_sshd() -> str | None:
    return os.environ.get("LOGAUDIT_SSHD") or shutil.which(
        "sshd", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])
    )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def password_is_locked() -> bool:
    try:
        lines = Path("/etc/shadow").read_text().splitlines()
    except OSError:
        return False
    return any(line.startswith(f"{getuser()}:!") for line in lines)


def make_key(path: Path) -> Path:
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", path], check=True, stdin=subprocess.DEVNULL
    )
    return path


class Daemon:
    """One sshd in the foreground."""

    def __init__(self, folder: Path, authorized_keys: Path, port: int | None = None) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.port = port or free_port()
        self.host_key = folder / "host_key"
        if not self.host_key.exists():
            make_key(self.host_key)
        self.config = folder / "sshd_config"
        settings = [
            f"Port {self.port}",
            "ListenAddress 127.0.0.1",
            f"HostKey {self.host_key}",
            f"AuthorizedKeysFile {authorized_keys}",
            f"PidFile {folder / 'pid'}",
            "StrictModes no",
            # Without PAM the daemon refuses an account whose password is locked, even with a key.
            f"UsePAM {'yes' if password_is_locked() else 'no'}",
            "PermitRootLogin yes",
            "PasswordAuthentication no",
            "KbdInteractiveAuthentication no",
            "MaxStartups 1000",
            # Neither the profile of whoever runs the tests nor slow key exchanges are what is tested.
            f"SetEnv HOME={folder}",
            "KexAlgorithms curve25519-sha256",
            "LogLevel ERROR",
        ]
        self.config.write_text("\n".join([*settings, "PerSourcePenalties no", ""]))
        sshd = find_sshd()
        assert sshd
        if subprocess.run([sshd, "-t", "-f", self.config], capture_output=True, check=False).returncode:
            self.config.write_text("\n".join([*settings, ""]))
        self.log = folder / "log"
        self.process = subprocess.Popen(
            [sshd, "-D", "-e", "-f", self.config], stdin=subprocess.DEVNULL, stderr=self.log.open("ab")
        )
        self._wait()

    def _wait(self) -> None:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1) as probe:
                if probe.recv(4) == b"SSH-":
                    return
            time.sleep(0.02)
        raise RuntimeError(f"sshd does not answer: {self.log.read_text()}")

    @property
    def public_host_key(self) -> str:
        return (self.folder / "host_key.pub").read_text().strip()

    def connections(self) -> list[int]:
        """Process ids of the daemon's children: one for each connection."""
        done = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.process.pid)], capture_output=True, check=False)
        return [int(pid) for pid in done.stdout.split()]

    def end_connections(self) -> None:
        """End the daemon's child of every connection, as a crash over there would."""
        for pid in self.connections():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def stop(self) -> None:
        self.end_connections()
        self.process.kill()
        self.process.wait()


@dataclass
class World:
    """Two daemons, a client with its own configuration on the PATH, and where the logs are."""

    folder: Path
    near: Daemon
    far: Daemon
    client: Path
    config: Path
    known_hosts: Path
    key: Path
    other_key: Path
    extra: list[str] = field(default_factory=list)

    def configure(self, *lines: str) -> None:
        """Write the client's configuration: hosts `gpu07` and `behind` (reached through `gpu07`), and `lines` first."""
        user = getuser()
        common = f"""
            User {user}
            HostName 127.0.0.1
            IdentityFile {self.key}
            IdentitiesOnly yes
            UserKnownHostsFile {self.known_hosts}
            GlobalKnownHostsFile /dev/null
            StrictHostKeyChecking ask
        """
        self.config.write_text(
            "\n".join(lines)
            + f"\nHost gpu07\n  Port {self.near.port}\n  HostKeyAlias gpu07\n"
            + f"Host behind\n  Port {self.far.port}\n  HostKeyAlias behind\n  ProxyJump gpu07\n"
            + f"Host *\n{common}\n"
        )

    def trust(self) -> None:
        self.known_hosts.write_text(f"gpu07 {self.near.public_host_key}\nbehind {self.far.public_host_key}\n")


@contextlib.contextmanager
def build_world(folder: Path) -> Iterator[World]:
    if find_sshd() is None or SSH is None:
        message = "OpenSSH's server or client is not installed (see .ci/services/sshd.sh)"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    key, other_key = make_key(folder / "key"), make_key(folder / "other_key")
    authorized = folder / "authorized_keys"
    shutil.copy(folder / "key.pub", authorized)
    near = Daemon(folder / "near", authorized)
    far = Daemon(folder / "far", authorized)
    client = folder / "bin" / "ssh"
    client.parent.mkdir()
    config = folder / "ssh_config"
    client.write_text(f'#!/bin/sh\nexec {SSH} -F {config} "$@"\n')
    client.chmod(0o755)
    world = World(folder, near, far, client, config, folder / "known_hosts", key, other_key)
    try:
        yield world
    finally:
        near.stop()
        far.stop()
