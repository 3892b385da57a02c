"""What tells one state of a log from another without reading it."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logaudit.sources.interface import Source


@dataclass(frozen=True, slots=True)
class Stamp:
    """Two equal stamps of one source mean that it did not change."""

    etag: str
    """What the object store calls it; device and inode of a file."""
    size_bytes: int
    modified_at: str
    """ISO 8601, or as the store gives it."""


def known_stamp(source: Source) -> Stamp | None:
    """The stamp of a source where it costs next to nothing: a file here, an object that was listed."""
    listed = getattr(source, "stamp", None)
    if isinstance(listed, Stamp):
        return listed
    path = getattr(source, "path", None)
    if not isinstance(path, str):
        return None
    try:
        facts = os.stat(path)
    except OSError:
        return None
    moment = datetime.fromtimestamp(facts.st_mtime_ns / 1e9, UTC).isoformat()
    return Stamp(f"{facts.st_dev}-{facts.st_ino}-{facts.st_mtime_ns}", facts.st_size, moment)


def stamp(source: Source) -> Stamp | None:
    """The stamp of a source, over the network where need be; None where it has none or cannot be asked now."""
    if (known := known_stamp(source)) is not None:
        return known
    view = getattr(source, "view", None)
    if view is None:
        return None
    from logaudit.sources.remote.diagnosis import ConnectionLost

    with contextlib.suppress(ConnectionLost, OSError):
        far = view()
        try:
            facts = far.stat()
        finally:
            far.close()
        if facts is not None:
            moment = datetime.fromtimestamp(facts.modified, UTC).isoformat()
            return Stamp(f"{facts.device}-{facts.inode}", facts.size, moment)
    return None
