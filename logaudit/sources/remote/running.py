"""A command that prints a log, on this machine or on another, ended together with the program."""

from __future__ import annotations

import os
from collections.abc import Sequence

from logaudit.errors import SourceError
from logaudit.sources.remote.child import Child
from logaudit.sources.remote.diagnosis import clean
from logaudit.sources.remote.host import Host
from logaudit.sources.remote.shell import FarShell, quote

# The far command ends when our end of its standard input does: ssh tells it nothing else when it dies.
_WITH_LIFELINE = (
    b"{ { %s; } 2>&1 3<&- & la_p=$!; { read -r la_x; kill $la_p; } <&3 >/dev/null 2>&1 & la_w=$!; "
    b"wait $la_p; la_s=$?; kill $la_w 2>/dev/null; echo; echo %s $la_s; exit; } 3<&0 </dev/null\n"
)


class Running:
    """The output of a command, standard error mixed in as the log's own clients leave it to the terminal."""

    def __init__(self, argv: Sequence[bytes], host: Host | None) -> None:
        """Start `argv` here, or on `host` with every word quoted. Raises SourceError and ConnectionLost."""
        self.status: int | None = None
        """Exit status, once the output ended."""
        self._far: FarShell | None = None
        self._child: Child | None = None
        self._end = b""
        self._held = b""
        if host is None:
            self._child = Child(argv, merge_stderr=True)
            self._child.close_stdin()
        else:
            self._far = FarShell(host)
            self._end = b"\n" + os.urandom(16).hex().encode() + b" "
            words = b"exec " + b" ".join(quote(word) for word in argv)
            self._far.send(_WITH_LIFELINE % (words, self._end.strip()))

    def read(self, timeout_s: float | None) -> bytes | None:
        """Some output; b"" at its end, None when nothing came for `timeout_s`. Raises ConnectionLost."""
        if self._child is not None:
            data = self._child.read(1 << 16, timeout_s)
            if data == b"":
                self.status = self._child.wait(10.0)
            return data
        if self._far is None or self.status is not None:
            return b""
        return self._read_far(self._far, timeout_s)

    def _read_far(self, far: FarShell, timeout_s: float | None) -> bytes | None:
        """Output up to the line that says how the command ended; what may be the start of that line is held back."""
        while True:
            data = far.receive(timeout_s)
            if data is None:
                return None
            self._held += data
            at = self._held.find(self._end)
            if at >= 0 and b"\n" in self._held[at + 1 :]:
                self.status = int(self._held[at + len(self._end) :].split(b"\n")[0])
                data, self._held = self._held[:at], b""
                return data
            keep = at if at >= 0 else self._held.rfind(b"\n", -len(self._end))
            keep = len(self._held) if keep < 0 else keep
            data, self._held = self._held[:keep], self._held[keep:]
            if data:
                return data

    def stop(self) -> None:
        """End it."""
        if self._child is not None:
            self._child.stop()
        if self._far is not None:
            self._far.close()


def failure(name: str, status: int | None, output: bytes, program: str) -> SourceError:
    """What a command's last words mean for the user."""
    lines = [line for line in output.decode("utf-8", "replace").splitlines() if line.strip()]
    said = clean(lines[-1]) if lines else f"{program} ended with status {status} and said nothing"
    if status == 127:
        return SourceError(f"{program} is not installed there: {said}", where=name, do=f"install {program} there")
    low = said.lower()
    if "permission denied" in low or "forbidden" in low:
        return SourceError(said, where=name, do=f"run {program} there as a user who may")
    if "no such container" in low or "notfound" in low.replace(" ", "") or "not found" in low:
        return SourceError(said, where=name, do="check the name")
    return SourceError(said, where=name, do=f"see what {program} says there by hand")
