"""Following a file as `tail -F` does, no byte lost or doubled over rotation, truncation and lost connections."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import stat as stat_bits
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from logaudit.errors import SourceError

BLOCK_BYTES = 4096
"""Reads begin at a multiple of this, so that the oldest `dd` can seek there."""
LARGE_BLOCK_BYTES = 1 << 16
"""The same for reads that are long anyway."""
CHUNK_BYTES = 1 << 20
"""Most that is read at once while following: what a broken connection costs."""
FINGERPRINT_BYTES = 1024
"""How many of the last bytes read decide whether a file is still the one that was read."""

_COMPRESSED = (b".gz", b".xz", b".zst", b".bz2", b".Z", b".lz4")
_NUMBERED = re.compile(rb"\.(\d{1,5})\Z")
_AT_PATH = (-1, 0, b"")
_DATED = re.compile(rb"[.-]\d{4}[\d.:_TZ-]*\Z")


Identity = tuple[int, int]
"""Device and inode."""


@dataclass(frozen=True, slots=True)
class FileStat:
    """What a file system says about a file."""

    device: int
    inode: int
    size: int
    """Bytes."""
    modified: int
    """Seconds since 1970; 0 where it is not known."""

    @property
    def identity(self) -> Identity:
        """Device and inode."""
        return self.device, self.inode


Listing = list[tuple[bytes, FileStat]]
"""Names with their files' facts."""
Found = tuple[bytes | None, FileStat]
"""Where a file is (None: held open), and its facts."""


class FileView(Protocol):
    """How a follower sees the file that it follows: here, or through a connection that may break at any call."""

    def stat(self) -> FileStat | None:
        """Facts about what is at the path now; None when nothing is. Raises SourceError when it may not be read."""

    def pin(self) -> FileStat | None:
        """Hold open what is at the path now, so that it can be read after it was renamed or deleted."""

    def pinned(self) -> FileStat | None:
        """Facts about what is held open; None when nothing is, or cannot be."""

    def read(self, name: bytes | None, offset: int, size: int) -> tuple[bytes, FileStat | None]:
        """`size` bytes of the named file (None: the one held open) from `offset`, a multiple of BLOCK_BYTES, and its
        facts right after; what lies beyond its end is missing or zeros. (b"", None) when there is no such file."""

    def path(self) -> bytes:
        """The path that is followed."""

    def beside(self) -> Listing:
        """Files beside it whose names begin with its path and `.` or `-`."""

    def close(self) -> None:
        """Let go of the file and the connection."""


@dataclass(frozen=True, slots=True)
class Data:
    """The next bytes of the log."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Note:
    """Something that happened to the file or on the way to it."""

    kind: str
    """`appeared`, `current` (all that was there has been handed on), `rotated`, `truncated`, `lost`, `ended`,
    `unreachable`, `reconnected`."""
    text: str


Event = Data | Note


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a file, and what tells that the file is still the same."""

    identity: Identity
    offset: int
    tail: bytes
    """The last bytes before the offset."""


class _Changed(Exception):
    """The file with our identity no longer holds what was read from it."""


class _Moved(Exception):
    """The file is no longer where it was looked for; to be looked for again."""


