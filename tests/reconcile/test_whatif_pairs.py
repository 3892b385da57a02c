"""From one oracle case to another that differs only in flags: the answer must hold what SGLang computed there."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import pytest

from logaudit.auditing import cases_of, given_of, launches_of, read_source
from logaudit.reconcile.case import Case
from logaudit.reconcile.whatif import what_if
from logaudit.sources import open_sources
from tests.oracle import OracleCase, case, cases

CHANGEABLE = {
    "mem_fraction_static",
    "kv_cache_dtype",
    "max_total_tokens",
    "page_size",
    "context_length",
    "max_running_requests",
    "swa_full_tokens_ratio",
    "mamba_full_memory_ratio",
    "max_mamba_cache_size",
    "mamba_ssm_dtype",
    "disable_hybrid_swa_memory",
    "tp_size",
    "dp_size",
    "enable_dp_attention",
}
SAME = ("sglang_version", "model", "gpu", "gpu_total_gib", "before_load_gib", "after_load_gib", "draft_weights_gib")


def fraction_given(given: OracleCase) -> bool:
    return "--mem-fraction-static" in given.truth["args"]


def difference(one: OracleCase, other: OracleCase) -> dict[str, Any] | None:
    """The server arguments that differ, with the other's values; None where more than flags differs.

    A fraction that SGLang chose itself in both is left to the tool, which is told the card's memory.
    """
    if one.refused or other.refused or any(one.truth[name] != other.truth[name] for name in SAME):
        return None
    first, second = one.truth["server_args"], other.truth["server_args"]
    changed = {name: second[name] for name in second if second[name] != first[name] and name != "mem_fraction_static"}
    if fraction_given(one) or fraction_given(other):
        changed["mem_fraction_static"] = other.ranks[0]["mem_fraction_static"]
    return changed if changed and set(changed) <= CHANGEABLE else None


def pairs() -> list[tuple[str, str]]:
    known = cases()
    return [(a.name, b.name) for a in known for b in known if a is not b and difference(a, b) is not None]


@lru_cache(maxsize=8)
def read(name: str) -> Case:
    given = case(name)
    launches = launches_of([read_source(source) for source in open_sources([str(given.log)])])
    return cases_of(launches, given_of(model_config=given.config, gpu_memory_gib=given.truth["gpu_total_gib"]))[0]


def test_there_are_pairs() -> None:
    assert pairs()


@pytest.mark.parametrize(("one", "other"), pairs())
def test_the_answer_holds_what_sglang_computed(one: str, other: str) -> None:
    start, goal = case(one), case(other)
    changes = difference(start, goal)
    assert changes is not None
    if start.hides_ranks:
        pytest.skip("the readings of the other ranks are not in the log")
    answer = what_if(read(one), changes)
    truth = goal.ranks[0]
    assert answer.missing == ()
    assert answer.changed.tokens is not None
    assert answer.changed.tokens.low <= truth["max_total_num_tokens"] <= answer.changed.tokens.high
    if truth["swa_tokens"] is not None and answer.changed.swa_tokens is not None:
        assert answer.changed.swa_tokens.low <= truth["swa_tokens"] <= answer.changed.swa_tokens.high
    assert answer.changed.max_running_requests is not None
