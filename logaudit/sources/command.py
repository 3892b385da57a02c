"""Logs that a command prints: a command of the user's own, and what the clients of containers and journals share."""

from __future__ import annotations

import re
import shlex
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from logaudit.errors import SourceError
from logaudit.sources.follow import FINGERPRINT_BYTES, Data, Event, Note
from logaudit.sources.interface import Source
from logaudit.sources.remote.backoff import Backoff
from logaudit.sources.remote.diagnosis import ConnectionLost
from logaudit.sources.remote.host import Host
from logaudit.sources.remote.reach import NEAR, Reach
from logaudit.sources.remote.reconnect import worth_retrying
from logaudit.sources.remote.running import Running, failure

_LAST_WORDS_BYTES = 4096
"""A command that failed and printed no more than this printed its reason, not a log."""
_WAIT_S = 0.5
_TIMESTAMP = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)) ")
_CONTAINER_PIECE_BYTES = 16384
"""Container engines store long lines in pieces of this size, each with its own time."""


def open_argument(argument: str, reach: Reach = NEAR) -> list[Source]:
    """The log that `command:WORDS` prints; words are split as a shell would, and interpreted by none."""
    text = argument.removeprefix("command:")
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise SourceError(f"cannot be split into words: {error}", where=argument, do="check its quotes") from None
    if not words:
        raise SourceError("no command", where=argument, do="write command:PROGRAM ARGUMENTS")
    return [CommandLog(argument, tuple(word.encode() for word in words), reach.host())]


@dataclass(slots=True)
class CommandLog:
    """The output of a command."""

    argument: str
    """As the user wrote it."""
    argv: tuple[bytes, ...]
    host: Host | None = None
    """Where to run it; None: here."""
    notes: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.argument if self.host is None else f"{self.argument} via {self.host}"

    @property
    def program(self) -> str:
        """The client's name, for errors."""
        return self.argv[0].decode("utf-8", "replace")

    def commands(self) -> Sequence[tuple[bytes, ...]]:
        """What to run to read it once; the next is tried where one says that there is no such thing."""
        return [self.argv]

    def follow_command(self, resume: Resume) -> tuple[bytes, ...]:
        """What to run to follow it from where `resume` is."""
        return self.argv

    def new_resume(self) -> Resume:
        """How lines that were read before are recognised after a break."""
        return ByOffset()

    def blocks(self) -> Iterator[bytes]:
        candidates = self.commands()
        for number, argv in enumerate(candidates, 1):
            try:
                yield from self._output(argv)
                return
            except SourceError as error:
                absent = "not found" in error.what.lower() or "notfound" in error.what.lower()
                if number == len(candidates) or isinstance(error, ConnectionLost) or not absent:
                    raise

    def _output(self, argv: tuple[bytes, ...]) -> Iterator[bytes]:
        running = Running(argv, self.host)
        try:
            head: bytes | None = b""
            while data := running.read(None):
                if head is None:
                    yield data
                    continue
                head += data
                if len(head) > _LAST_WORDS_BYTES:
                    yield head
                    head = None
            if head is not None:
                if running.status:
                    raise failure(self.name, running.status, head, self.program)
                if head:
                    yield head
            elif running.status:
                self.notes.append(f"{self.program} ended with status {running.status}; what it printed before was read")
        finally:
            running.stop()

    def follow(self, stop: threading.Event) -> Iterator[Event]:
        """The log as it grows, over as many connections and runs of the command as it takes."""
        backoff, resume = Backoff(most_s=15.0), self.new_resume()
        connected_before = printed_before = told_current = False
        while not stop.is_set():
            running: Running | None = None
            try:
                running = Running(self.follow_command(resume), self.host)
                connected_before = True
                resume.begin()
                said = b""
                while not stop.is_set() and (data := running.read(_WAIT_S)) != b"":
                    if data is None:
                        if not told_current:
                            told_current = True
                            yield Note("current", "all that was there was read")
                        continue
                    said = (said + data)[-_LAST_WORDS_BYTES:]
                    fresh = resume.take(data)
                    if fresh:
                        printed_before = True
                        backoff.succeeded()
                        yield Data(fresh)
                if stop.is_set():
                    return
                if running.status and not printed_before:
                    raise failure(self.name, running.status, said, self.program)
                rest = resume.end()
                if rest:
                    yield Data(rest)
                printed_before = True
                yield Note("ended", f"{self.program} ended with status {running.status}; it is started again")
                stop.wait(backoff.next_s())
            except ConnectionLost as lost:
                wait_s = backoff.next_s()
                if not worth_retrying(lost, connected_before=connected_before, failures=backoff.failures, most=None):
                    raise
                yield Note("unreachable", f"{lost.where}: {lost.what}; trying again in {wait_s:.1f} s")
                stop.wait(wait_s)
            finally:
                if running is not None:
                    running.stop()


