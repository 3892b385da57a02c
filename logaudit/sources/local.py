"""Logs on this machine: files, directories, globs and standard input."""

from __future__ import annotations

import glob
import itertools
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from logaudit.errors import SourceError
from logaudit.sources.compressed import COMPRESSIONS, MAGIC_BYTES, Damage, decompress, recognise
from logaudit.sources.interface import Extent, Source
from logaudit.sources.text import looks_binary

READ_BYTES = 1 << 20
"""How much is read at once."""

_SNIFF_BYTES = 1 << 16
_LOG_WORDS = ("log", "out", "err", "stdout", "stderr", "txt", "json", "jsonl", "ndjson", "ipynb", "md", "journal")
_COMPRESSED_ENDINGS = ("gz", "zst", "zstd", "xz", "bz2")


def open_argument(argument: str) -> list[Source]:
    """The files that a path, a directory, a glob, a `file://` address or `-` names; raises SourceError."""
    if argument == "-":
        return [StandardInput()]
    if not argument:
        # An unset variable of a script, which would otherwise read the current folder.
        raise SourceError("the name of a log is empty", do="give a path, a directory, a glob or - for standard input")
    if argument.startswith("file://"):
        argument = unquote(urlsplit(argument).path)
    path = Path(argument)
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return _open_glob(argument)
    except OSError as error:
        raise _read_error(argument, error) from error
    if stat.S_ISDIR(mode):
        return _open_directory(path)
    return [LocalFile(argument)]


def _open_glob(argument: str) -> list[Source]:
    if not glob.has_magic(argument):
        raise SourceError("there is no such file", where=argument, do="check the path")
    paths = [Path(match) for match in sorted(glob.glob(argument, recursive=True))]
    files = [path for path in paths if path.is_file()]
    if files:
        return [LocalFile(str(path)) for path in files]
    directories = [path for path in paths if path.is_dir()]
    if not directories:
        raise SourceError("no file matches this pattern", where=argument, do="check the pattern")
    return list(itertools.chain.from_iterable(_open_directory(path) for path in directories))


def _open_directory(directory: Path) -> list[Source]:
    files: list[Path] = []
    for folder, subfolders, names in os.walk(directory, onerror=_raise_unreadable):
        subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
        files += [Path(folder, name) for name in names if not name.startswith(".")]
    logs = [path for path in sorted(files) if _looks_like_log(path)]
    if not logs:
        raise SourceError("no logs in this directory", where=str(directory), do="name the files themselves")
    return [LocalFile(str(path)) for path in logs]


def _raise_unreadable(error: OSError) -> None:
    raise _read_error(str(error.filename), error)


def _looks_like_log(path: Path) -> bool:
    """By name where the name says so, else by content (text, or compressed data without a telling name)."""
    try:
        if not path.is_file() or path.stat().st_size == 0:
            return False
        words = path.name.lower().split(".")[1:] or [path.name.lower()]
        while words and (words[-1].isdigit() or words[-1] in _COMPRESSED_ENDINGS):
            words.pop()
        with path.open("rb") as file:
            head = file.read(_SNIFF_BYTES)
    except OSError:
        return True
    named_otherwise = bool(words) and len(path.suffixes) > 0 and not any(_is_log_word(word) for word in words)
    return not named_otherwise and (recognise(head) is not None or not looks_binary(head))


def _is_log_word(word: str) -> bool:
    return word in _LOG_WORDS or "log" in word or not word.isalpha()


def _read_error(path: str, error: OSError) -> SourceError:
    if isinstance(error, FileNotFoundError):
        return SourceError("there is no such file", where=path, do="check the path")
    if isinstance(error, PermissionError):
        return SourceError("permission denied", where=path, do="read it as a user who may")
    return SourceError(f"cannot be read: {error.strerror or error}", where=path, do="check the file and its disk")


@dataclass(slots=True)
class LocalFile:
    """One file, plain or compressed; a pipe or a device is read in order."""

    path: str
    notes: list[str] = field(default_factory=list)
    """What happened while it was read; complete once `blocks` has ended."""

    @property
    def name(self) -> str:
        return self.path

    def blocks(self) -> Iterator[bytes]:
        try:
            with open(self.path, "rb", buffering=0) as file:
                status = os.fstat(file.fileno())
                raw = _read_in_order(file.fileno(), status.st_size if stat.S_ISREG(status.st_mode) else None)
                yield from _content(raw, self.path, self.notes)
                if stat.S_ISREG(status.st_mode):
                    self._note_growth(status.st_size, os.fstat(file.fileno()).st_size)
        except OSError as error:
            raise _read_error(self.path, error) from error

    def extent(self) -> Extent | None:
        """The plain file's bytes as of now; None for a pipe or a compressed file."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            raise _read_error(self.path, error) from error
        status = os.fstat(descriptor)
        try:
            if stat.S_ISREG(status.st_mode) and recognise(os.pread(descriptor, MAGIC_BYTES, 0)) is None:
                return FileExtent(self, descriptor, status.st_size)
        except OSError as error:
            os.close(descriptor)
            raise _read_error(self.path, error) from error
        os.close(descriptor)
        return None

    def _note_growth(self, opened_bytes: int, now_bytes: int) -> None:
        if now_bytes > opened_bytes:
            self.notes.append(f"the file grew while it was read; its first {opened_bytes:,} bytes were read")
        elif now_bytes < opened_bytes:
            self.notes.append("the file was cut while it was read")


@dataclass(slots=True)
class FileExtent:
    """A plain file at the size that it had when it was opened."""

    _file: LocalFile
    _descriptor: int
    size_bytes: int

    def read_into(self, buffer: memoryview, offset: int) -> int:
        wanted = min(len(buffer), self.size_bytes - offset)
        got = 0
        try:
            while got < wanted:
                step = os.preadv(self._descriptor, [buffer[got:wanted]], offset + got)
                if not step:
                    break
                got += step
        except OSError as error:
            raise _read_error(self._file.path, error) from error
        return got

    def close(self) -> None:
        self._file._note_growth(self.size_bytes, os.fstat(self._descriptor).st_size)
        os.close(self._descriptor)


@dataclass(slots=True)
class StandardInput:
    """What is piped into the program, plain or compressed."""

    notes: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return "standard input"

    def blocks(self) -> Iterator[bytes]:
        if sys.stdin is None or sys.stdin.closed:
            raise SourceError("standard input is closed", do="pipe a log into the program or give a path")
        if sys.stdin.isatty():
            raise SourceError("standard input is a terminal", do="pipe a log into the program or give a path")
        try:
            yield from _content(_read_in_order(sys.stdin.fileno(), None), self.name, self.notes)
        except OSError as error:
            raise _read_error(self.name, error) from error


def _read_in_order(descriptor: int, limit_bytes: int | None) -> Iterator[bytes]:
    left = limit_bytes
    while left is None or left > 0:
        block = os.read(descriptor, READ_BYTES if left is None else min(READ_BYTES, left))
        if not block:
            return
        if left is not None:
            left -= len(block)
        yield block


def _content(raw: Iterator[bytes], name: str, notes: list[str]) -> Iterator[bytes]:
    head = b""
    for block in raw:
        head += block
        if len(head) >= MAGIC_BYTES:
            break
    blocks = itertools.chain((head,), raw) if head else iter(())
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
            raise SourceError(str(damage), where=name, do="copy the file again") from damage
        notes.append(f"{damage}; what came before it was read")


def compressions() -> Sequence[str]:
    """Names of the kinds of compression that are recognised."""
    return [compression.name for compression in COMPRESSIONS]
