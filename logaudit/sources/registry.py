"""Which module opens which kind of argument."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from logaudit.errors import SourceError
from logaudit.sources.interface import Source

SCHEMES: Mapping[str, str] = {
    "file://": "logaudit.sources.local",
    "ssh://": "logaudit.sources.ssh",
    "s3://": "logaudit.sources.objectstore",
    "gs://": "logaudit.sources.objectstore",
    "az://": "logaudit.sources.objectstore",
    "docker:": "logaudit.sources.docker",
    "journal:": "logaudit.sources.journal",
    "kube:": "logaudit.sources.kube",
    "command:": "logaudit.sources.command",
}
"""Prefix of an argument -> the module whose `open_argument(argument) -> list[Source]` opens it."""

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def open_sources(arguments: Sequence[str]) -> list[Source]:
    """The sources that the user named: paths, directories, globs, `-` for standard input, or anything in `SCHEMES`.

    Order is the user's; a directory and a glob give their files sorted; a file named twice is read once.
    Raises SourceError where an argument names nothing that can be read.
    """
    if not arguments:
        raise SourceError("no log was named", do="give a path, a directory, a glob or - for standard input")
    found: dict[str, Source] = {}
    for argument in arguments:
        for source in _open_argument(argument):
            found.setdefault(source.name, source)
    return list(found.values())


def _open_argument(argument: str) -> list[Source]:
    for prefix, module_name in SCHEMES.items():
        if argument.startswith(prefix):
            module = importlib.import_module(module_name)
            opened: list[Source] = module.open_argument(argument)
            return opened
    scheme = _SCHEME.match(argument)
    if scheme and not Path(argument).exists():
        known = ", ".join(sorted(SCHEMES)) or "none"
        raise SourceError(
            f"logs cannot be read from {scheme.group()}", where=argument.split("@")[-1], do=f"known prefixes: {known}"
        )
    from logaudit.sources import local

    return local.open_argument(argument)
