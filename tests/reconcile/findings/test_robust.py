"""No rule raises, whatever is missing; every finding can be put into words that make sense."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from logaudit.auditing import cases_of
from logaudit.reconcile.case import Case
from logaudit.reconcile.findings import all_findings, rules
from logaudit.reconcile.inputs import Given
from logaudit.report.command import corrected_command
from logaudit.report.environment import template_folder
from logaudit.report.findings import words_of
from logaudit.report.verdict import verdict
from tests.conftest import TEST_ALL, shared_files
from tests.reconcile.findings.starts import FIXTURES, REFUSED, SEED, starts
from upkeep.findings_doc import PAGE, page

LOGS = [
    *sorted((FIXTURES / "oracle").glob("*.log")),
    *shared_files("logs/*.log"),
    *shared_files("logs/*.ipynb"),
    *(shared_files("oracle/*.log") if TEST_ALL else []),
]


def check(case: Case) -> None:
    """Everything that is said of a case is said without an exception and in whole words."""
    found = all_findings(case)
    severities = _severities()
    in_order = sorted(found, key=lambda finding: finding.code)
    told_in_order = sorted(words_of(found), key=lambda finding: finding.code)
    for finding, told in zip(in_order, told_in_order, strict=True):
        assert finding.severity in severities[finding.code]
        for text in (told.title, told.detail, told.action):
            assert text.strip(), finding.code
            for word in ("None", "nan", "Interval(", "{{", "{%", " .", " ,", ".."):
                assert word not in text, (finding.code, text)
        assert len(told.title) < 160
        assert all(line >= 1 for line in told.evidence)
    assert verdict(case)[0]
    command = corrected_command(case, found)
    assert command is None or "\n" not in command


def _severities() -> dict[str, tuple[str, ...]]:
    from importlib import import_module

    return {code: import_module(rule.__module__).SEVERITIES for code, rule in rules().items()}


@pytest.mark.parametrize("log", LOGS, ids=lambda path: path.name)
def test_every_log(log: Path) -> None:
    for case in starts(log):
        check(case)


@pytest.mark.parametrize(
    "log", [SEED, REFUSED, FIXTURES / "oracle" / "0.5.22__qwen3next-tp4.log"], ids=lambda p: p.name
)
@pytest.mark.parametrize(
    "missing",
    [
        {"args": {}, "args_line": None, "args_origin": "none"},
        {"ranks": ()},
        {"records": ()},
        {"schedulers": (), "traffic": ()},
        {"records": (), "ranks": (), "args": {}, "schedulers": ()},
        {"args": {"model_path": 3, "tp_size": "x", "mem_fraction_static": "high", "page_size": None}},
        {"args": {"cuda_graph_config": {"decode": None}, "hicache_ratio": "two", "max_running_requests": -1}},
    ],
    ids=lambda missing: "-".join(missing),
)
def test_a_launch_with_parts_missing(log: Path, missing: dict[str, object]) -> None:
    for case in starts(log):
        for again in cases_of([replace(case.launch, **missing)], Given()):  # type: ignore[arg-type]
            check(again)


@pytest.mark.parametrize("log", [SEED, REFUSED], ids=lambda p: p.name)
@pytest.mark.parametrize(
    "missing", ["inputs", "expectation", "ledgers", "fraction", "release", "rows", "kv_gib", "causes", "naive"]
)
def test_a_case_with_parts_missing(log: Path, missing: str) -> None:
    for case in starts(log):
        check(replace(case, **{missing: () if missing in {"ledgers", "rows", "causes", "naive"} else None}))  # type: ignore[arg-type]


def test_every_rule_has_words_and_every_template_a_rule() -> None:
    templates = {file.name.removesuffix(".md.j2") for file in (template_folder() / "findings").glob("*.md.j2")}
    assert templates == set(rules())


def test_the_reference_is_fresh() -> None:
    assert PAGE.read_text("utf-8") == page(), "run python -m upkeep.findings_doc"
