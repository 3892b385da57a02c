"""Logs in object stores: S3, Google Cloud Storage, Azure, through fsspec."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from logaudit.errors import ConfigError, SourceError
from logaudit.sources.compressed import MAGIC_BYTES, Damage, decompress, recognise
from logaudit.sources.interface import Source
from logaudit.sources.stamp import Stamp

BLOCK_BYTES = 8 << 20
"""How much is asked for at once."""

_MAGIC = frozenset("*?[")


def open_argument(argument: str) -> list[Source]:
    """The objects that a URL names: one, all below a prefix, or those of a pattern; raises SourceError, ConfigError.

    Credentials and endpoints are those of the store's own tools: their environment variables and files.
    """
    scheme, _, rest = argument.partition("://")
    files = file_system(scheme)
    try:
        found = files.glob(rest, detail=True) if _MAGIC & set(rest) else _below(files, rest)
    except Exception as problem:
        raise _problem(argument, problem) from problem
    objects: list[Source] = [
        ObjectFile(f"{scheme}://{path}", stamp_of(facts))
        for path, facts in sorted(found.items())
        if facts.get("type") != "directory" and not path.rpartition("/")[2].startswith(".")
    ]
    if not objects:
        raise SourceError(
            "there is no such object, and none below that name", where=argument, do="check bucket and name"
        )
    return objects


def _below(files: Any, path: str) -> Mapping[str, Any]:
    """The object itself, else everything below it."""
    if not path.endswith("/"):
        try:
            facts = files.info(path)
        except FileNotFoundError:
            facts = {"type": "directory"}
        if facts.get("type") == "file":
            return {path: facts}
    found: Mapping[str, Any] = files.find(path, detail=True)
    return {name: facts for name, facts in found.items() if facts.get("size")}


def file_system(scheme: str) -> Any:
    """fsspec's file system of `s3`, `gs` or `az`, shared within the process. Raises ConfigError where it is missing."""
    try:
        import fsspec

        return fsspec.filesystem(scheme, use_listings_cache=False)
    except (ImportError, ValueError) as problem:
        raise ConfigError(
            f"{scheme}:// needs a package that is not here ({problem})", do="pip install 'logaudit[remote]'"
        ) from None


def stamp_of(facts: Mapping[str, Any]) -> Stamp:
    """What tells one state of an object from another, as its store lists it."""
    etag = facts.get("ETag") or facts.get("etag") or facts.get("md5Hash") or ""
    moment = facts.get("LastModified") or facts.get("last_modified") or facts.get("updated") or facts.get("mtime") or ""
    shown = moment.isoformat() if hasattr(moment, "isoformat") else str(moment)
    return Stamp(str(etag).strip('"'), int(facts.get("size") or 0), shown)


@dataclass(slots=True)
class ObjectFile:
    """One object, plain or compressed."""

    url: str
    stamp: Stamp | None = None
    notes: list[str] = field(default_factory=list)
    """What happened while it was read."""

    @property
    def name(self) -> str:
        return self.url

    def blocks(self) -> Iterator[bytes]:
        raw = self._raw()
        head = next(raw, b"")
        if len(head) < MAGIC_BYTES:
            head += next(raw, b"")
        compression = recognise(head)
        blocks = itertools.chain((head,), raw) if head else raw
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
                raise SourceError(str(damage), where=self.url, do="upload the object again") from damage
            self.notes.append(f"{damage}; what came before it was read")

    def _raw(self) -> Iterator[bytes]:
        scheme, _, path = self.url.partition("://")
        files = file_system(scheme)
        try:
            with files.open(path, "rb", block_size=BLOCK_BYTES, cache_type="readahead") as stream:
                while block := stream.read(BLOCK_BYTES):
                    yield block
        except GeneratorExit:
            raise
        except Exception as problem:
            raise _problem(self.url, problem) from problem


def _problem(where: str, problem: Exception) -> SourceError:
    """Each store's client raises errors of its own; what they say is kept."""
    if isinstance(problem, SourceError):
        return problem
    if isinstance(problem, FileNotFoundError):
        return SourceError("there is no such object", where=where, do="check bucket and name")
    if isinstance(problem, PermissionError):
        return SourceError("access denied", where=where, do="check the credentials that the store's own tools use")
    what = " ".join(str(problem).split())[:300] or type(problem).__name__
    return SourceError(f"cannot be read: {what}", where=where, do="check the address, the network and the credentials")
