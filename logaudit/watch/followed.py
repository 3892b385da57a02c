"""Sources that can be followed, and the thread that follows one."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from logaudit.errors import SourceError
from logaudit.sources.command import CommandLog
from logaudit.sources.compressed import recognise
from logaudit.sources.follow import Data, Event, FileView, LocalView, Note
from logaudit.sources.interface import Region, Source
from logaudit.sources.local import LocalFile
from logaudit.sources.remote.diagnosis import ConnectionLost
from logaudit.sources.remote.reconnect import follow
from logaudit.sources.ssh import NO_SUCH_FILE, SshFile

_QUEUED = 64
"""Events that may wait: what bounds memory when reading is faster than looking."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A source that cannot be followed any further."""

    error: Exception


Arrival = tuple[int, Event | Region | Failed]
"""Which source, and what came from it."""


def followable(source: Source, anchors: tuple[bytes, ...]) -> Callable[[threading.Event], Iterator[Event | Region]]:
    """How to follow a source until an event is set: what it holds now, then what is added."""
    if isinstance(source, CommandLog):
        return source.follow
    if isinstance(source, SshFile):
        return lambda stop: _from_afar(source, anchors, stop)
    if isinstance(source, LocalFile):
        return lambda stop: _uncompressed(follow(_local(source.path), stop, poll_s=0.5), source.name)
    return lambda stop: _once(source, stop)


def start(
    index: int, source: Source, anchors: tuple[bytes, ...], arrivals: queue.Queue[Arrival], stop: threading.Event
) -> threading.Thread:
    """Follow a source in a thread of its own, which puts what comes into `arrivals`."""
    events = followable(source, anchors)

    def run() -> None:
        try:
            for event in events(stop):
                _put(arrivals, (index, event), stop)
        except Exception as error:
            _put(arrivals, (index, Failed(error)), stop)

    thread = threading.Thread(target=run, name=f"follow {source.name}", daemon=True)
    thread.start()
    return thread


def new_arrivals() -> queue.Queue[Arrival]:
    """The queue between the threads and whoever looks."""
    return queue.Queue(_QUEUED)


def _put(arrivals: queue.Queue[Arrival], arrival: Arrival, stop: threading.Event) -> None:
    while not stop.is_set():
        try:
            arrivals.put(arrival, timeout=0.2)
            return
        except queue.Full:
            continue


def _local(path: str) -> Callable[[], FileView]:
    return lambda: LocalView(path)


def _from_afar(source: SshFile, anchors: tuple[bytes, ...], stop: threading.Event) -> Iterator[Event | Region]:
    """Of what is there already only what may matter is sent, where the far side can pick it out."""
    try:
        yield from source.regions(anchors) or ()
    except ConnectionLost as lost:
        if not lost.diagnosis.retry:
            raise
    except SourceError as error:
        # It may appear yet.
        if error.what != NO_SUCH_FILE:
            raise
    yield from _uncompressed(follow(source.view, stop, start=source.reached), source.name)


def _uncompressed(events: Iterator[Event], name: str) -> Iterator[Event]:
    head = b""
    for event in events:
        if isinstance(event, Data) and len(head) < 6:
            head += event.data[:6]
            if recognise(head) is not None:
                raise SourceError("a compressed file does not grow", where=name, do="use `logaudit report`")
        yield event


def _once(source: Source, stop: threading.Event) -> Iterator[Event]:
    """A source that ends, standard input for one."""
    for block in source.blocks():
        if stop.is_set():
            return
        yield Data(block)
    yield Note("ended", "the input ended")
