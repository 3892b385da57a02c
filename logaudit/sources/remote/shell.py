"""A POSIX shell on another machine that is sent small commands and answers in frames of known length."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator

from logaudit.errors import SourceError
from logaudit.sources.follow import BLOCK_BYTES, LARGE_BLOCK_BYTES, FileStat
from logaudit.sources.remote.diagnosis import ConnectionLost, Diagnosis, clean, diagnose
from logaudit.sources.remote.host import Host

_LINE_LIMIT_BYTES = 1 << 16
_GREETING_LIMIT_BYTES = 1 << 20
_SEARCH_SILENCE_S = 3600.0

# Nothing in here depends on an argument. Requests are calls of these functions with quoted words.
_PRELUDE = rb"""
LC_ALL=C; export LC_ALL
if stat -L -c %i / >/dev/null 2>&1; then
  la_stat() { stat -L -c '%d %i %s %Y' -- "$1"; }
  la_stats() { stat -L -c '%d %i %s %Y %n' -- "$@"; }
elif stat -L -f %i / >/dev/null 2>&1; then
  la_stat() { stat -L -f '%d %i %z %m' -- "$1"; }
  la_stats() { stat -L -f '%d %i %z %m %N' -- "$@"; }
else
  la_stat() {
    la_ls=`ls -Ldin -- "$1"` || return 1
    set -f; set -- $la_ls; set +f
    echo "0 $1 $6 0"
  }
  la_stats() { for la_f in "$@"; do la_now=`la_stat "$la_f"` && printf '%s %s\n' "$la_now" "$la_f"; done; }
