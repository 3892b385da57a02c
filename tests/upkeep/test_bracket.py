"""A dump made of a release's own fields and defaults is bracketed to that release, whole or cut."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from packaging.version import Version

from logaudit.sglang.facts import read_fields
from logaudit.sglang.server_args import parse_server_args
from logaudit.sglang.versions import bracket
from upkeep import table
from upkeep.arguments import Argument, Dump

DICT_SINCE = Version("0.5.19")
"""First release that prints a dictionary (what is put into the line changes from the object to `resolved_dict()`)."""
FIELDS = {
    Version(name): names for name, names in read_fields((table.FOLDER / "server_args_fields.tsv").read_text()).items()
}
RELEASES = [release for release in sorted(FIELDS) if release >= Version("0.4.0")]


def dump_of(release: Version) -> str:
    form = "dict" if release >= DICT_SINCE else "ServerArgs(…)"
    arguments = tuple(Argument(name, default) for name, default in table.arguments_at(release))
    return Dump(arguments, "", form).render(model_path="'org/model'")


def alike(release: Version) -> set[Version]:
    """The releases whose dump has the same fields, printed in the same form."""
    form = release >= DICT_SINCE
    return {other for other in RELEASES if set(FIELDS[other]) == set(FIELDS[release]) and (other >= DICT_SINCE) == form}


@pytest.mark.parametrize("release", RELEASES, ids=str)
def test_a_full_dump_gives_its_release_or_those_with_the_same_fields(release: Version) -> None:
    args = parse_server_args(dump_of(release))
    assert args is not None
    assert args.complete
    found = bracket(args, [])
    assert set(found.candidates) == alike(release)
    assert found.exact == (len(alike(release)) == 1)


@pytest.mark.parametrize("share", [0.6, 0.3])
@pytest.mark.parametrize("release", RELEASES, ids=str)
def test_a_cut_dump_still_allows_its_release(release: Version, share: float) -> None:
    text = dump_of(release)
    args = parse_server_args(text[: int(len(text) * share)])
    assert args is not None
    assert not args.complete
    assert release in bracket(args, []).candidates


def test_every_release_from_0_4_0_on_is_known() -> None:
    listed = (Path(table.__file__).parent / "data" / "releases.tsv").read_text("utf-8").splitlines()
    taken_in = [Version(line) for line in listed if not line.startswith("#")]
    assert taken_in[0] == Version("0.4.0")
    assert taken_in == RELEASES


def test_the_table_agrees_with_the_fields_read_by_other_means(shared_dir: Path) -> None:
    known = json.loads((shared_dir / "spec" / "server_args_fields.json").read_text("utf-8"))
    assert len(known) == 40
    assert {name: tuple(names) for name, names in known.items()} == {name: FIELDS[Version(name)] for name in known}
