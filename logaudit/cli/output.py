"""Puts a result where it was asked for: standard output, or a file that appears whole or not at all."""

from __future__ import annotations

import errno
import io
import os
import sys
import tempfile
from pathlib import Path

from logaudit.errors import OutputError

_ASCII = str.maketrans(
    {"−": "-", "×": "x", "…": "...", "─": "-", "–": "-", "“": '"', "”": '"', "≈": "~", "·": "-", "→": "->", "’": "'"}
)


def check_target(path: Path, *, force: bool) -> None:
    """Refuse early what `write_file` would refuse: an existing file without `force`, a folder, a missing folder."""
    try:
        if path.is_dir():
            raise OutputError("is a folder", where=str(path), do="name a file in it")
        if path.exists() and path.is_file() and not force:
            raise OutputError("exists already", where=str(path), do="--force replaces it")
        if not path.parent.is_dir():
            raise OutputError("the folder does not exist", where=str(path.parent), do="make it first")
    except OSError as problem:
        # A name that is too long, or a folder that may not be looked into.
        raise OutputError(_reason(problem), where=str(path), do=_advice(problem)) from None


def write_file(path: Path, data: bytes, *, force: bool) -> None:
    """Write `data` to `path` in one step; a file that is there stays as it was when anything fails.

    Raises OutputError: the file exists and `force` is not set, the folder is missing, the disk is full, no permission.
    """
    check_target(path, force=force)
    try:
        if path.exists() and not path.is_file():
            # A device or a pipe has no content to protect, and cannot be renamed over.
            with path.open("wb") as stream:
                stream.write(data)
            return
        _replace(Path(os.path.realpath(path)), data, force=force)
    except BrokenPipeError:
        raise
    except FileExistsError:
        raise OutputError("exists already", where=str(path), do="--force replaces it") from None
    except OSError as problem:
        raise OutputError(_reason(problem), where=str(path), do=_advice(problem)) from None


def _replace(path: Path, data: bytes, *, force: bool) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, mode_of(path))
        if force:
            os.replace(name, path)
        else:
            _link(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _link(name: str, path: Path) -> None:
    """Give the finished file its name unless somebody else took it meanwhile."""
    try:
        os.link(name, path)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links: the check before is all there is.
        if path.exists():
            raise FileExistsError(str(path)) from None
        os.replace(name, path)
        return
    os.unlink(name)


def mode_of(path: Path) -> int:
    """The mode of the file that is replaced, or what a new file gets."""
    try:
        return path.stat().st_mode & 0o777
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def write_standard_output(text: str) -> None:
    """Print text, signs that the terminal's encoding lacks in a plain form. Raises OutputError."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        data = text.encode(encoding)
    except UnicodeEncodeError:
        data = text.translate(_ASCII).encode(encoding, "replace")
    write_standard_bytes(data)


def write_standard_bytes(data: bytes) -> None:
    """Bytes to standard output as they are. Raises OutputError when it cannot be written."""
    try:
        sys.stdout.flush()
        stream = getattr(sys.stdout, "buffer", None)
        if stream is None:
            sys.stdout.write(data.decode("utf-8", "replace"))
        else:
            stream.write(data)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as problem:
        raise OutputError(_reason(problem), where="standard output", do=_advice(problem)) from None


def _reason(problem: OSError) -> str:
    if isinstance(problem, io.UnsupportedOperation):
        return "is closed"
    return f"cannot be written: {(problem.strerror or str(problem)).lower()}"


def _advice(problem: OSError) -> str:
    if problem.errno in (errno.ENOSPC, errno.EDQUOT):
        return "free some space, or choose another place with -o"
    if problem.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "choose another place with -o"
    return ""