class Follower:
    """Where one is in a log, whatever happens to its file: a state machine over a FileView, without clock or network.

    The position is device and inode, the offset, and the last bytes before it. It moves only together with the bytes
    that are handed on, so that a view that breaks in the middle of anything can be replaced by a new one. A file that
    was emptied in place is a rotation too: its copy becomes the current file, and then the next younger one.
    """

    def __init__(self, chunk_bytes: int = CHUNK_BYTES) -> None:
        self.chunk_bytes = chunk_bytes
        self.offset = 0
        """Bytes of the current file that were handed on."""
        self._identity: Identity | None = None
        self._tail = b""
        self._modified = 0
        self._verified = False
        self._older: set[Identity] = set()
        self._emptied: tuple[Identity | None, int] | None = None
        self._hole = 0
        self._skip_zeros = False
        self._last_byte = b"\n"

    def start_at(self, position: Position) -> None:
        """Begin there instead of at the file's first byte."""
        self._identity, self.offset = position.identity, position.offset
        self._tail = position.tail[-FINGERPRINT_BYTES:]
        self._last_byte = self._tail[-1:] or b"\n"

    def attach(self, view: FileView) -> None:
        """Go on with a new view of the same path."""
        self._view = view
        self._verified = False
        self._pinned = False

    def step(self) -> Iterator[Event]:
        """Hand on what is new; nothing when there is nothing new now. Raises what the view raises."""
        if self._identity is None:
            if self._view.stat() is None:
                return
            listing = self._view.beside()
            first = self._view.stat()
            if first is None:
                return
            self._adopt(first.identity, listing)
            yield Note("appeared", "the file is there")
        now = self._view.stat()
        if now is not None and now.identity == self._identity and not self._pinned:
            self._view.pin()
            self._pinned = True
        # Where a rotation comes between two looks, nothing was moved yet: the next step looks again.
        with contextlib.suppress(_Moved):
            yield from self._advance(now)

    def _advance(self, now: FileStat | None) -> Iterator[Event]:
        found = self._find_current(now)
        if found is not None:
            try:
                yield from self._read_on(*found)
            except _Changed:
                yield from self._leave_emptied()
                return
        if now is not None and now.identity != self._identity:
            yield from self._go_on_to_next(now, found)

    def _find_current(self, now: FileStat | None) -> Found | None:
        held = self._view.pinned()
        if held is not None and held.identity == self._identity:
            return None, held
        if now is not None and now.identity == self._identity:
            return self._view.path(), now
        return next((item for item in self._view.beside() if item[1].identity == self._identity), None)

    def _read_on(self, name: bytes | None, facts: FileStat) -> Iterator[Event]:
        """Read the current file from the offset to its end; the bytes before the offset are read again and compared."""
        while True:
            if facts.size < self.offset:
                raise _Changed
            if facts.size == self.offset and self._verified and facts.modified == self._modified:
                return
            block = LARGE_BLOCK_BYTES if facts.size - self.offset >= CHUNK_BYTES else BLOCK_BYTES
            begin = (self.offset - len(self._tail)) // block * block
            size = min(facts.size - begin, self.chunk_bytes)
            if size == 0:
                self._modified, self._verified = facts.modified, True
                return
            data, after = self._view.read(name, begin, size)
            if after is None or after.identity != self._identity:
                raise _Moved
            lead = self.offset - begin
            if self.offset == 0 and self._go_back_to_copy():
                raise _Moved
            if after.size < begin + size or data[lead - len(self._tail) : lead] != self._tail:
                raise _Changed
            self._modified, self._verified = after.modified, True
            facts = after
            yield from self._hand_on(data[lead:])

    def _go_back_to_copy(self) -> bool:
        """Before the first byte of a file: whether it was copied and emptied since it became the current one.

        Without a byte read there is no fingerprint to tell; but the copy is there, and it becomes the current file.
        """
        path = self._view.path()
        listing = self._view.beside()
        own = next((name for name, facts in listing if facts.identity == self._identity), path)
        copies = [
            (age, facts.identity)
            for name, facts in listing
            if facts.identity not in (*self._older, self._identity)
            and (age := _age(name[len(path) :])) is not None
            and age > (_age(own[len(path) :]) or _AT_PATH)
        ]
        if not copies:
            return False
        emptied = (self._identity, 0)
        self._adopt(max(copies)[1], listing)
        self._emptied = emptied
        return True

    def _hand_on(self, data: bytes) -> Iterator[Event]:
        """Move the position over `data`, and give it without the zeros of a hole where an emptied file begins."""
        if not data:
            return
        at_start = self.offset == 0
        self.offset += len(data)
        self._tail = (self._tail + data)[-FINGERPRINT_BYTES:]
        if self._hole and (at_start or self._skip_zeros):
            data = data.lstrip(b"\0")
            self._skip_zeros = not data
            if not data:
                # A writer that does not append went on at its old offset: there is nothing to read before it.
                self.offset, self._tail = max(self.offset, self._hole), b""
                return
        self._hole, self._skip_zeros = 0, False
        self._last_byte = data[-1:]
        yield Data(data)

    def _leave_emptied(self) -> Iterator[Event]:
        """The current file was emptied in place: go on in the copy that was made of it, or from the beginning."""
        listing = self._view.beside()
        copy = self._find_copy(listing)
        if copy is not None:
            yield Note("truncated", "the file was emptied in place; its copy is read to the end first")
            self._emptied = (self._identity, self.offset)
            self._identity, self._verified = copy, False
        else:
            yield Note("truncated", "the file was emptied in place; it is read from its beginning")
            self._adopt(self._identity, listing, hole=self.offset)

    def _find_copy(self, listing: Listing) -> Identity | None:
        """Identity of the youngest file beside ours that holds what we read, up to our position."""
        for name, facts in sorted(listing, key=lambda item: -item[1].modified):
            if facts.identity != self._identity and self._continues(name, facts):
                return facts.identity
        return None

    def _continues(self, name: bytes, facts: FileStat) -> bool:
        """Whether the named file holds the last bytes read at the place where we read them."""
        if not self._tail or facts.size < self.offset or name.endswith(_COMPRESSED):
            return False
        begin = (self.offset - len(self._tail)) // BLOCK_BYTES * BLOCK_BYTES
        data, after = self._view.read(name, begin, self.offset - begin)
        if after is None or after.identity != facts.identity:
            raise _Moved
        return data[-len(self._tail) :] == self._tail

    def _go_on_to_next(self, now: FileStat, found: Found | None) -> Iterator[Event]:
        """Another file is at the path, and ours was read to its end after that was seen: take the next younger one."""
        listing = self._view.beside()
        old = next((name for name, facts in listing if facts.identity == self._identity), None)
        if found is None and old is None:
            copy = self._find_copy(listing)
            if copy is not None:
                self._identity, self._verified = copy, False
                return
            yield Note("lost", f"the old file is gone: what was written after its byte {self.offset} may be missing")
        between = self._between(listing, old, now)
        if not between and now.size == 0 and found is not None:
            return
        following = between[0][1].identity if between else now.identity
        if self._emptied is not None and following == self._emptied[0]:
            yield from self._return_to_emptied(self._emptied, listing, now, found)
            return
        if self._last_byte != b"\n":
            self._last_byte = b"\n"
            yield Data(b"\n")
        self._adopt(following, listing)
        yield Note("rotated", "the file was rotated; the next one is read from its beginning")

    def _return_to_emptied(
        self, emptied: tuple[Identity | None, int], listing: Listing, now: FileStat, found: Found | None
    ) -> Iterator[Event]:
        """After its copy, the emptied file; where the copy is one still being made, both hold the same bytes."""
        identity, hole = emptied
        if now.identity == identity and self._continues(self._view.path(), now):
            self._identity, self._verified, self._pinned = identity, False, False
            return
        if found is not None and found[0] is not None:
            _, after = self._view.read(found[0], 0, 0)
            if after is None or after.identity != self._identity or after.size != self.offset:
                return
        self._adopt(identity, listing, hole=hole)
        yield Note("rotated", "the copy was read; the emptied file is read from its beginning")

    def _between(self, listing: Listing, old: bytes | None, now: FileStat) -> Listing:
        """Rotated files younger than ours and older than `now`, oldest first: rotations that we did not see."""
        path = self._view.path()
        aged = [(age, item) for item in listing if (age := _age(item[0][len(path) :])) is not None]
        aged.sort(reverse=True)
        own = None if old is None else _age(old[len(path) :])
        limit = next((age for age, item in aged if item[1].identity == now.identity), None)
        return [
            item
            for age, item in aged
            if item[1].identity not in (self._identity, now.identity)
            and (limit is None or age > limit)
            and (age < own if own is not None else old is None and self._looks_younger(item[1]))
        ]

    def _looks_younger(self, facts: FileStat) -> bool:
        return facts.identity not in self._older and facts.modified >= self._modified

    def _adopt(self, identity: Identity | None, listing: Listing, *, hole: int = 0) -> None:
        """Make the file with this identity the current one, from its beginning."""
        self._hole, self._emptied = hole, None
        self._identity, self.offset, self._tail, self._modified = identity, 0, b"", 0
        self._verified = self._pinned = self._skip_zeros = False
        self._older = {facts.identity for _, facts in listing}


