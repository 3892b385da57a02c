"""Following over connections that drop: connect, step, and connect again where that can help."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from logaudit.errors import SourceError
from logaudit.sources.follow import Data, Event, FileView, Follower, Note, Position
from logaudit.sources.remote.backoff import Backoff
from logaudit.sources.remote.diagnosis import ConnectionLost

FIRST_ATTEMPTS = 3
"""How often a host that never answered is tried: it may be about to come up, or its name is a typing error."""
_SHORTEST_PAUSE_S = 0.05


def worth_retrying(lost: ConnectionLost, *, connected_before: bool, failures: int, most: int | None) -> bool:
    """Whether to connect again after `failures` attempts in a row that failed; `most` None: as long as it takes."""
    if not connected_before:
        return lost.diagnosis.retry and failures < FIRST_ATTEMPTS
    if most is not None and failures >= most:
        return False
    if lost.diagnosis.kind == "command":
        # A login that ended before its shell answered: that host has shells, and may be shutting down.
        return failures <= FIRST_ATTEMPTS
    # A name that could be resolved before can be again.
    return lost.diagnosis.retry or lost.diagnosis.kind == "name"


def follow(
    connect: Callable[[], FileView],
    stop: threading.Event,
    *,
    poll_s: float = 1.0,
    backoff: Backoff | None = None,
    start: Position | None = None,
) -> Iterator[Event]:
    """The events of one file until `stop` is set; raises SourceError where trying again cannot help."""
    backoff = backoff or Backoff()
    follower = Follower()
    if start is not None:
        follower.start_at(start)
    connected_before = start is not None
    told_current = False
    while not stop.is_set():
        view: FileView | None = None
        try:
            view = connect()
            if connected_before and backoff.failures:
                yield Note("reconnected", "the connection is back")
            connected_before = True
            follower.attach(view)
            pause_s = _SHORTEST_PAUSE_S
            while not stop.is_set():
                came = False
                for event in follower.step():
                    came = came or isinstance(event, Data)
                    backoff.succeeded()
                    yield event
                backoff.succeeded()
                if not told_current and follower.offset:
                    told_current = True
                    yield Note("current", "all that was there was read")
                pause_s = _SHORTEST_PAUSE_S if came else min(poll_s, pause_s * 2)
                stop.wait(pause_s)
        except ConnectionLost as lost:
            wait_s = backoff.next_s()
            if not worth_retrying(lost, connected_before=connected_before, failures=backoff.failures, most=None):
                raise
            yield Note("unreachable", f"{lost.where}: {lost.what}; trying again in {wait_s:.1f} s")
            stop.wait(wait_s)
        finally:
            if view is not None:
                view.close()


_CHUNK_BYTES = 4 << 20
_ATTEMPTS_WHILE_READING = 8
_STEPS_WITHOUT_PROGRESS = 3


def read_once(connect: Callable[[], FileView], name: str, notes: list[str]) -> Iterator[bytes]:
    """The file as long as it was when it was opened, from its first byte, over as many connections as it takes.

    Raises SourceError when there is no such file, or when trying again cannot help.
    """
    backoff = Backoff(most_s=10.0)
    follower = Follower(_CHUNK_BYTES)
    left: int | None = None
    while left != 0:
        view: FileView | None = None
        try:
            view = connect()
            if left is None:
                facts = view.stat()
                if facts is None:
                    raise SourceError("there is no such file", where=name, do="check the path")
                left = facts.size
            follower.attach(view)
            idle = 0
            while left and idle < _STEPS_WITHOUT_PROGRESS:
                idle += 1
                for event in follower.step():
                    if isinstance(event, Data):
                        idle = 0
                        backoff.succeeded()
                        data = event.data[:left]
                        left -= len(data)
                        yield data
                    elif event.kind != "appeared":
                        notes.append(event.text)
                    if not left:
                        break
            if left:
                notes.append(f"the file was cut while it was read; its last {left:,} bytes are missing")
            return
        except ConnectionLost as lost:
            wait_s = backoff.next_s()
            before = left is not None
            tried = backoff.failures
            if not before or not worth_retrying(
                lost, connected_before=before, failures=tried, most=_ATTEMPTS_WHILE_READING
            ):
                raise
            threading.Event().wait(wait_s)
        finally:
            if view is not None:
                view.close()
