"""All that is read off one release, kept beside its wheel so that a wheel is read once."""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path

import msgspec
from packaging.version import Version

from upkeep.architectures import Treatment, treatments
from upkeep.arguments import Argument, Dump, read_dump
from upkeep.formulas import Function, functions
from upkeep.lines import Hole, Template, memory_modules, templates
from upkeep.release import Release, read_wheel


class Part(msgspec.Struct, frozen=True, array_like=True):
    """A piece of a template: a literal, or a hole where `literal` is None."""

    literal: str | None
    name: str = ""
    spec: str = ""
    choices: tuple[str, ...] = ()


class Wording(msgspec.Struct, frozen=True, array_like=True):
    """One template as stored."""

    parts: tuple[Part, ...]
    call: str
    path: str
    function: str
    line: int


class Facts(msgspec.Struct, frozen=True):
    """What one release prints, takes, computes and treats specially."""

    version: str
    wordings: tuple[Wording, ...]
    memory_modules: tuple[str, ...]
    arguments: tuple[tuple[str, str], ...]
    printed: str
    form: str
    functions: tuple[tuple[str, str, int, str], ...]
    treatments: tuple[tuple[str, str], ...]
    unparsed: tuple[str, ...]

    @property
    def release(self) -> Version:
        """The release they were read from."""
        return Version(self.version)

    @property
    def templates(self) -> list[Template]:
        """The messages of every module."""
        return [
            Template(
                tuple(p.literal if p.literal is not None else Hole(p.name, p.spec, p.choices) for p in w.parts),
                w.call,
                w.path,
                w.function,
                w.line,
            )
            for w in self.wordings
        ]

    @property
    def dump(self) -> Dump:
        """The server arguments."""
        return Dump(tuple(Argument(name, default) for name, default in self.arguments), self.printed, self.form)

    @property
    def formula(self) -> list[Function]:
        """The functions of the sizing."""
        return [Function(*f) for f in self.functions]

    @property
    def special(self) -> list[Treatment]:
        """Models treated specially."""
        return [Treatment(*t) for t in self.treatments]


def read_facts(release: Release) -> Facts:
    """Everything read off `release`. Raises SourceError where the server arguments cannot be found."""
    dump = read_dump(release)
    messages = templates(release)
    return Facts(
        version=str(release.version),
        wordings=tuple(
            Wording(
                tuple(Part(p) if isinstance(p, str) else Part(None, p.name, p.spec, p.choices) for p in t.parts),
                t.call,
                t.path,
                t.function,
                t.line,
            )
            for t in messages
        ),
        memory_modules=tuple(memory_modules(messages)),
        arguments=tuple((a.name, a.default) for a in dump.arguments),
        printed=dump.printed,
        form=dump.form,
        functions=tuple((f.name, f.path, f.line, f.code) for f in functions(release)),
        treatments=tuple((t.trait, t.model) for t in treatments(release)),
        unparsed=release.unparsed,
    )


def facts_of(wheel: Path) -> Facts:
    """The facts of a wheel, from beside it when they were read by this same code. Raises SourceError."""
    stored = wheel.parent / "facts" / _reader_digest() / f"{wheel.name}.{_digest(wheel.read_bytes())}.json"
    if stored.exists():
        try:
            return msgspec.json.decode(stored.read_bytes(), type=Facts)
        except msgspec.DecodeError:
            stored.unlink()
    facts = read_facts(read_wheel(wheel))
    stored.parent.mkdir(parents=True, exist_ok=True)
    draft = stored.with_suffix(".part")
    draft.write_bytes(msgspec.json.encode(facts))
    draft.replace(stored)
    return facts


@cache
def _reader_digest() -> str:
    """Changes whenever the code that reads releases does, its layout and comments aside."""
    here = Path(__file__).parent
    readers = ("release", "lines", "arguments", "formulas", "architectures", "facts")
    trees = [ast.dump(ast.parse((here / f"{name}.py").read_text("utf-8"))) for name in readers]
    return _digest("".join(trees).encode())


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:10]
