"""A file on another machine as a follower sees it."""

from __future__ import annotations

from logaudit.sources.follow import FileStat
from logaudit.sources.remote.host import Host
from logaudit.sources.remote.shell import FarShell


class FarView:
    """One connection and one path; every call raises ConnectionLost once the connection is gone."""

    def __init__(self, host: Host, path: bytes, *, silence_s: float = 60.0) -> None:
        self.shell = FarShell(host, silence_s=silence_s)
        self._path = path
        self._holds = False

    def path(self) -> bytes:
        return self._path

    def stat(self) -> FileStat | None:
        return self.shell.stat(self._path)

    def pin(self) -> FileStat | None:
        if self.shell.pinned_name is None:
            return None
        facts = self.shell.pin(self._path)
        self._holds = facts is not None
        return facts

    def pinned(self) -> FileStat | None:
        if not self._holds or self.shell.pinned_name is None:
            return None
        return self.shell.stat(self.shell.pinned_name)

    def read(self, name: bytes | None, offset: int, size: int) -> tuple[bytes, FileStat | None]:
        return self.shell.read(name or self.shell.pinned_name or self._path, offset, size)

    def beside(self) -> list[tuple[bytes, FileStat]]:
        return self.shell.beside(self._path)

    def close(self) -> None:
        self.shell.close()
