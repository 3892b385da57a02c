"""What the project itself knows: its extractors, the functions its terms cite, the models it names."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import Path

import regex

import logaudit.sglang
import logaudit.sizing
from logaudit.extract.extractor import Extractor
from logaudit.extract.reader import all_extractors
from upkeep.architectures import ARCHITECTURE
from upkeep.lines import Hole, Template

SEARCH_S = 0.5
"""Longest time for one search."""


@dataclass(frozen=True, slots=True)
class Citation:
    """A place in the project that names a function of SGLang."""

    module: str
    """`sizing/cell.py`."""
    where: str
    """The function or class of ours that cites it."""

    def __str__(self) -> str:
        return f"{self.module} {self.where}".strip()


class Ours:
    """The project's own knowledge, read off its modules."""

    @cached_property
    def extractors(self) -> tuple[Extractor, ...]:
        """All kinds of lines, fallbacks last."""
        return all_extractors()

    @cached_property
    def _patterns(self) -> list[tuple[Extractor, regex.Pattern[str], tuple[str, ...]]]:
        """Each extractor with its pattern and the longest word of each of its anchors."""
        return [
            (e, regex.compile(e.pattern), tuple({max(regex.findall(r"\w+", a), key=len, default=a) for a in e.anchors}))
            for e in self.extractors
        ]

    def reads(self, text: str) -> str | None:
        """The kind that reads a message, None when none does."""
        text = text.strip()
        return self._tried(text, [(e, p) for e, p, words in self._patterns if any(word in text for word in words)])

    def reads_template(self, template: Template) -> str | None:
        """The kind that reads a template in at least one of the forms that it can take."""
        if template.parts not in self._read:
            blob = " ".join(t for p in template.parts for t in ([p] if isinstance(p, str) else p.choices))
            likely = [(e, p) for e, p, words in self._patterns if any(word in blob for word in words)]
            kinds = (self._tried(text.strip(), likely) for text in template.renderings()) if likely else iter(())
            self._read[template.parts] = next((kind for kind in kinds if kind), None)
        return self._read[template.parts]

    @cached_property
    def _read(self) -> dict[tuple[str | Hole, ...], str | None]:
        return {}

    @staticmethod
    def _tried(text: str, likely: list[tuple[Extractor, regex.Pattern[str]]]) -> str | None:
        for extractor, pattern in likely:
            if any(anchor in text for anchor in extractor.anchors) and pattern.match(text, timeout=SEARCH_S):
                return extractor.kind
        return None

    def nearest(self, text: str) -> tuple[str, float]:
        """The kind with the most similar sample, and how similar (0 to 1)."""
        best = ("", 0.0)
        for extractor in self.extractors:
            for sample in extractor.samples:
                alike = likeness(text, sample.text, above=best[1])
                if alike > best[1]:
                    best = (extractor.kind, alike)
        return best

    @cached_property
    def _cited(self) -> dict[str, list[Citation]]:
        """Identifier in a docstring or text of the sizing -> where it stands."""
        cited: dict[str, list[Citation]] = {}
        for package in (logaudit.sizing, logaudit.sglang):
            root = Path(next(iter(package.__path__)))
            for path in sorted(root.glob("*.py")):
                for where, text in _texts(ast.parse(path.read_text("utf-8")), ""):
                    for name in regex.findall(r"[A-Za-z_]\w{4,}", text):
                        places = cited.setdefault(name, [])
                        citation = Citation(f"{root.name}/{path.name}", where)
                        if citation not in places:
                            places.append(citation)
        return cited

    def citations(self, function: str) -> list[Citation]:
        """Where the project cites a function of SGLang, by its name without the class, a constructor by its class."""
        short = function.rpartition(".")[2]
        return self._cited.get(function.rpartition(".")[0] if short.startswith("__") else short, [])

    @cached_property
    def models(self) -> frozenset[str]:
        """Architectures that the project names anywhere in its facts about SGLang or its formula."""
        names: set[str] = set()
        for package in (logaudit.sizing, logaudit.sglang):
            for path in Path(next(iter(package.__path__))).glob("*.py"):
                for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                    if (
                        isinstance(node, ast.Constant)
                        and isinstance(node.value, str)
                        and ARCHITECTURE.match(node.value)
                    ):
                        names.add(node.value)
        return frozenset(names)


def likeness(one: str, other: str, *, above: float = 0.0) -> float:
    """How alike the words of two messages are, 0 to 1; 0 when it cannot be over `above`."""
    matcher = SequenceMatcher(None, _words(one), _words(other), autojunk=False)
    return matcher.ratio() if matcher.real_quick_ratio() > above else 0.0


def _texts(node: ast.AST, where: str) -> Iterable[tuple[str, str]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            yield from _texts(child, f"{where}.{child.name}" if where else child.name)
        elif isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield where, child.value
        else:
            yield from _texts(child, where)


def _words(text: str) -> list[str]:
    return [word.lower() for word in regex.findall(r"[A-Za-z_#]{2,}", text)]
