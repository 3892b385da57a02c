"""The follower against a file system in memory that rotates and renames, behind a view that breaks anywhere."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from logaudit.sources import follow
from logaudit.sources.follow import Data, FileStat, Follower, Note


class Broken(Exception):
    """The connection went away."""


@dataclass
class Inode:
    number: int
    content: bytearray = field(default_factory=bytearray)
    modified: int = 0


@dataclass
class Disk:
    """Names and inodes; every change makes the clock go on."""

    names: dict[bytes, Inode] = field(default_factory=dict)
    next_number: int = 1
    clock: int = 1000
    reuse: list[int] = field(default_factory=list)

    def make(self, name: bytes, content: bytes = b"") -> Inode:
        number = self.reuse.pop() if self.reuse else self.next_number
        self.next_number += 1
        self.names[name] = Inode(number, bytearray(content), self.clock)
        return self.names[name]

    def append(self, name: bytes, data: bytes) -> None:
        self.names[name].content += data
        self.names[name].modified = self.clock

    def shift(self, path: bytes) -> None:
        """path.1 becomes path.2, and so on."""
        numbers = sorted((int(n[len(path) + 1 :]) for n in self.names if n.startswith(path + b".")), reverse=True)
        for number in numbers:
            self.names[path + b".%d" % (number + 1)] = self.names.pop(path + b".%d" % number)

    def rename(self, path: bytes) -> None:
        self.shift(path)
        self.names[path + b".1"] = self.names.pop(path)
        self.make(path)

    def copy_and_truncate(self, path: bytes) -> None:
        self.shift(path)
        self.make(path + b".1", bytes(self.names[path].content))
        del self.names[path].content[:]


class View:
    """What a follower sees of a Disk; `breaks` is the number of calls after which it fails for good."""

    def __init__(self, disk: Disk, path: bytes, breaks: int | None = None, pins: bool = True) -> None:
        self.disk, self._path, self.breaks, self.pins = disk, path, breaks, pins
        self.held: Inode | None = None
        self.between = lambda: None

    def _call(self) -> None:
        self.between()
        if self.breaks is not None:
            self.breaks -= 1
            if self.breaks < 0:
                raise Broken

    def path(self) -> bytes:
        return self._path

    def _facts(self, inode: Inode | None) -> FileStat | None:
        return inode and FileStat(1, inode.number, len(inode.content), inode.modified)

    def stat(self) -> FileStat | None:
        self._call()
        return self._facts(self.disk.names.get(self._path))

    def pin(self) -> FileStat | None:
        self._call()
        if not self.pins:
            return None
        self.held = self.disk.names.get(self._path)
        return self._facts(self.held)

    def pinned(self) -> FileStat | None:
        self._call()
        return self._facts(self.held)

    def read(self, name: bytes | None, offset: int, size: int) -> tuple[bytes, FileStat | None]:
        self._call()
        assert offset % follow.BLOCK_BYTES == 0
        inode = self.held if name is None else self.disk.names.get(name)
        if inode is None:
            return b"", None
        data = bytes(inode.content[offset : offset + size])
        return data + b"\0" * (size - len(data)), self._facts(inode)

    def beside(self) -> list[tuple[bytes, FileStat]]:
        self._call()
        prefixes = (self._path + b".", self._path + b"-")
        return [
            (n, FileStat(1, i.number, len(i.content), i.modified))
            for n, i in self.disk.names.items()
            if n.startswith(prefixes)
        ]

    def close(self) -> None:
        self.held = None


P = b"/var/log/server.log"


def data_of(events: Iterator[follow.Event]) -> bytes:
    return b"".join(event.data for event in events if isinstance(event, Data))


def settle(follower: Follower) -> bytes:
    """Step until nothing comes any more."""
    got, idle = b"", 0
    for _ in range(500):
        events = list(follower.step())
        idle = 0 if events else idle + 1
        got += data_of(iter(events))
        if idle == 4:
            return got
    raise AssertionError("it does not come to rest")


@pytest.fixture
def disk() -> Disk:
    return Disk()


def started(disk: Disk, **options: bool) -> Follower:
    follower = Follower()
    follower.attach(View(disk, P, **options))
    return follower


def test_waits_for_the_file_and_reads_it_as_it_grows(disk: Disk) -> None:
    follower = started(disk)
    assert settle(follower) == b""
    disk.make(P, b"one\n")
    assert settle(follower) == b"one\n"
    disk.append(P, b"two\n")
    assert settle(follower) == b"two\n"


@pytest.mark.parametrize("pins", [True, False])
def test_reads_the_rest_of_a_renamed_file_before_the_new_one(disk: Disk, pins: bool) -> None:
    disk.make(P, b"one\n")
    follower = started(disk, pins=pins)
    assert settle(follower) == b"one\n"
    disk.append(P, b"two\n")
    disk.rename(P)
    disk.append(P, b"three\n")
    assert settle(follower) == b"two\nthree\n"


def test_goes_on_in_a_renamed_file_while_the_new_one_is_empty(disk: Disk) -> None:
    disk.make(P, b"one\n")
    follower = started(disk)
    settle(follower)
    disk.rename(P)
    assert settle(follower) == b""
    disk.append(P + b".1", b"two\n")
    assert settle(follower) == b"two\n"


def test_reads_the_rest_of_an_emptied_file_from_its_copy(disk: Disk) -> None:
    disk.make(P, b"one\n")
    follower = started(disk)
    settle(follower)
    disk.append(P, b"two\n")
    disk.copy_and_truncate(P)
    disk.append(P, b"three\n")
    assert settle(follower) == b"two\nthree\n"


def test_notices_an_emptied_file_that_has_grown_beyond_the_old_offset(disk: Disk) -> None:
    disk.make(P, b"one\n")
    follower = started(disk)
    settle(follower)
    disk.copy_and_truncate(P)
    disk.append(P, b"another line, longer than what was read\n")
    assert settle(follower) == b"another line, longer than what was read\n"


def test_leaves_out_the_hole_of_a_writer_that_does_not_append(disk: Disk) -> None:
    disk.make(P, b"x" * 5000 + b"\n")
    follower = started(disk)
    settle(follower)
    disk.copy_and_truncate(P)
    disk.append(P, b"\0" * 5001 + b"after\n")
    assert settle(follower) == b"after\n"


def test_reads_rotations_that_happened_while_it_was_away(disk: Disk) -> None:
    disk.make(P, b"one\n")
    follower = started(disk)
    settle(follower)
    for word in (b"two\n", b"three\n", b"four\n"):
        disk.append(P, word)
        disk.rename(P)
    disk.append(P, b"five\n")
    follower.attach(View(disk, P))
    assert settle(follower) == b"two\nthree\nfour\nfive\n"


def test_takes_up_a_file_with_a_reused_inode_from_its_beginning(disk: Disk) -> None:
    disk.make(P, b"the old file\n")
    follower = started(disk)
    settle(follower)
    disk.reuse.append(disk.names.pop(P).number)
    disk.make(P, b"the new file, which is longer\n")
    follower.attach(View(disk, P))
    assert settle(follower) == b"the new file, which is longer\n"


def test_says_when_the_old_file_is_gone(disk: Disk) -> None:
    disk.make(P, b"one\n")
    follower = started(disk, pins=False)
    settle(follower)
    del disk.names[P]
    assert settle(follower) == b""
    disk.make(P, b"two\n")
    events = list(follower.step())
    assert [event.kind for event in events if isinstance(event, Note)] == ["lost", "rotated"]
    assert settle(follower) == b"two\n"


def test_reads_a_deleted_file_to_its_end_while_it_is_held_open(disk: Disk) -> None:
    held = disk.make(P, b"one\n")
    follower = started(disk)
    settle(follower)
    del disk.names[P]
    held.content += b"two\n"
    disk.make(P, b"three\n")
    assert settle(follower) == b"two\nthree\n"


def test_does_not_read_other_logs_beside_it(disk: Disk) -> None:
    disk.make(P, b"one\n")
    disk.make(P + b".json", b"{}\n")
    follower = started(disk)
    settle(follower)
    disk.make(P + b"-rank1", b"another log\n")
    disk.append(P + b".json", b"{}\n")
    disk.names[P + b".1"] = disk.names.pop(P)
    disk.make(P, b"two\n")
    assert settle(follower) == b"two\n"


def test_keeps_lines_apart_where_the_old_file_ends_without_a_line_end(disk: Disk) -> None:
    disk.make(P, b"killed in the midd")
    follower = started(disk)
    settle(follower)
    disk.rename(P)
    disk.append(P, b"restarted\n")
    assert settle(follower) == b"\nrestarted\n"


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("pins", [True, False])
def test_no_line_is_lost_or_doubled_whatever_happens(seed: int, pins: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "BLOCK_BYTES", 16)
    monkeypatch.setattr(follow, "LARGE_BLOCK_BYTES", 64)
    monkeypatch.setattr(follow, "FINGERPRINT_BYTES", 32)
    monkeypatch.setattr(follow, "CHUNK_BYTES", 256)
    chance = random.Random(seed)
    disk = Disk()
    disk.make(P)
    written = bytearray()
    counter = 0

    def happen() -> None:
        nonlocal counter
        disk.clock += chance.random() < 0.2
        for _ in range(chance.choice((0, 0, 1, 3))):
            line = b"line %d %s %d\n" % (counter, b"x" * chance.randrange(60), counter)
            counter += 1
            written.extend(line)
            disk.append(P, line)
        roll = chance.random()
        if disk.names[P].content and roll < 0.05:
            disk.rename(P)
        elif disk.names[P].content and roll < 0.10:
            disk.copy_and_truncate(P)

    follower = Follower(chunk_bytes=256)
    follower.attach(View(disk, P, pins=pins))
    assert settle(follower) == b""
    got = bytearray()
    for _ in range(40):
        view = View(disk, P, breaks=chance.choice((2, 5, 20, 60)), pins=pins)
        view.between = happen
        follower.attach(view)
        try:
            while True:
                for event in follower.step():
                    if isinstance(event, Data):
                        got += event.data
        except Broken:
            pass
    written += b"the end\n"
    disk.append(P, b"the end\n")
    follower.attach(View(disk, P, pins=pins))
    got += settle(follower)
    assert bytes(got) == bytes(written)