class Resume:
    """Which part of a command's output, run again, is new."""

    def begin(self) -> None:
        """The command starts to print."""

    def take(self, data: bytes) -> bytes:
        """What of `data` is new."""
        return data

    def end(self) -> bytes:
        """What is left when the command ended."""
        return b""


class ByOffset(Resume):
    """For a command of which nothing is known: where it prints the same again, that is passed over."""

    def __init__(self) -> None:
        self._offset = 0
        self._head = b""
        self._left = 0
        self._pending: bytes | None = None

    def begin(self) -> None:
        self._pending = b"" if self._offset else None
        self._left = 0

    def take(self, data: bytes) -> bytes:
        if self._pending is not None:
            self._pending += data
            if len(self._pending) < len(self._head) and self._head.startswith(self._pending):
                return b""
            data, same = self._pending, self._pending.startswith(self._head)
            self._pending = None
            self._left = self._offset if same else 0
            if not same:
                self._offset, self._head = 0, b""
        skipped = min(self._left, len(data))
        self._left -= skipped
        fresh = data[skipped:]
        self._offset += len(fresh)
        if len(self._head) < FINGERPRINT_BYTES:
            self._head += fresh[: FINGERPRINT_BYTES - len(self._head)]
        return fresh


class ByTimestamp(Resume):
    """For clients that put a time before every line: lines up to the last one handed on are passed over.

    Only whole lines are handed on, without their times.
    """

    def __init__(self) -> None:
        self.last = b""
        """Time of the last line handed on, as printed."""
        self._count = 0
        self._seen = 0
        self._rest = b""

    def begin(self) -> None:
        self._rest = b""
        self._seen = 0

    def take(self, data: bytes) -> bytes:
        *lines, self._rest = (self._rest + data).split(b"\n")
        return b"".join(fresh + b"\n" for line in lines if (fresh := self._new(line)) is not None)

    def _new(self, line: bytes) -> bytes | None:
        found = _TIMESTAMP.match(line)
        if found is None:
            return line
        time = _sortable(found[1])
        last = _sortable(self.last)
        if time < last:
            return None
        if time == last:
            self._seen += 1
            if self._seen <= self._count:
                return None
        else:
            self.last, self._count, self._seen = found[1], 0, 1
        self._count += 1
        return _joined(line[found.end() :])


def _sortable(time: bytes) -> bytes:
    """A time of a fixed zone so that bytes sort as times do."""
    whole, _, rest = time.partition(b".")
    digits = re.match(rb"\d*", rest)
    return whole[:19] + (digits[0] if digits else b"").ljust(9, b"0")


def _joined(text: bytes) -> bytes:
    """A line that was stored in pieces, without the times between them."""
    at = _CONTAINER_PIECE_BYTES
    while at < len(text) and (found := _TIMESTAMP.match(text, at)):
        text = text[:at] + text[found.end() :]
        at += _CONTAINER_PIECE_BYTES
    return text


def checked_name(text: str, argument: str, form: str) -> bytes:
    """A name that no client can take for an option; raises SourceError."""
    if not text or text.startswith("-") or not text.isprintable() or " " in text:
        raise SourceError(f"{text!r} is not a name", where=argument, do=f"write {form}")
    return text.encode()
