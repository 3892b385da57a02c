"""Opening what the user named, here or on the host that `--via` names."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence

from logaudit.errors import SourceError
from logaudit.sources.interface import Source
from logaudit.sources.remote.reach import Reach

FAR_SCHEMES: Mapping[str, str] = {
    "ssh://": "logaudit.sources.ssh",
    "docker:": "logaudit.sources.docker",
    "journal:": "logaudit.sources.journal",
    "kube:": "logaudit.sources.kube",
    "command:": "logaudit.sources.command",
}
"""Prefixes whose modules' `open_argument(argument, reach)` know other machines."""


def open_reached(arguments: Sequence[str], reach: Reach) -> list[Source]:
    """As `open_sources`, with the wishes about other machines taken into account. Raises SourceError."""
    from logaudit.sources import open_sources

    found: dict[str, Source] = {}
    for argument in arguments:
        module = next((m for prefix, m in FAR_SCHEMES.items() if argument.startswith(prefix)), None)
        if reach.via is not None and argument.startswith("ssh://"):
            raise SourceError("names its own host", where=argument, do="leave out --via, or give the path alone")
        if module is not None:
            opened: list[Source] = importlib.import_module(module).open_argument(argument, reach)
        elif reach.via is not None:
            opened = [_far_file(argument, reach)]
        else:
            opened = open_sources([argument])
        for source in opened:
            found.setdefault(source.name, source)
    if not found:
        return open_sources(arguments)
    return list(found.values())


def _far_file(argument: str, reach: Reach) -> Source:
    from logaudit.sources.ssh import SshFile

    host = reach.host()
    path = argument.removeprefix("file://").encode("utf-8", "surrogateescape")
    if host is None or argument == "-" or "://" in argument or b"\0" in path or not path:
        raise SourceError("cannot be read on another host", where=argument, do="give a path there, or leave out --via")
    return SshFile(host, path if path.startswith(b"/") else b"./" + path, reach.remote_filter)
