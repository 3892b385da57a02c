"""Logs of systemd units, through `journalctl`."""

from __future__ import annotations

import json
from dataclasses import dataclass

from logaudit.sources.command import CommandLog, Resume, checked_name
from logaudit.sources.interface import Source
from logaudit.sources.remote.reach import NEAR, Reach

# --all: without it long fields (an argument dump) and colours are left out.
_COMMON = (b"--all", b"--no-pager", b"--quiet")


def open_argument(argument: str, reach: Reach = NEAR) -> list[Source]:
    """The log of the unit `journal:UNIT`; raises SourceError."""
    unit = checked_name(argument.removeprefix("journal:"), argument, "journal:UNIT")
    argv = (b"journalctl", b"--unit=" + unit, *_COMMON, b"--output=cat")
    return [JournalLog(argument, argv, reach.host(), unit=unit)]


@dataclass(slots=True)
class JournalLog(CommandLog):
    """What one unit wrote to the journal: messages only, their own times are in them."""

    unit: bytes = b""

    def new_resume(self) -> Resume:
        return ByCursor()

    def follow_command(self, resume: Resume) -> tuple[bytes, ...]:
        cursor = resume.cursor if isinstance(resume, ByCursor) else b""
        start = (b"--after-cursor=" + cursor,) if cursor else (b"--lines=all",)
        options = (b"--output=json", b"--output-fields=MESSAGE", b"--follow", *start)
        return (b"journalctl", b"--unit=" + self.unit, *_COMMON, *options)


class ByCursor(Resume):
    """The journal numbers its entries: after a break it is asked for those after the last."""

    def __init__(self) -> None:
        self.cursor = b""
        """Of the last entry handed on."""
        self._rest = b""

    def begin(self) -> None:
        self._rest = b""

    def take(self, data: bytes) -> bytes:
        *lines, self._rest = (self._rest + data).split(b"\n")
        return b"".join(self._message(line) for line in lines if line)

    def _message(self, line: bytes) -> bytes:
        try:
            entry = json.loads(line)
            message, cursor = entry.get("MESSAGE"), entry.get("__CURSOR")
        except (ValueError, AttributeError, RecursionError):
            # Not an entry: journalctl's own complaint.
            return line + b"\n"
        if isinstance(cursor, str):
            self.cursor = cursor.encode()
        if isinstance(message, list):
            return bytes(code for code in message if isinstance(code, int) and 0 <= code < 256) + b"\n"
        return (message.encode("utf-8", "surrogateescape") if isinstance(message, str) else b"") + b"\n"