fi
la_first() { printf '%s\n' "$1" | head -n 1; }
la_about() {
  if la_now=`la_stat "$1" 2>&1`; then
    if [ -f "$1" ]; then echo "S $la_now"
    elif [ -d "$1" ]; then echo 'X Is a directory'
    else echo 'X Not a regular file'; fi
  else printf 'X '; la_first "$la_now"; fi
}
la_open() {
  if la_why=`{ : <"$1"; } 2>&1`; then return 0; fi
  printf 'X '; la_first "$la_why"; return 1
}
la_read() {
  if [ -f "$1" ]; then la_open "$1" || return; else la_about "$1"; return; fi
  echo "D $5"
  { dd bs="$2" skip="$3" count="$4" <"$1"; cat /dev/zero; } 2>/dev/null | head -c "$5"
  echo; la_about "$1"
}
la_pin() {
  if [ ! -f "$1" ]; then la_about "$1"; return; fi
  la_open "$1" || return
  if command exec 4<"$1"; then la_about "/proc/$$/fd/4"; else echo 'X No such file or directory'; fi
}
la_beside() {
  la_path=$1; shift $#
  for la_f in "$la_path".* "$la_path"-*; do
    [ -f "$la_f" ] || continue
    case ${la_f#"$la_path"} in *"$la_newline"*) continue;; esac
    set -- "$@" "$la_f"
  done
  case $la_path in
    *"$la_newline"*)
      for la_f in "$@"; do
        la_now=`la_stat "$la_f" 2>/dev/null` && printf '%s %s\n' "$la_now" "${la_f#"$la_path"}"
      done;;
    *) [ $# = 0 ] || la_stats "$@" 2>/dev/null;;
  esac
  echo .
}
la_newline='
'
"""


def quote(word: bytes) -> bytes:
    """`word` as one literal word of a POSIX shell; raises SourceError for a NUL byte, which no word can hold."""
    if b"\0" in word:
        raise SourceError("a path or name cannot hold a NUL byte")
    return b"'" + word.replace(b"'", b"'\\''") + b"'"


class LineTooLong(Exception):
    """A command printed a line that is longer than anybody wants to hold."""


class FarShell:
    """A connection with a shell at its other end. Every call raises ConnectionLost when the connection is gone."""

    def __init__(self, host: Host, *, silence_s: float = 60.0) -> None:
        """Connect; after `silence_s` without the next byte of an answer the connection counts as dead."""
        self.host = host
        self.silence_s = silence_s
        self.received_bytes = 0
        """Bytes that came over the connection so far."""
        self.answered = False
        self.status = 0
        """Exit status of the last command of `lines_of`."""
        self._buffer = bytearray()
        self._child = host.shell()
        self._nonce = secrets.token_hex(16).encode()
        hello = b"if [ -r /proc/$$/fd/0 ]; then la_pins=1; else la_pins=0; fi\n"
        hello += b"echo; echo " + self._nonce + b" $$ $la_pins\n"
        try:
            self._send(_PRELUDE + hello)
            pid, pins = self._greeting()
        except BaseException:
            self.close()
            raise
        self.answered = True
        self.pinned_name = b"/proc/" + pid + b"/fd/4" if pins == b"1" else None
        """Path over there of the file that `pin` holds open; None where there is no /proc."""

    def close(self) -> None:
        """End the connection."""
        self._child.stop()

    def __enter__(self) -> FarShell:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def stat(self, path: bytes) -> FileStat | None:
        """Facts about the file, None when there is none; raises SourceError when it is no file or may not be read."""
        self._send(b"la_about " + quote(path) + b"\n")
        return self._stat_answer(path)

    def pin(self, path: bytes) -> FileStat | None:
        """Hold the file open over there under `pinned_name`, so that it can be read to its end after it was renamed."""
        self._send(b"la_pin " + quote(path) + b"\n")
        return self._stat_answer(path)

    def beside(self, path: bytes) -> list[tuple[bytes, FileStat]]:
        """Files whose names are the path with `.` or `-` and something after it."""
        self._send(b"la_beside " + quote(path) + b"\n")
        found = []
        while (line := self._line()) != b".":
            *numbers, name = line.split(b" ", 4)
            device, inode, size, modified = map(int, numbers)
            found.append((path + name.removeprefix(path), FileStat(device, inode, size, modified)))
        return found

    def read(self, path: bytes, offset: int, size: int) -> tuple[bytes, FileStat | None]:
        """`size` bytes from `offset` (a multiple of BLOCK_BYTES), and the file's facts right after.

        Where the file ends before, the rest is zeros: the facts tell. (b"", None) when there is no file.
        """
        self.ask_read(path, offset, size)
        return self.read_answer(path)

    def ask_read(self, path: bytes, offset: int, size: int) -> None:
        """Send the request of `read`; its answer is fetched with `read_answer`, several may be on their way."""
        block = LARGE_BLOCK_BYTES if offset % LARGE_BLOCK_BYTES == 0 else BLOCK_BYTES
        numbers = b" %d %d %d %d" % (block, offset // block, -(-size // block), size)
        self._send(b"la_read " + quote(path) + numbers + b"\n")

    def read_answer(self, path: bytes) -> tuple[bytes, FileStat | None]:
        """The answer to the oldest `ask_read` not yet answered."""
        line = self._line()
        if not line.startswith(b"D "):
            self._stat_of(line, path)
            return b"", None
        data = self._exactly(int(line[2:]))
        self._line()
        return data, self._stat_answer(path)

    def lines_of(self, command: bytes, most_bytes: int = 16 << 20) -> Iterator[bytes]:
        """Run a command line (already quoted) and give its output line by line; its exit status is then in `status`.

        Raises LineTooLong for a line of more than `most_bytes`; the shell is then of no use any more.
        """
        marker = secrets.token_hex(16).encode()
        self._send(b"{ " + command + b"; } </dev/null; echo; echo " + marker + b" $?\n")
        held: bytes | None = None
        while True:
            # A search may say nothing for long; that the host is gone the client notices by itself (ServerAlive…).
            line = self._line(limit=None, most=most_bytes, silence_s=_SEARCH_SILENCE_S)
            if line.startswith(marker):
                # The newline before the marker is ours: what stands before it is the output's unfinished last line.
                if held:
                    yield held
                self.status = int(line.split(b" ")[1])
                return
            if held is not None:
                yield held
            held = line

    def send(self, commands: bytes) -> None:
        """Give the shell command lines that answer in no frame; their output comes from `receive`."""
        self._send(commands)

    def receive(self, timeout_s: float | None) -> bytes | None:
        """Output as it came, never empty; None when nothing came for `timeout_s`."""
        if not self._buffer:
            chunk = self._child.read(1 << 18, timeout_s)
            if chunk is None:
                return None
            if not chunk:
                raise self._lost()
            self.received_bytes += len(chunk)
            return chunk
        data = bytes(self._buffer)
        self._buffer.clear()
        return data

    def _stat_answer(self, path: bytes) -> FileStat | None:
        return self._stat_of(self._line(), path)

    def _stat_of(self, line: bytes, path: bytes) -> FileStat | None:
        kind, _, rest = line.partition(b" ")
        if kind == b"S":
            device, inode, size, modified = (int(word) for word in rest.split()[:4])
            return FileStat(device, inode, size, modified)
        text = clean(rest.decode("utf-8", "replace"))
        if kind != b"X":
            raise self._lost(Diagnosis("network", "the far shell answered out of step", "try again", retry=True))
        low = text.lower()
        if any(words in low for words in ("no such file", "nonexistent", "not a directory")):
            return None
        where = f"{self.host}:{path.decode('utf-8', 'replace')}"
        if "permission denied" in low:
            raise SourceError("permission denied", where=where, do="log in as a user who may read it")
        raise SourceError(low or "cannot be read", where=where, do="name a file that can be read")

    def _send(self, request: bytes) -> None:
        if not self._child.write(request, self.silence_s):
            raise self._lost()

    def _greeting(self) -> tuple[bytes, bytes]:
        """Process id and /proc of the far shell; what login scripts print before it is passed over."""
        seen = 0
        deadline = time.monotonic() + 4 * self.silence_s
        while seen < _GREETING_LIMIT_BYTES and time.monotonic() < deadline:
            # Somebody may be typing a passphrase: the client's own ConnectTimeout watches over the rest.
            line = self._line(limit=_GREETING_LIMIT_BYTES, silence_s=4 * self.silence_s)
            seen += len(line)
            words = line.split(b" ")
            if words[0] == self._nonce and len(words) == 3:
                return words[1], words[2]
        advice = f"see what `ssh {self.host.command_line} sh` does"
        raise self._lost(Diagnosis("command", "no POSIX shell answered", advice, retry=False))

    def _line(
        self, limit: int | None = _LINE_LIMIT_BYTES, silence_s: float | None = None, most: int | None = None
    ) -> bytes:
        start = 0
        while (end := self._buffer.find(b"\n", start)) < 0:
            start = len(self._buffer)
            if limit is not None and start > limit:
                raise self._lost(Diagnosis("network", "the far shell answered out of step", "try again", retry=True))
            if most is not None and start > most:
                self.close()
                raise LineTooLong
            self._more(silence_s)
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line

    def _exactly(self, size: int) -> bytes:
        while len(self._buffer) < size:
            self._more()
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    def _more(self, silence_s: float | None = None) -> None:
        chunk = self._child.read(1 << 18, silence_s or self.silence_s)
        if not chunk:
            raise self._lost(None if chunk == b"" else self._silent())
        self.received_bytes += len(chunk)
        self._buffer += chunk

    def _silent(self) -> Diagnosis:
        return Diagnosis("network", f"no answer for {self.silence_s:.0f} s", "check the way to the host", retry=True)

    def _lost(self, diagnosis: Diagnosis | None = None) -> ConnectionLost:
        if diagnosis is None:
            status = self._child.wait(3.0)
            self._child.stop()
            diagnosis = diagnose(
                self._child.stderr_text(),
                status,
                self.host.command_line,
                answered=self.answered,
                known_as=self.host.known_as,
            )
        else:
            self._child.stop()
        return ConnectionLost(diagnosis, str(self.host))