def _age(suffix: bytes) -> tuple[int, int, bytes] | None:
    """How old a rotated file is by its name, as a key (the older, the larger); None for another name."""
    if numbered := _NUMBERED.fullmatch(suffix):
        return 1, int(numbered[1]), b""
    if _DATED.fullmatch(suffix):
        return 0, 0, bytes(255 - byte for byte in suffix) + b"\xff"
    return None


class LocalView:
    """A file on this machine."""

    def __init__(self, path: str) -> None:
        self._path = os.fsencode(path)
        self._held: int | None = None

    def path(self) -> bytes:
        return self._path

    def stat(self) -> FileStat | None:
        try:
            return _facts(os.stat(self._path), self._path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError) as error:
            raise _unreadable(self._path, error) from error

    def pin(self) -> FileStat | None:
        self.close()
        try:
            self._held = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            return _facts(os.fstat(self._held), self._path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _unreadable(self._path, error) from error

    def pinned(self) -> FileStat | None:
        return None if self._held is None else _facts(os.fstat(self._held), self._path)

    def read(self, name: bytes | None, offset: int, size: int) -> tuple[bytes, FileStat | None]:
        try:
            if name is None and self._held is not None:
                return os.pread(self._held, size, offset), _facts(os.fstat(self._held), self._path)
            name = name or self._path
            with open(name, "rb", buffering=0) as file:
                return os.pread(file.fileno(), size, offset), _facts(os.fstat(file.fileno()), name)
        except (FileNotFoundError, NotADirectoryError):
            return b"", None
        except OSError as error:
            raise _unreadable(name or self._path, error) from error

    def beside(self) -> Listing:
        found = []
        stem = glob.escape(os.fsdecode(self._path))
        for name in sorted(glob.glob(stem + ".*") + glob.glob(stem + "-*")):
            with contextlib.suppress(OSError, SourceError):
                found.append((os.fsencode(name), _facts(os.stat(name), os.fsencode(name))))
        return found

    def close(self) -> None:
        if self._held is not None:
            os.close(self._held)
            self._held = None


def _facts(status: os.stat_result, path: bytes) -> FileStat:
    if not stat_bits.S_ISREG(status.st_mode):
        kind = "a directory" if stat_bits.S_ISDIR(status.st_mode) else "not a regular file"
        raise SourceError(f"is {kind}", where=os.fsdecode(path), do="name a file to follow")
    return FileStat(status.st_dev, status.st_ino, status.st_size, int(status.st_mtime))


def _unreadable(path: bytes, error: Exception) -> SourceError:
    where = os.fsdecode(path)
    if isinstance(error, PermissionError):
        return SourceError("permission denied", where=where, do="read it as a user who may")
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return SourceError(f"cannot be read: {reason}", where=where, do="check the file and its disk")
