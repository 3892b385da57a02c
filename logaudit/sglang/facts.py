"""The fact files about SGLang's releases: one fact a line, as text that a program writes and a person reviews."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher

from packaging.version import Version

FIELDS_HEADER = (
    "# release\top\tfield\tafter   (op: = number of fields, - removed, + added after another field; ^ is the start)"
)
DEFAULTS_HEADER = "# field\tsince\tdefault   (Python expression as in the source; holds until the field's next line)"


def write_fields(fields: Mapping[str, Sequence[str]]) -> str:
    """The text of `server_args_fields.tsv` from the field names, in order, of each release."""
    lines = [FIELDS_HEADER]
    before: Sequence[str] = ()
    for release in sorted(fields, key=Version):
        names = fields[release]
        lines.append(f"{release}\t=\t{len(names)}")
        opcodes = SequenceMatcher(None, before, names, autojunk=False).get_opcodes()
        for op, start, end, _, _ in opcodes:
            if op in ("delete", "replace"):
                lines += [f"{release}\t-\t{name}" for name in before[start:end]]
        for op, _, _, start, end in opcodes:
            if op in ("insert", "replace"):
                lines += [f"{release}\t+\t{names[i]}\t{names[i - 1] if i else '^'}" for i in range(start, end)]
        before = names
    return "\n".join(lines) + "\n"


def read_fields(text: str) -> dict[str, tuple[str, ...]]:
    """The field names, in order, of each release; raises ValueError where the file contradicts itself."""
    fields: dict[str, tuple[str, ...]] = {}
    names: list[str] = []
    release, count = "", 0
    for row in _rows(text):
        if row[1] == "=":
            _finish(fields, release, names, count)
            release, count = row[0], int(row[2])
        elif row[1] == "-":
            names.remove(row[2])
        else:
            names.insert(0 if row[3] == "^" else names.index(row[3]) + 1, row[2])
    _finish(fields, release, names, count)
    return fields


def write_defaults(defaults: Mapping[str, Mapping[str, str]]) -> str:
    """The text of `server_args_defaults.tsv` from field -> release since which it holds -> expression."""
    lines = [DEFAULTS_HEADER]
    for name in sorted(defaults):
        lines += [f"{name}\t{since}\t{defaults[name][since]}" for since in sorted(defaults[name], key=Version)]
    return "\n".join(lines) + "\n"


def read_defaults(text: str) -> dict[str, dict[str, str]]:
    """Field -> release since which it holds -> expression of the default."""
    defaults: dict[str, dict[str, str]] = {}
    for name, since, expression in _rows(text):
        defaults.setdefault(name, {})[since] = expression
    return defaults


def read_lines(text: str) -> tuple[str, ...]:
    """The facts of a file with one word a line."""
    return tuple(row[0] for row in _rows(text))


def _rows(text: str) -> Iterable[list[str]]:
    return (line.split("\t") for line in text.splitlines() if line and not line.startswith("#"))


def _finish(fields: dict[str, tuple[str, ...]], release: str, names: Sequence[str], count: int) -> None:
    if not release:
        return
    if len(names) != count:
        raise ValueError(f"server_args_fields.tsv: {release} has {len(names)} fields, its line says {count}")
    fields[release] = tuple(names)
