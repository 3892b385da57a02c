"""Every oracle log, read and held against the formula: figures, outcome, status and bounds."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest
from packaging.version import Version

from logaudit.auditing import audit
from logaudit.report.document import Document, LaunchDoc
from tests.oracle import OracleCase, case, names, printed, tag_of

HALF = 0.005
"""Half a unit of the second decimal: what rounding leaves open in a printed GiB figure."""


@lru_cache(maxsize=4)
def read(name: str, *, with_config: bool) -> Document:
    given = case(name)
    return audit([str(given.log)], model_config=given.config if with_config else None)


def launch(name: str, *, with_config: bool = True) -> LaunchDoc:
    document = read(name, with_config=with_config)
    assert len(document.launches) == 1
    return document.launches[0]


@pytest.mark.parametrize("name", names())
def test_figures_are_those_of_the_lines(name: str) -> None:
    given = case(name)
    found = launch(name)
    lines = printed(given.log)
    targets = [row for row in found.ranks if row.worker == "target"]
    if given.ranks:
        assert len(targets) == len(given.ranks)
    for row in targets:
        tag = tag_of(row.rank, list(lines))
        assert tag is not None, f"{row.rank} is no rank of the log"
        figures = lines[tag]
        drafts = [other for other in found.ranks if other.worker == "draft" and other.rank == row.rank]
        workers = [row, *drafts]
        assert [w.before_load_gib for w in workers if w.before_load_gib is not None] == figures.begins
        assert [w.after_load_gib for w in workers if w.after_load_gib is not None] == figures.ends
        assert [w.pool_end_gib for w in workers if w.pool_end_gib is not None] == figures.pool_ends
        sizes = [
            pool.gib for w in workers for pool in w.pools if pool.name in {"kv", "full", "swa"} and pool.gib is not None
        ]
        assert [round(size, 2) for size in sizes] == figures.sizes
        assert sorted(
            pool.tokens for w in workers for pool in w.pools if pool.gib is not None and pool.tokens
        ) == sorted(figures.tokens)


@pytest.mark.parametrize("name", names())
def test_outcome_and_failure(name: str) -> None:
    given = case(name)
    found = launch(name)
    assert found.outcome == ("crashed" if given.refused else "initialised")
    if given.refused:
        assert found.failure is not None
        assert (found.failure.kind, found.failure.phase) == ("memory", "sizing")
    else:
        assert found.failure is None
    assert found.unrecognised == []


@pytest.mark.parametrize("name", names())
def test_the_release_is_in_the_bracket(name: str) -> None:
    bracket = launch(name).sglang_version
    assert bracket.low is not None
    assert bracket.high is not None
    assert Version(bracket.low) <= case(name).release <= Version(bracket.high)


def check_bounds(given: OracleCase, found: LaunchDoc) -> None:
    """The formula's bounds hold SGLang's own numbers."""
    truth = given.ranks[0]
    expected = found.expected
    assert expected is not None
    assert expected.tokens is not None
    assert expected.tokens.low <= truth["max_total_num_tokens"] <= expected.tokens.high
    slots = found.capacity.mamba_slots if given.divides_slots else truth["mamba_slots"]
    pairs = ((expected.swa_tokens, truth["swa_tokens"]), (expected.mamba_slots, slots))
    for bounds, value in pairs:
        if bounds is not None and value is not None:
            assert bounds.low <= value <= bounds.high


@pytest.mark.parametrize("name", names())
def test_with_the_model_config_every_case_is_explained(name: str) -> None:
    given = case(name)
    found = launch(name)
    if given.hides_ranks and found.reconciliation.status == "not_checkable":
        assert any("other ranks" in missing for missing in found.reconciliation.missing)
        return
    assert found.reconciliation.status == "explained"
    if given.refused:
        assert found.reconciliation.actual_tokens is None
        return
    assert found.reconciliation.actual_tokens == given.ranks[0]["max_total_num_tokens"]
    check_bounds(given, found)
    requests = found.expected.max_running_requests if found.expected else None
    assert requests is not None
    printed_requests = found.capacity.max_running_requests
    assert printed_requests is not None
    assert requests.low <= printed_requests <= requests.high


PLAIN = {
    "llama31-8b",
    "llama31-70b",
    "qwen25-7b",
    "qwen3-30b-a3b",
    "qwen3-235b-a22b",
    "gemma3-12b",
    "deepseek-v3",
    "kimi-k2",
    "kimi-k25",
}
"""Models with plain MHA, GQA or MLA pools: the log alone determines their sizing from 0.4.6 on."""


@pytest.mark.parametrize("name", names())
def test_without_a_config_the_status_is_explained_or_says_what_is_missing(name: str) -> None:
    given = case(name)
    found = launch(name, with_config=False)
    status = found.reconciliation.status
    if given.hides_ranks and status == "not_checkable":
        return
    if given.truth["model"] in PLAIN and given.release >= Version("0.4.6"):
        assert status == "explained"
    else:
        assert status in {"explained", "not_checkable"}
    if status == "not_checkable":
        assert found.reconciliation.missing
    elif not given.refused:
        check_bounds(given, found)


@pytest.mark.parametrize("name", names())
def test_the_ledger_adds_up_to_what_was_free(name: str) -> None:
    found = launch(name)
    firsts = {
        (row.rank.tp, row.rank.pp, row.rank.dp): row.before_load_gib for row in found.ranks if row.worker == "target"
    }
    for row in found.ledger:
        before = firsts[(row.rank.tp, row.rank.pp, row.rank.dp)]
        assert before is not None
        assert sum(item.gib.value for item in row.items) == pytest.approx(before, abs=1e-6)
        assert row.items[-1].kind == "left"


def test_the_oracle_is_complete(shared_dir: Path) -> None:
    assert len(list((shared_dir / "oracle").glob("*.log"))) == len(names())
