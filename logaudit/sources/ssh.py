"""Logs on machines that one reaches over SSH."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import quote as percent_encode

from logaudit.errors import SourceError
from logaudit.sources.compressed import MAGIC_BYTES, Damage, decompress, recognise
from logaudit.sources.follow import BLOCK_BYTES, FINGERPRINT_BYTES, Position
from logaudit.sources.interface import Region, Source
from logaudit.sources.remote import grep
from logaudit.sources.remote.diagnosis import ConnectionLost
from logaudit.sources.remote.far_view import FarView
from logaudit.sources.remote.host import Host, split_url
from logaudit.sources.remote.reach import NEAR, Reach
from logaudit.sources.remote.reconnect import read_once
from logaudit.sources.remote.shell import FarShell, LineTooLong, quote
from logaudit.sources.text import sniff_encoding

NO_SUCH_FILE = "there is no such file"
SMALL_BYTES = 1 << 20
"""A file of at most this size is sent whole."""
_ATTEMPTS = 5


def open_argument(argument: str, reach: Reach = NEAR) -> list[Source]:
    """The log that `ssh://[user@]host[:port]/absolute/path` names; raises SourceError."""
    host, path = split_url(argument, reach.ssh_options)
    return [SshFile(host, path, reach.remote_filter)]


@dataclass(slots=True)
class SshFile:
    """One file on another machine, plain or compressed."""

    host: Host
    path: bytes
    remote_filter: bool = True
    notes: list[str] = field(default_factory=list)
    """What happened while it was read."""
    received_bytes: int = 0
    """Bytes that came over the connection for `regions`."""
    reached: Position | None = None
    """Where the last of `regions` ends: from there the file can be followed."""

    @property
    def name(self) -> str:
        shown = percent_encode(self.path, safe="/:~@!$&'()*+,;=?# -._")
        return f"ssh://{self.host}{shown if shown.startswith('/') else '/./' + shown}"

    def view(self) -> FarView:
        """A connection for following the file. Raises ConnectionLost."""
        return FarView(self.host, self.path)

    def blocks(self) -> Iterator[bytes]:
        raw = read_once(self.view, self.name, self.notes)
        head = b""
        for block in raw:
            head += block
            if len(head) >= MAGIC_BYTES:
                break
        blocks = itertools.chain((head,), raw) if head else raw
        compression = recognise(head)
        if compression is None:
            yield from blocks
            return
        given = False
        try:
            for block in decompress(compression, blocks):
                given = True
                yield block
        except Damage as damage:
            if not given:
                raise SourceError(str(damage), where=self.name, do="check the file over there") from damage
            self.notes.append(f"{damage}; what came before it was read")

    def regions(self, anchors: tuple[bytes, ...]) -> Iterator[Region] | None:
        """What the far `grep` lets through; None where the file is small or no plain text, or `grep` cannot do it."""
        if not self.remote_filter or not anchors or any(b"\n" in anchor or not anchor for anchor in anchors):
            return None
        gathering = grep.Gathering(anchors)
        for attempt in itertools.count(1):
            try:
                with contextlib.closing(self.view()) as view:
                    try:
                        return self._filtered(view.shell, gathering)
                    finally:
                        self.received_bytes += view.shell.received_bytes
            except (grep.FilterGivesUp, LineTooLong):
                return None
            except ConnectionLost as lost:
                if not gathering.pieces or not lost.diagnosis.retry or attempt >= _ATTEMPTS:
                    raise
        return None

    def _filtered(self, shell: FarShell, gathering: grep.Gathering) -> Iterator[Region] | None:
        facts = shell.stat(self.path)
        if facts is None:
            raise SourceError(NO_SUCH_FILE, where=self.name, do="check the path")
        if facts.size <= SMALL_BYTES or not self._is_plain(shell) or not grep.usable(shell):
            return None
        for line in grep.search(shell, self.path, gathering.anchors, gathering.start(), facts.size):
            gathering.take(line)

        def read(begin: int, end: int) -> bytes:
            return grep.aligned(shell, self.path, begin, end)

        def count_lines(begin: int, end: int) -> int:
            command = b"tail -c +%d <%s | head -c %d | wc -l" % (begin + 1, quote(self.path), end - begin)
            return int(b"".join(shell.lines_of(command)) or b"0")

        regions = gathering.widen(read, facts.size, count_lines)
        after = shell.stat(self.path)
        if after is None or after.identity != facts.identity or after.size < facts.size:
            # It was rotated meanwhile: what was fetched may belong to two files.
            return None
        tail = read(max(0, facts.size - FINGERPRINT_BYTES), facts.size)
        self.reached = Position(facts.identity, facts.size, tail)
        return iter(regions)

    def _is_plain(self, shell: FarShell) -> bool:
        head, _ = shell.read(self.path, 0, BLOCK_BYTES)
        return recognise(head) is None and sniff_encoding(head).startswith("utf-8") and bool(head.strip(b"\0"))
