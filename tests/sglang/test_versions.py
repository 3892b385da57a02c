"""The release bracket holds the true release, and is one release wide where the arguments are all there."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from packaging.version import Version

from logaudit.extract import Record, extract
from logaudit.scan.line import Line
from logaudit.sglang.facts import read_defaults, read_fields, write_defaults, write_fields
from logaudit.sglang.server_args import ParsedArgs, parse_server_args
from logaudit.sglang.versions import bracket, defaults, field_names, known_releases, thinned
from tests.conftest import TEST_ALL, shared_files

ORACLE = shared_files("oracle/*.json")[:: 1 if TEST_ALL else 8]


@dataclass(frozen=True)
class Wording:
    """A record as far as the bracket looks at it."""

    releases: str
    kind: str = "load_weight_end"
    line: int = 1


def args_of(names: tuple[str, ...], *, complete: bool = True, form: str = "dataclass") -> ParsedArgs:
    return ParsedArgs(dict.fromkeys(names), names, form, complete)  # type: ignore[arg-type]


def read(path: Path) -> tuple[str, list[Record]]:
    """The dump's line and the records of an oracle log, whose prefix ends at the first bracket."""
    records, dump = [], ""
    with path.open() as log:
        for number, raw in enumerate(log, 1):
            message = raw.rstrip("\n").partition("] ")[2] if raw.startswith("[20") else raw.rstrip("\n")
            record = extract(Line(number, message, raw))
            if record is not None:
                records.append(record)
                dump = message if record.kind == "server_args_dump" else dump
    return dump, records


