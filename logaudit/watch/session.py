"""One watch: takes what comes, holds it against the formula now and then, and knows when a start is over."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from logaudit.extract import all_extractors, anchors, extract
from logaudit.report.document import Document, LaunchDoc
from logaudit.scan.line import SourceLine
from logaudit.scan.unwrap import Unwrapper
from logaudit.sources.follow import Data, Event, Note
from logaudit.sources.interface import Region, Source
from logaudit.watch import followed
from logaudit.watch.keeper import Keeper, KeptLine
from logaudit.watch.progress import Bar, last_bar

Audit = Callable[[Sequence[Source]], Document]
"""Makes the document of what was kept."""

SETTLE_S = 2.0
"""How long a crash is left to say the rest: other ranks follow with tracebacks of their own."""
ENDED_S = 5.0
"""How long after a source's end the start counts as over."""
_AUDIT_EVERY_S = 0.5
_AUDIT_SHARE = 4.0
"""An audit is not repeated before this many times its own duration has passed."""
_DONE = ("ready", "crashed")


@dataclass
class SourceState:
    """What is known of one source."""

    name: str
    phase: str = "waiting"
    bar: Bar | None = None
    note: str = ""
    """The last thing that happened on the way to it."""
    ended: float | None = None
    current: bool = False
    """Whether all that was there when the watch began has been read."""


@dataclass
class State:
    """What a view shows."""

    began: float
    """Monotonic seconds."""
    sources: list[SourceState]
    document: Document | None = None
    """What is known of the current starts."""
    bars_seen: dict[str, Bar] = field(default_factory=dict)


class Session:
    """Follows sources until their starts are over; one at a time is `current`."""

    def __init__(self, sources: Sequence[Source], audit: Audit) -> None:
        self._sources = sources
        self._audit = audit
        self._anchors = tuple(anchor.encode() for anchor in anchors())
        self._keepers = [Keeper(source.name, self._anchors) for source in sources]
        self._unwrappers = [Unwrapper() for _ in sources]
        self._phases = {extractor.kind: extractor.phase for extractor in all_extractors()}
        self.state = State(time.monotonic(), [SourceState(source.name) for source in sources])
        self._arrivals = followed.new_arrivals()
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._audited_changes = -1
        self._audit_took_s = 0.0
        self._audited_at = 0.0
        self._last_data = time.monotonic()
        self._finished: set[tuple[int, int, str]] = set()

    def open(self) -> None:
        """Begin to follow. Raises SourceError."""
        for index, source in enumerate(self._sources):
            self._threads.append(followed.start(index, source, self._anchors, self._arrivals, self._stop))

    def close(self) -> None:
        """Stop following; connections and children are ended."""
        self._stop.set()
        for thread in self._threads:
            thread.join(5.0)

    def wait(self, seconds: float) -> None:
        """Take what comes for up to `seconds`. Raises what a source failed with."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            try:
                index, event = self._arrivals.get(timeout=left)
            except queue.Empty:
                return
            if isinstance(event, followed.Failed):
                raise event.error
            self._take(index, event)

    def update(self, *, force: bool = False) -> Document | None:
        """Bring the document up to date where something of interest came."""
        now = time.monotonic()
        changes = sum(keeper.changes for keeper in self._keepers)
        due = now - self._audited_at >= max(_AUDIT_EVERY_S, _AUDIT_SHARE * self._audit_took_s)
        if not force and (changes == self._audited_changes or not due):
            return self.state.document
        kept = [keeper.snapshot() for keeper in self._keepers]
        # A source of which nothing was kept yet stays in its place: launches name sources by number.
        if any(source.kept for source in kept):
            self.state.document = self._audit(kept)
        self._audited_changes, self._audited_at = changes, now
        self._audit_took_s = time.monotonic() - now
        self._forget_old_starts()
        return self.state.document

    def current(self) -> list[LaunchDoc]:
        """The last start of each source, without those that were already reported."""
        if self.state.document is None:
            return []
        last: dict[int, LaunchDoc] = {launch.source: launch for launch in self.state.document.launches}
        return [launch for launch in last.values() if self._key(launch) not in self._finished]

    def over(self) -> bool:
        """Whether every current start is ready, has crashed, or can say nothing more."""
        # What came since the last audit may be the beginning of another start.
        if sum(keeper.changes for keeper in self._keepers) != self._audited_changes:
            return False
        current = self.current()
        # Starts that are over may be followed by others in what was there already.
        if not current or not all(state.current for state in self.state.sources if state.phase != "waiting"):
            return False
        now = time.monotonic()
        ended = [state.ended is not None and now - state.ended > ENDED_S for state in self.state.sources]
        sources_with_start = {launch.source for launch in current}
        for launch in current:
            if launch.outcome not in _DONE and not ended[launch.source]:
                return False
        if any(launch.outcome == "crashed" for launch in current) and now - self._last_data < SETTLE_S:
            return False
        joined = any((launch.parallelism.nnodes or 1) > 1 for launch in current)
        silent = [i for i in range(len(self._sources)) if i not in sources_with_start and not ended[i]]
        return joined or not silent or any(self._reported(i) for i in silent)

    def report(self) -> Document | None:
        """The document of the current starts alone, which are then over."""
        document = self.update(force=True)
        current = self.current()
        if document is None or not current:
            return None
        self._finished.update(self._key(launch) for launch in current)
        return msgspec.structs.replace(document, launches=current)

    def _reported(self, index: int) -> bool:
        return any(source == index for source, _, _ in self._finished)

    @staticmethod
    def _key(launch: LaunchDoc) -> tuple[int, int, str]:
        # A start that was reported as ready and crashes later is worth another report.
        return launch.source, launch.lines.first, "crashed" if launch.outcome == "crashed" else "started"

    def _take(self, index: int, event: Event | Region) -> None:
        state = self.state.sources[index]
        if isinstance(event, Region):
            self._keepers[index].skip_to(event.number)
            event = Data(event.data)
        if isinstance(event, Note):
            state.note = "" if event.kind in ("appeared", "current", "reconnected") else event.text
            state.current = state.current or event.kind in ("current", "ended")
            if event.kind == "ended":
                state.ended = time.monotonic()
            return
        if isinstance(event, Data):
            self._last_data = time.monotonic()
            state.ended = None
            if state.phase == "waiting":
                state.phase = "launch"
            keeper = self._keepers[index]
            for line in keeper.feed(event.data):
                self._look_at(index, line)
            bar = last_bar(keeper.partial or event.data)
            if bar is not None:
                state.bar = bar

    def _look_at(self, index: int, line: KeptLine) -> None:
        """Which phase a line of interest belongs to."""
        number, data = line
        state = self.state.sources[index]
        bar = last_bar(data)
        if bar is not None:
            state.bar = bar
        for logical in self._unwrappers[index].feed(SourceLine(number, data.decode("utf-8", "replace").rstrip("\r\n"))):
            record = extract(logical)
            if record is not None and record.kind in self._phases:
                state.phase = self._phases[record.kind]

    def _forget_old_starts(self) -> None:
        """Only the last start of a source is kept, and the one before it: a later report compares with it."""
        if self.state.document is None:
            return
        firsts: dict[int, list[int]] = {}
        for launch in self.state.document.launches:
            firsts.setdefault(launch.source, []).append(launch.lines.first)
        for source, lines in firsts.items():
            if len(lines) > 2:
                self._keepers[source].forget_before(sorted(lines)[-2])
