"""The fleet report's answers, on starts whose differences are written here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from logaudit.cli.main import run
from tests.oracle import FIXTURES, MODELS

KIMI = FIXTURES.parent / "kimi-k25-tp8.log"
TOKEN_BYTES = 61 * 576 * 2
"""Of the first fixture's model: 61 layers, 576 values, bf16."""


def variant(folder: Path, name: str, *changes: tuple[str, str]) -> None:
    """The first fixture with texts replaced."""
    text = KIMI.read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    (folder / f"{name}.log").write_text(text)


def answers(folder: Path, tmp_path: Path, *, exact: bool = False) -> dict[str, object]:
    out = tmp_path / "report.json"
    given = ["--model-config", str(MODELS / "kimi-k25.json")] if exact else []
    assert run(["fleet", str(folder), "-o", str(tmp_path / "out"), "--workers", "0", "--report", str(out), *given]) == 0
    found: dict[str, object] = json.loads(out.read_text())
    return found


def tokens(number: int) -> tuple[str, str]:
    return ("159277", str(number))


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Three alike, and one each with less free memory, another fraction, a cap and little left; two that crashed."""
    folder = tmp_path / "host-a"
    folder.mkdir()
    for number in range(3):
        variant(folder, f"alike-{number}", ("2026-11-29", f"2026-11-{10 + number}"))
    occupied = (("avail mem=94.04 GB", "avail mem=92.04 GB"), ("avail mem=21.71 GB", "avail mem=19.71 GB"))
    variant(folder, "occupied", *occupied, tokens(132_000), ("2026-11-29", "2026-12-01"))
    variant(folder, "careful", ("mem_fraction_static=0.88", "mem_fraction_static=0.86"), tokens(130_500))
    variant(folder, "capped", ("max_total_tokens=None", "max_total_tokens=100000"), tokens(100_000))
    for name in ("0.5.6__llama8b-oom", "0.5.5__nemotron9b"):
        (folder / f"{name}.log").write_text((FIXTURES / f"{name}.log").read_text())
    return folder


def test_who_holds_fewer_tokens_than_their_like_and_why(logs: Path, tmp_path: Path) -> None:
    found = {Path(entry["start"]).name: entry for entry in answers(logs, tmp_path, exact=True)["fewer_tokens"]}  # type: ignore[attr-defined]
    assert set(found) == {"occupied.log#0", "careful.log#0", "capped.log#0"}
    (cause,) = found["occupied.log#0"]["causes"]
    assert cause["cause"] == "less free before loading, 92.04 GiB instead of 94.04"
    # Of 2 GiB that were taken by others, the fraction's share is missing in the cache.
    assert cause["tokens"] == pytest.approx(-2 * 0.88 * 2**30 / TOKEN_BYTES, rel=0.01)
    (cause,) = found["careful.log#0"]["causes"]
    assert cause["cause"] == "another fraction, 0.86 instead of 0.88"
    assert cause["tokens"] == pytest.approx(-0.02 * 94.04 * 2**30 / TOKEN_BYTES, rel=0.01)
    assert found["capped.log#0"]["causes"][0]["cause"] == "a cap, --max-total-tokens 100,000"
    assert found["capped.log#0"]["others"] == 159_277


def test_one_of_a_kind_is_no_outlier(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    variant(folder, "alone", tokens(1_000))
    found = answers(folder, tmp_path)
    assert found["fewer_tokens"] == []
    assert [group["starts"] for group in found["groups"]] == [1]  # type: ignore[attr-defined]


def test_an_unbalanced_rank_is_told_from_a_full_card(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    for number in range(3):
        variant(folder, f"alike-{number}")
    lines = KIMI.read_text().split("\n")
    last = max(n for n, line in enumerate(lines) if "TP7" in line and "avail mem=21.7" in line)
    lines[last] = lines[last].replace("avail mem=21.71", "avail mem=18.71")
    (folder / "unbalanced.log").write_text("\n".join(lines).replace("159277", "113000"))
    (entry,) = answers(folder, tmp_path)["fewer_tokens"]  # type: ignore[misc, attr-defined]
    assert [cause["cause"] for cause in entry["causes"]] == ["an unbalanced rank, 3.00 GiB below the others"]


def test_crashed_starts_are_counted_by_reason(logs: Path, tmp_path: Path) -> None:
    found = answers(logs, tmp_path)["crashed"]
    assert sum(len(entry["starts"]) for entry in found) >= 1  # type: ignore[attr-defined]
    assert {entry["kind"] for entry in found} == {"memory"}  # type: ignore[attr-defined]


def test_little_left_and_much_left(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    variant(folder, "scarce", ("available_gpu_mem=7.43", "available_gpu_mem=0.43"))
    (folder / "capped.log").write_text((FIXTURES / "0.5.2__llama8b-cap200001.log").read_text())
    found = answers(folder, tmp_path)
    assert [(Path(e["start"]).name, e["headroom_gib"]) for e in found["running_out"]] == [("scarce.log#0", 0.43)]  # type: ignore[attr-defined]
    (waste,) = found["wasted"]  # type: ignore[misc]
    assert (Path(waste["start"]).name, waste["ranks"]) == ("capped.log#0", 1)
    # Llama 3.1 8B: 32 layers of 8 KV heads, 128 values each, keys and values, bf16.
    assert waste["tokens"] == pytest.approx(waste["gib_per_rank"] * 2**30 / (32 * 8 * 128 * 2 * 2), rel=0.01)


def test_drift_of_one_host_over_time(logs: Path, tmp_path: Path) -> None:
    (drift,) = answers(logs, tmp_path)["drift"]  # type: ignore[misc]
    assert drift["host"] == "host-a"
    assert Path(drift["first"]).name == "alike-0.log#0"
    assert Path(drift["last"]).name == "occupied.log#0"
    assert drift["free_before_loading_gib"] == pytest.approx(-2.0)
    assert drift["tokens"] == 132_000 - 159_277


@pytest.mark.parametrize("ending", ["html", "md", "txt"])
def test_every_form_names_the_outliers(logs: Path, tmp_path: Path, ending: str) -> None:
    report = tmp_path / f"report.{ending}"
    out = str(tmp_path / "out")
    assert run(["fleet", str(logs), "-o", out, "--workers", "0", "--report", str(report)]) == 0
    text = report.read_text().replace("\n", "")
    assert "another fraction, 0.86 instead of 0.88" in text or "another fraction" in text
    assert "Starts that crashed" in text
    assert run(["fleet", str(logs), "-o", out, "--workers", "0", "--resume", "--report", str(report)]) == 0
