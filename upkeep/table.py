"""The project's argument table: fields in the order of the dump and their defaults, kept by `logaudit.sglang.facts`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from packaging.version import Version

import logaudit.sglang
from logaudit.sglang.facts import read_defaults, read_fields, read_lines, write_defaults, write_fields
from upkeep.arguments import NO_DEFAULT, Dump
from upkeep.store import GONE, Timeline

FOLDER = Path(next(iter(logaudit.sglang.__path__))) / "data"
FORMS = {"dict": "dict", "ServerArgs(…)": "dataclass"}


def arguments_at(release: Version, folder: Path = FOLDER) -> list[tuple[str, str]]:
    """Field names with defaults as of the newest release of the table up to `release`, in the order of the dump."""
    fields = read_fields(_read(folder, "server_args_fields.tsv"))
    known = [name for name in fields if Version(name) <= release]
    if not known:
        return []
    defaults = _timeline(folder).at(release)
    return [(name, defaults.get(name, NO_DEFAULT)) for name in fields[max(known, key=Version)]]


def as_written(dump: Dump) -> list[tuple[str, str]]:
    """The fields of a dump with their defaults as source text, private fields left out."""
    return [(a.name, _expression(a.default)) for a in dump.arguments if not a.name.startswith("_")]


def put(dumps: Mapping[Version, Dump], folder: Path = FOLDER) -> None:
    """Write the arguments of releases into the table, beside those of all others."""
    fields: dict[str, list[str]] = {
        n: list(names) for n, names in read_fields(_read(folder, "server_args_fields.tsv")).items()
    }
    timeline = _timeline(folder)
    for release in sorted(dumps):
        written = as_written(dumps[release])
        fields[str(release)] = [name for name, _ in written]
        following = min((Version(n) for n in fields if Version(n) > release), default=None)
        timeline = timeline.with_state(release, dict(written), following)
    defaults: dict[str, dict[str, str]] = {}
    for name, since, default in timeline.rows():
        if default != GONE and default != _last(defaults.get(name, {})):
            defaults.setdefault(name, {})[str(since)] = default
    (folder / "server_args_fields.tsv").write_text(write_fields(fields), "utf-8")
    (folder / "server_args_defaults.tsv").write_text(write_defaults(defaults), "utf-8")
    _put_forms(dumps, folder)


def wording_releases(folder: Path = FOLDER) -> list[Version]:
    """The releases whose sources the ranges of the samples were read from, oldest first."""
    return sorted(Version(line) for line in read_lines(_read(folder, "wording_releases.txt")))


def put_wording_releases(releases: list[Version], folder: Path = FOLDER) -> None:
    """Add releases to those whose sources the ranges of the samples were read from."""
    path = folder / "wording_releases.txt"
    text = _read(folder, path.name)
    known = {Version(line) for line in read_lines(text)} | set(releases)
    header = [line for line in text.splitlines() if line.startswith("#")]
    path.write_text("\n".join([*header, *map(str, sorted(known)), ""]), "utf-8")


def _put_forms(dumps: Mapping[Version, Dump], folder: Path) -> None:
    """Stretch the range of each form of the dump over the releases that print it."""
    path = folder / "dump_forms.txt"
    text = _read(folder, path.name)
    forms = {}
    for line in read_lines(text):
        form, _, span = line.partition("=")
        first, _, last = span.partition("..")
        forms[form] = (Version(first), Version(last or first))
    for release, dump in dumps.items():
        form = FORMS.get(dump.form, dump.form)
        low, high = forms.get(form, (release, release))
        forms[form] = (min(low, release), max(high, release))
    header = [line for line in text.splitlines() if line.startswith("#")]
    rows = [f"{form}={low}..{high}" for form, (low, high) in sorted(forms.items(), key=lambda item: item[1])]
    path.write_text("\n".join([*header, *rows, ""]), "utf-8")


def _timeline(folder: Path) -> Timeline:
    known = read_defaults(_read(folder, "server_args_defaults.tsv"))
    return Timeline({name: {Version(s): text for s, text in values.items()} for name, values in known.items()})


def _expression(default: str) -> str:
    return default[1:-1] if default.startswith("<") and default != NO_DEFAULT else default


def _last(values: Mapping[str, str]) -> str | None:
    return list(values.values())[-1] if values else None


def _read(folder: Path, name: str) -> str:
    path = folder / name
    return path.read_text("utf-8") if path.exists() else ""
