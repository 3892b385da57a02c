"""Two starts side by side: what each change is worth, in every form, and as a gate in a pipeline."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from logaudit.auditing import given_of
from logaudit.cli.main import run
from logaudit.comparing import compare_starts, parse_start
from logaudit.errors import LogauditError
from logaudit.report.diff import DiffDoc, fell
from tests.oracle import FIXTURES, MODELS

KIMI = FIXTURES.parent / "kimi-k25-tp8.log"
GIB = 1 << 30


def printed(name: str) -> int:
    """What SGLang computed in an oracle start."""
    return int(json.loads((FIXTURES / f"{name}.json").read_text())["ranks"][0]["max_total_num_tokens"])


def compared(before: str, after: str, model: str | None = None) -> DiffDoc:
    given = given_of(model_config=None if model is None else MODELS / f"{model}.json")
    return compare_starts(str(FIXTURES / f"{before}.log"), str(FIXTURES / f"{after}.log"), given)


def changed_log(tmp_path: Path, *changes: tuple[str, str]) -> Path:
    """The first fixture with texts replaced."""
    text = KIMI.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "changed.log"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("before", "after", "model"),
    [
        ("0.5.23__llama8b-default", "0.5.4__llama8b-fp8kv-mf085", "llama31-8b"),
        ("0.5.23__llama8b-default", "0.5.19__llama8b-page64-mf09", "llama31-8b"),
        ("0.5.15__llama8b-default", "0.5.2__llama8b-cap200001", "llama31-8b"),
        ("0.5.16__llama8b-capbig", "0.5.20__llama8b-mreq-ctx", None),
        ("0.5.4__dsv3-tp2", "0.5.21__dsv3-tp2-nextn", "deepseek-v3"),
        ("0.5.4__dsv3-tp2", "0.5.4__dsv3-tp8", None),
        ("0.5.22__qwen3next-tp4", "0.5.16__qwen3next-tp2-bf16ssm-maxmamba", "qwen3-next-80b"),
        ("0.5.22__llama70b-tp2pp2", "0.5.17__gptoss-tp2", None),
    ],
)
def test_the_shares_and_the_rest_add_up_to_what_sglang_computed(before: str, after: str, model: str | None) -> None:
    found = compared(before, after, model)
    change = printed(after) - printed(before)
    assert found.tokens_change == change
    assert not found.explained.missing
    assert found.explained.rest_tokens is not None
    assert sum(share.tokens for share in found.explained.shares) + found.explained.rest_tokens == pytest.approx(change)


def test_what_cannot_be_computed_is_said_and_nothing_is_attributed() -> None:
    found = compared("0.5.18__qwen3next-pp2", "0.5.22__llama70b-tp2pp2")
    assert found.explained.shares == []
    assert found.explained.missing[0].startswith("first start: the model config")
    assert found.tokens_change == printed("0.5.22__llama70b-tp2pp2") - printed("0.5.18__qwen3next-pp2")


def test_a_raised_fraction_is_worth_its_share_of_the_memory_that_was_free(tmp_path: Path) -> None:
    after = changed_log(tmp_path, ("mem_fraction_static=0.88", "mem_fraction_static=0.9"))
    found = compare_starts(str(KIMI), str(after), given_of(model_config=MODELS / "kimi-k25.json"))
    # 94.04 GiB were free before loading; a token of this model takes 61 layers x 576 values x 2 bytes.
    worth = 94.04 * 0.02 * GIB / (61 * 576 * 2)
    (share,) = found.explained.shares
    assert (share.name, share.before, share.after) == ("--mem-fraction-static", "0.88", "0.9")
    assert share.tokens == pytest.approx(worth, abs=2)
    # The log prints the same tokens as before: nothing of it happened.
    assert found.tokens_change == 0
    assert found.explained.rest_tokens == pytest.approx(-worth, abs=2)


def test_memory_taken_by_others_and_a_larger_reserve_act_together(tmp_path: Path) -> None:
    changes = (("mem_fraction_static=0.88", "mem_fraction_static=0.9"), ("avail mem=94.04 GB", "avail mem=90.04 GB"))
    after = changed_log(tmp_path, *changes)
    found = compare_starts(str(KIMI), str(after), given_of(model_config=MODELS / "kimi-k25.json"))
    by_name = {share.name: share for share in found.explained.shares}
    token = 61 * 576 * 2 / GIB
    # The budget is after - before x (1 - fraction), and after loading 21.71 GiB are free in both starts: with 4 GiB
    # less before loading and as much taken by it, after loading 4 GiB less are free, until loading takes less too.
    free, taken, fraction = (
        by_name[name] for name in ("free before loading", "taken while loading", "--mem-fraction-static")
    )
    assert free.tokens == pytest.approx((-4 + 4 * 0.12) / token, abs=3)
    assert taken.tokens == pytest.approx(4 / token, abs=3)
    assert fraction.tokens == pytest.approx(90.04 * 0.02 / token, abs=3)
    assert fraction.as_first == pytest.approx(94.04 * 0.02 / token, abs=3)
    assert "act on each other" in found.explained.order


def test_a_cap_comes_last() -> None:
    found = compared("0.5.23__llama8b-default", "0.5.2__llama8b-cap200001", "llama31-8b")
    last = found.explained.shares[-1]
    assert (last.name, last.before, last.after) == ("--max-total-tokens", "not given", "200001")
    assert found.after.tokens == printed("0.5.2__llama8b-cap200001")


def test_arguments_readings_and_ledger_stand_side_by_side() -> None:
    found = compared("0.5.23__llama8b-default", "0.5.4__llama8b-fp8kv-mf085")
    arguments = {change.name: (change.before, change.after) for change in found.arguments}
    assert arguments["kv_cache_dtype"] == ("auto", "fp8_e5m2")
    old, new = (
        json.loads((FIXTURES / f"{name}.json").read_text())
        for name in ("0.5.23__llama8b-default", "0.5.4__llama8b-fp8kv-mf085")
    )
    free = next(change for change in found.readings if change.what == "free before loading")
    assert free.before == pytest.approx(old["before_load_gib"][0], abs=0.006)
    assert free.after == pytest.approx(new["before_load_gib"][0], abs=0.006)
    assert (found.before.sglang_version[:6], found.after.sglang_version[:5]) == ("0.5.23", "0.5.4")
    assert sum(change.before or 0 for change in found.ledger) == pytest.approx(free.before, abs=0.02)


def test_reports_are_compared_without_the_formula(tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    assert run(["report", str(KIMI), "-o", str(report)]) == 0
    found = compare_starts(str(report), str(KIMI), given_of())
    assert found.tokens_change == 0
    assert "a report does not hold the formula's inputs" in found.explained.missing[0]


def test_a_start_is_chosen_by_its_number(tmp_path: Path) -> None:
    log = tmp_path / "two.log"
    log.write_text(KIMI.read_text() + (FIXTURES / "0.5.23__llama8b-default.log").read_text())
    found = compare_starts(f"{log}#0", f"{log}#1", given_of())
    assert (found.before.launch, found.after.launch) == (0, 1)
    assert (found.before.tokens, found.after.tokens) == (159_277, printed("0.5.23__llama8b-default"))
    assert compare_starts(f"{log}#-2", f"{log}#-1", given_of()).before.launch == 0
    with pytest.raises(LogauditError, match=r"there is no start 2 \(starts in this log: 0, 1\)"):
        compare_starts(f"{log}#2", str(log), given_of())


def test_a_file_may_be_named_like_a_start(tmp_path: Path) -> None:
    (tmp_path / "odd#1").touch()
    assert parse_start(str(tmp_path / "odd#1")) == (str(tmp_path / "odd#1"), -1)
    assert parse_start("server.log#3") == ("server.log", 3)
    assert parse_start("issue#abc") == ("issue#abc", -1)


def test_check_fails_on_a_fall_beyond_the_threshold(capsys: pytest.CaptureFixture[str]) -> None:
    more, fewer = (str(FIXTURES / f"{name}.log") for name in ("0.5.15__llama8b-default", "0.5.2__llama8b-cap200001"))
    fall = 100 * (1 - printed("0.5.2__llama8b-cap200001") / printed("0.5.15__llama8b-default"))
    assert run(["diff", more, fewer, "--check"]) == 1
    assert run(["diff", more, fewer]) == 0
    assert run(["diff", more, fewer, "--check", "--threshold", str(fall + 0.1)]) == 0
    assert run(["diff", more, fewer, "--check", "--threshold", str(fall - 0.1)]) == 1
    assert run(["diff", fewer, more, "--check"]) == 0
    assert "tokens fewer" in capsys.readouterr().out


def test_check_fails_when_the_second_start_has_no_cache() -> None:
    crashed = compared("0.5.15__llama8b-default", "0.5.6__llama8b-oom")
    assert crashed.after.tokens is None
    assert fell(crashed, 50)
    backwards = compared("0.5.6__llama8b-oom", "0.5.15__llama8b-default")
    assert not fell(backwards, 1)
    assert fell(backwards, 1, strict=True)


@pytest.mark.parametrize("form", ["text", "md", "html", "json"])
def test_every_form_gives_the_same_figures(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = (str(FIXTURES / f"{name}.log") for name in ("0.5.15__llama8b-default", "0.5.2__llama8b-cap200001"))
    assert run(["diff", before, after, "--format", form]) == 0
    out = capsys.readouterr().out
    tokens = printed("0.5.2__llama8b-cap200001")
    assert (f"{tokens:,}" if form != "json" else str(tokens)) in out
    assert "--max-total-tokens" in out
    if form == "html":
        carried = out.partition('id="logaudit-data">')[2].partition("</script>")[0]
        assert json.loads(carried)["after"]["tokens"] == tokens


def test_a_hostile_model_path_stays_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    after = changed_log(tmp_path, ("/models/kimi-k25'", "/models/<script>alert(1)</script>'"))
    assert run(["diff", str(KIMI), str(after), "--format", "html"]) == 0
    assert "<script>alert" not in capsys.readouterr().out
