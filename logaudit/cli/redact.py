"""`logaudit redact`: write a copy of a log without secrets, for a public bug report."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from logaudit.errors import LogauditError, OutputError

if TYPE_CHECKING:
    from logaudit.report.redact import Redactor


class Also(StrEnum):
    """What can be replaced besides secrets."""

    HOSTS = "hosts"
    PATHS = "paths"


RedactOption = Annotated[
    list[Also] | None,
    typer.Option(
        "--redact",
        help="Replace also: hosts (host names, IP addresses, user names, e-mail addresses), paths. May be given twice.",
        show_default=False,
    ),
]


def redact(
    log: Annotated[str, typer.Argument(metavar="LOG", help="The log: a path or - for standard input.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write to FILE, not to standard output.")
    ] = None,
    also: RedactOption = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing FILE.")] = False,
) -> int:
    """Write a copy of LOG in which secrets are replaced, and which gives the same report."""
    from logaudit.cli.output import check_target
    from logaudit.report.redact_log import redact_log

    if output is not None:
        check_target(output, force=force)
        if output.exists() and log != "-" and os.path.exists(log) and os.path.samefile(log, output):
            raise OutputError("is the log itself", where=str(output), do="name another file")
    redactor = redactor_for(also)
    with _readable_twice(log) as read, _target(output) as stream:
        for block in redact_log(read, redactor):
            stream.write(block)
        stream.flush()
    found = ", ".join(f"{count} × {kind}" for kind, count in redactor.counts.items())
    sys.stderr.write(f"logaudit: replaced: {found or 'nothing'}\n")
    return 0


def redactor_for(also: list[Also] | None) -> Redactor:
    """A redactor for secrets and for what `--redact` names besides."""
    from logaudit.report.redact import Redactor

    return Redactor(hosts=Also.HOSTS in (also or ()), paths=Also.PATHS in (also or ()))


@contextmanager
def _readable_twice(log: str) -> Iterator[Callable[[], Iterable[bytes]]]:
    """A function that gives the log's bytes from the start each time; what cannot be read again is kept meanwhile."""
    from logaudit.sources import open_sources

    sources = open_sources([log])
    if len(sources) != 1:
        raise LogauditError(f"names {len(sources)} logs", where=log, do="name one; each gives a copy of its own")
    source = sources[0]
    if log != "-" and Path(log).is_file():
        yield source.blocks
        return
    # Unlinked and readable by nobody else: it holds what has not been redacted yet.
    with tempfile.TemporaryFile() as kept:
        for block in source.blocks():
            kept.write(block)

        def read() -> Iterator[bytes]:
            kept.seek(0)
            while block := kept.read(1 << 20):
                yield block

        yield read


@contextmanager
def _target(output: Path | None) -> Iterator[IO[bytes]]:
    """Where the copy goes: standard output, or a file that appears when it is whole. Raises OutputError."""
    if output is None:
        yield sys.stdout.buffer
        return
    from logaudit.cli.output import mode_of

    try:
        if output.exists() and not output.is_file():
            # A device or a pipe is written to, never replaced.
            with output.open("wb") as stream:
                yield stream
            return
        output = Path(os.path.realpath(output))
        handle, name = tempfile.mkstemp(dir=output.parent, prefix=f".{output.name[:100]}.", suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as stream:
                yield stream
            os.chmod(name, mode_of(output))
            os.replace(name, output)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as problem:
        raise OutputError(
            problem.strerror or "cannot be written", where=str(output), do="free space or name another file"
        ) from None
