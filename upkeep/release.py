"""One release of SGLang as text: its modules read from a wheel or a folder, parsed only when asked for."""

from __future__ import annotations

import ast
import warnings
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from packaging.utils import parse_wheel_filename
from packaging.version import Version

from logaudit.errors import SourceError

ASIDE = ("test/", "multimodal_gen/", "kernels/", "lang/", "benchmark/", "eval/", "api/")
"""Top folders of the package that no server start runs through."""


@dataclass(frozen=True)
class Release:
    """The Python modules of one release; paths are relative to the package folder."""

    version: Version
    texts: Mapping[str, str]
    """Path -> source text."""
    _trees: dict[str, ast.Module | None] = field(default_factory=dict, repr=False, compare=False)

    def tree(self, path: str) -> ast.Module | None:
        """The syntax tree of one module; None when this Python cannot parse it."""
        if path not in self._trees:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    self._trees[path] = ast.parse(self.texts[path])
            except (SyntaxError, ValueError, RecursionError):
                self._trees[path] = None
        return self._trees[path]

    @property
    def unparsed(self) -> tuple[str, ...]:
        """Modules looked at so far that could not be parsed."""
        return tuple(sorted(path for path, tree in self._trees.items() if tree is None))

    def holding(self, *words: str) -> list[str]:
        """Paths of the modules whose text holds any of `words`, sorted."""
        return sorted(path for path, text in self.texts.items() if any(word in text for word in words))

    def classes(self, name: str) -> list[tuple[str, ast.ClassDef]]:
        """Every class of that name at the top of a module, with the module's path."""
        found: list[tuple[str, ast.ClassDef]] = []
        for path in self.holding(f"class {name}"):
            tree = self.tree(path)
            body = tree.body if tree else []
            found += [(path, node) for node in body if isinstance(node, ast.ClassDef) and node.name == name]
        return found


def read_wheel(path: Path) -> Release:
    """A release read from a wheel's own members, nothing unpacked to disk. Raises SourceError."""
    try:
        _, version, _, _ = parse_wheel_filename(path.name)
        with zipfile.ZipFile(path) as archive:
            return Release(
                version, _texts((name, archive.read(name)) for name in archive.namelist() if name.endswith(".py"))
            )
    except (OSError, ValueError, zipfile.BadZipFile) as problem:
        raise SourceError(
            f"not a readable wheel: {problem}", where=str(path), do="give an SGLang release wheel"
        ) from None


def read_folder(path: Path, version: Version) -> Release:
    """A release read from an unpacked tree that holds the package folder. Raises SourceError."""
    files = sorted(path.rglob("*.py"))
    if not files:
        raise SourceError("no Python modules there", where=str(path), do="give a folder that holds the package")
    return Release(version, _texts((file.relative_to(path).as_posix(), file.read_bytes()) for file in files))


def _texts(members: Iterable[tuple[str, bytes]]) -> dict[str, str]:
    texts = {}
    for name, data in members:
        inside = name.partition("sglang/")[2] if name.startswith("sglang/") else ""
        if inside and not inside.startswith(ASIDE) and "/test/" not in inside:
            texts[inside] = data.decode("utf-8", "replace")
    return texts