@pytest.mark.parametrize("path", ORACLE, ids=lambda path: path.stem)
def test_the_bracket_of_an_oracle_log_holds_its_release(path: Path) -> None:
    truth = Version(json.loads(path.read_text())["sglang_version"])
    dump, records = read(path.with_suffix(".log"))
    whole = bracket(parse_server_args(dump), records)
    assert truth in whole.candidates
    assert whole.holds(truth)
    for seen in (
        bracket(None, records),
        bracket(parse_server_args(dump[: len(dump) // 3]), records),
        bracket(parse_server_args("model_path='m', tp_size=8, ..."), records),
    ):
        assert truth in seen.candidates
        assert seen.holds(truth)


def test_a_complete_dump_names_the_releases_with_its_fields() -> None:
    # 0.1.17 prints no dump.
    for release in known_releases()[1:]:
        form = "dict" if release >= Version("0.5.19") else "dataclass"
        found = bracket(args_of(field_names(release), form=form), [])
        assert release in found.candidates
        # Releases that share all of their arguments cannot be told apart by them; post-releases often do.
        same = [other for other in known_releases()[1:] if set(field_names(other)) == set(field_names(release))]
        assert list(found.candidates) == same
        assert found.exact == (len(same) == 1)


def test_a_release_in_between_lies_between_its_neighbours() -> None:
    index = next(i for i, release in enumerate(known_releases()) if release >= Version("0.5.7"))
    below, above = known_releases()[index - 1 : index + 1]
    added = [name for name in field_names(above) if name not in field_names(below)]
    # Half of what the next release adds, and one name that it dropped again.
    found = bracket(args_of((*field_names(below), *added[::2], "brand_new_field")), [])
    assert found.low is not None
    assert found.high is not None
    assert found.low <= below < above <= found.high
    assert not found.exact
    assert found.unknown_fields == ("brand_new_field",)


def test_more_fields_than_the_newest_release_is_newer() -> None:
    newest = known_releases()[-1]
    found = bracket(args_of((*field_names(newest), "brand_new_field"), form="dict"), [])
    assert found.high is None
    assert found.low is not None
    assert found.low <= newest
    assert found.unknown_fields == ("brand_new_field",)


def test_names_with_an_underscore_say_nothing() -> None:
    release = Version("0.5.10")
    found = bracket(args_of((*field_names(release), "_private")), [])
    assert found.candidates == bracket(args_of(field_names(release)), []).candidates
    assert release in found.candidates
    assert found.unknown_fields == ()


def test_wordings_narrow_without_arguments() -> None:
    found = bracket(None, [Wording("0.5.3..0.5.12"), Wording("0.5.10..0.5.23")])
    assert {Version("0.5.10"), Version("0.5.11"), Version("0.5.12")} <= set(found.candidates)
    assert all(Version("0.5.9") < release < Version("0.5.13") for release in found.candidates)


def test_wordings_end_where_the_sources_of_every_release_say() -> None:
    # Each release from 0.4.0 on was read, post-releases included: a wording of 0.5.6 is not one of 0.5.6.post1.
    assert bracket(None, [Wording("0.5.6")]).candidates == (Version("0.5.6"),)
    assert bracket(None, [Wording("0.5.6.post1..0.5.7")]).low == Version("0.5.6.post1")


def test_a_release_newer_than_all_that_were_read_can_carry_the_newest_wording() -> None:
    newest = known_releases()[-1]
    assert bracket(None, [Wording(f"0.5.7..{newest}")]).high is None


def test_contradicting_wordings_do_not_overrule_the_arguments() -> None:
    args = args_of(field_names(Version("0.5.10")))
    assert bracket(args, [Wording("0.2.0")]).candidates == bracket(args, []).candidates


def test_nothing_known_leaves_every_release() -> None:
    found = bracket(None, [])
    assert (found.low, found.high, found.candidates) == (None, None, known_releases())


@pytest.mark.parametrize(
    ("release", "name", "value"),
    [
        ("0.5.3", "hicache_mem_layout", "layer_first"),
        ("0.5.14", "hicache_mem_layout", "page_first"),
        ("0.4.4", "page_size", 1),
        ("0.5.6", "swa_full_tokens_ratio", 0.8),
        ("0.5.20", "swa_full_tokens_ratio", None),
        ("0.5.6.post2", "tp_size", 1),
    ],
)
def test_defaults_of_a_release(release: str, name: str, value: object) -> None:
    assert defaults(Version(release))[name] == value


def test_fields_are_written_as_changes_and_read_back() -> None:
    fields = {
        "0.1.0": ("a", "b", "c"),
        "0.2.0": ("x", "a", "c", "d"),
        "0.10.0": ("x", "d", "a"),
        "0.10.0.post1": ("x", "d", "a"),
    }
    text = write_fields(fields)
    assert read_fields(text) == fields
    assert "0.2.0\t-\tb" in text.splitlines()
    assert "0.2.0\t+\td\tc" in text.splitlines()


def test_a_file_that_contradicts_itself_is_refused() -> None:
    with pytest.raises(ValueError, match=r"0\.2\.0 has 1 fields"):
        read_fields("0.1.0\t=\t1\n0.1.0\t+\ta\t^\n0.2.0\t=\t2\n")


def test_defaults_are_written_and_read_back() -> None:
    known = {"page_size": {"0.4.4": "1", "0.4.10": "None"}, "dtype": {"0.2.0": "'auto'"}}
    assert read_defaults(write_defaults(known)) == known


def test_a_dump_that_was_thinned_out_speaks_by_the_fields_that_it_shows() -> None:
    # `dcp_size` came with a late release, the dump in this form ended with 0.5.18; the first releases have so few
    # fields that they lack fewest of the rest.
    names = ("model_path", "tp_size", "mem_fraction_static", "dcp_size")
    having = [name for name in known_releases() if "dcp_size" in field_names(name) and name <= Version("0.5.18")]
    found = bracket(args_of(names), [])
    assert found.candidates == tuple(having)
    assert not found.exact


def test_the_lines_say_more_than_a_dump_of_two_fields() -> None:
    found = bracket(args_of(("model_path", "revision")), [Wording("0.5.10..0.5.12")])
    assert found.low is not None
    assert found.low >= Version("0.5.9")


def test_a_dump_that_lacks_a_few_fields_was_not_thinned() -> None:
    release = known_releases()[-1]
    assert not thinned(args_of(field_names(release)[:-5]))
    assert thinned(args_of(field_names(release)[::2]))
