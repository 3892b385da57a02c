"""A child process that never outlives the program."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from typing import IO, cast

from logaudit.errors import SourceError

_PR_SET_PDEATHSIG = 1
_STDERR_KEPT_BYTES = 8192
_LIVING: weakref.WeakSet[Child] = weakref.WeakSet()


def _load_prctl() -> ctypes._FuncPointer | None:
    """Linux's prctl, loaded before any fork so that the child only calls it."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        return ctypes.CDLL(None).prctl
    except (OSError, AttributeError):
        return None


_PRCTL = _load_prctl()


def has_terminal() -> bool:
    """Whether somebody is there to answer a prompt: a controlling terminal, and a standard stream on it."""
    if not any(os.isatty(fd) for fd in (0, 2)):
        return False
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


class Child:
    """One running command: argument list in, bytes out; its end is tied to ours.

    On Linux the kernel ends it with us; elsewhere its standard input closes with us, which ends the far shells that
    this package starts. Without a terminal it leads its own process group, so that its own children end with it.
    """

    def __init__(self, argv: Sequence[str | bytes], *, merge_stderr: bool = False) -> None:
        """Start `argv`; `merge_stderr` mixes its standard error into the output. Raises SourceError."""
        self.argv = argv
        self._grouped = not has_terminal()
        parent = os.getpid()

        # Between fork and exec only a function is called that was loaded before: safe with threads around.
        def tie_to_parent() -> None:
            if _PRCTL is not None:
                _PRCTL(_PR_SET_PDEATHSIG, signal.SIGTERM)
                if os.getppid() != parent:
                    os._exit(1)

        try:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if merge_stderr else subprocess.PIPE,
                bufsize=0,
                process_group=0 if self._grouped else None,
                preexec_fn=tie_to_parent,
            )
        except FileNotFoundError:
            name = os.fsdecode(argv[0])
            raise SourceError("no such program on the PATH", where=name, do="install it, or add it to PATH") from None
        except (OSError, subprocess.SubprocessError) as error:
            raise SourceError(f"cannot be started: {error}", where=os.fsdecode(argv[0])) from None
        self._stdin = cast(IO[bytes], self._process.stdin)
        self._stdout = cast(IO[bytes], self._process.stdout)
        self._head, self._tail = bytearray(), bytearray()
        self._drain: threading.Thread | None = None
        if self._process.stderr is not None:
            self._drain = threading.Thread(target=self._keep, args=(self._process.stderr,), daemon=True)
            self._drain.start()
        self._ready = selectors.DefaultSelector()
        self._ready.register(self._stdout, selectors.EVENT_READ)
        _LIVING.add(self)

    @property
    def pid(self) -> int:
        """Process id of the child."""
        return self._process.pid

    def write(self, data: bytes, timeout_s: float = 60.0) -> bool:
        """Give it `data` on standard input; False when it no longer reads."""
        fd = self._stdin.fileno()
        os.set_blocking(fd, False)
        view = memoryview(data)
        deadline = time.monotonic() + timeout_s
        while view:
            try:
                view = view[os.write(fd, view) :]
            except BlockingIOError:
                if time.monotonic() > deadline:
                    return False
                time.sleep(0.01)
            except (BrokenPipeError, OSError):
                return False
        return True

    def close_stdin(self) -> None:
        """Tell it that nothing more comes."""
        with contextlib.suppress(OSError):
            self._stdin.close()

    def read(self, size: int = 1 << 16, timeout_s: float | None = None) -> bytes | None:
        """Up to `size` bytes of output; b"" at its end, None when nothing came for `timeout_s`."""
        if not self._ready.select(timeout_s):
            return None
        try:
            return self._stdout.read(size) or b""
        except (OSError, ValueError):
            return b""

    def wait(self, timeout_s: float = 5.0) -> int | None:
        """Its exit status (negative: the signal that ended it), or None when it still runs."""
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def stderr_text(self, timeout_s: float = 1.0) -> str:
        """The first and last of what it complained, decoded; a helper that keeps the pipe open is not waited for."""
        if self._drain is not None:
            self._drain.join(timeout_s)
        middle = b"\n...\n" if self._tail else b""
        return bytes(self._head + middle + self._tail).decode("utf-8", "replace")

    def stop(self) -> None:
        """End it, and what it started where it leads a group; safe to call again."""
        self.close_stdin()
        if self._process.poll() is None:
            self._signal(signal.SIGTERM)
            if self.wait(2.0) is None:
                self._signal(signal.SIGKILL)
                self.wait(2.0)
        self._ready.close()
        with contextlib.suppress(OSError):
            self._stdout.close()
        _LIVING.discard(self)

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self._grouped:
                os.killpg(self._process.pid, number)
            else:
                self._process.send_signal(number)

    def _keep(self, stream: IO[bytes]) -> None:
        with contextlib.suppress(OSError, ValueError):
            while chunk := stream.read(4096):
                room = _STDERR_KEPT_BYTES - len(self._head)
                self._head += chunk[:room]
                self._tail += chunk[room:] if room < len(chunk) else b""
                del self._tail[:-_STDERR_KEPT_BYTES]
            stream.close()


@atexit.register
def _end_all() -> None:
    for child in list(_LIVING):
        child.stop()
