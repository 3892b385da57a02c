"""Following through the real client while the connection is cut and the file rotates: each line once."""

from __future__ import annotations

import contextlib
import random
import shutil
import socket
import struct
import threading
import time
from pathlib import Path

from logaudit.sources.follow import Data, Note
from logaudit.sources.remote.backoff import Backoff
from logaudit.sources.remote.far_view import FarView
from logaudit.sources.remote.host import Host
from logaudit.sources.remote.reconnect import follow
from tests.sources.remote.sshd import World

CUTS = 54
ROTATE_BYTES = 80_000


class Proxy:
    """A TCP proxy that can stall, reset and half-close what goes through it."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.pairs: list[tuple[socket.socket, socket.socket]] = []
        self.stalled: set[int] = set()
        self.accepted = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                inner, _ = self.listener.accept()
                outer = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                return
            self.accepted += 1
            self.pairs.append((inner, outer))
            for one, other in ((inner, outer), (outer, inner)):
                threading.Thread(target=self._pump, args=(one, other, id(inner)), daemon=True).start()

    def _pump(self, one: socket.socket, other: socket.socket, key: int) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(1 << 16):
                while key in self.stalled:
                    time.sleep(0.05)
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)

    def cut(self, how: str) -> None:
        """Do `how` to every connection that goes through: `stall`, `reset`, `half_close`."""
        pairs, self.pairs = self.pairs, []
        for inner, outer in pairs:
            with contextlib.suppress(OSError):
                if how == "stall":
                    self.stalled.add(id(inner))
                elif how == "reset":
                    inner.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    inner.shutdown(socket.SHUT_RD)
                    inner.close()
                    outer.close()
                else:
                    inner.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self.listener.close()
        self.cut("reset")
        self.stalled.clear()


class Writer(threading.Thread):
    """Writes numbered lines at speed and rotates the file by turns: renamed, or copied and emptied."""

    def __init__(self, path: Path) -> None:
        super().__init__(daemon=True)
        self.path = path
        self.done = threading.Event()
        self.count = 0
        self.rotations = 0
        self.file = path.open("ab", buffering=0)

    def run(self) -> None:
        while not self.done.is_set():
            for _ in range(30):
                self.write(b"decode batch of a server under load, token usage 0.%04d" % (self.count % 9973))
            if self.path.stat().st_size > ROTATE_BYTES:
                self.rotate()
            time.sleep(0.02)

    def write(self, text: bytes) -> None:
        self.file.write(b"%d %s\n" % (self.count, text))
        self.count += 1

    def rotate(self) -> None:
        for number in range(self.rotations, 0, -1):
            Path(f"{self.path}.{number}").rename(f"{self.path}.{number + 1}")
        if self.rotations % 2:
            shutil.copy(self.path, f"{self.path}.1")
            self.file.truncate(0)
        else:
            self.path.rename(f"{self.path}.1")
            self.file.close()
            self.file = self.path.open("ab", buffering=0)
        self.rotations += 1


def test_no_line_is_lost_or_doubled_over_cuts_and_rotations(world: World, tmp_path: Path) -> None:
    proxy = Proxy(world.near.port)
    chance = random.Random(7)
    path = tmp_path / "server.log"
    writer = Writer(path)
    writer.write(b"the first line")
    stop = threading.Event()
    host = Host("gpu07", port=proxy.port)
    lines: list[bytes] = []
    kinds: list[str] = []

    def read() -> None:
        rest = b""
        view = lambda: FarView(host, bytes(path), silence_s=0.5)  # noqa: E731
        for event in follow(view, stop, poll_s=0.1, backoff=Backoff(0.01, 0.05)):
            if isinstance(event, Note):
                kinds.append(event.kind)
            elif isinstance(event, Data):
                *whole, rest = (rest + event.data).split(b"\n")
                lines.extend(whole)
                if whole and whole[-1].endswith(b"the last line"):
                    stop.set()

    trouble: list[BaseException] = []

    def reading() -> None:
        try:
            read()
        except BaseException as error:
            trouble.append(error)

    reader = threading.Thread(target=reading, daemon=True)
    reader.start()
    writer.start()
    while not lines and reader.is_alive():
        time.sleep(0.02)
    cuts = 0
    seen = 0
    deadline = time.monotonic() + 90
    while cuts < CUTS and time.monotonic() < deadline and reader.is_alive():
        # Only a connection that was made can be cut: wait for the next one, then for a random moment of its life.
        if proxy.accepted == seen:
            time.sleep(0.02)
            continue
        time.sleep(chance.uniform(0.05, 0.35))
        seen = proxy.accepted
        how = ("reset", "half_close", "kill", "reset", "kill", "half_close", "reset", "kill", "stall")[cuts % 9]
        if how == "kill":
            world.near.end_connections()
            proxy.pairs.clear()
        else:
            proxy.cut(how)
        cuts += 1
    writer.done.set()
    writer.join()
    writer.write(b"the last line")
    reader.join(60)
    stop.set()
    proxy.close()
    assert not trouble, trouble
    assert cuts == CUTS
    assert kinds.count("unreachable") >= CUTS - 5
    assert writer.rotations >= 4
    assert "rotated" in kinds
    numbers = [int(line.split(b" ")[0]) for line in lines]
    wrong = next(
        (i for i, (got, right) in enumerate(zip(numbers, range(writer.count), strict=False)) if got != right), 0
    )
    assert len(numbers) == writer.count, (numbers[wrong - 1 : wrong + 2], trouble, kinds[-5:])
    assert numbers == list(range(writer.count)), numbers[wrong - 1 : wrong + 2]
