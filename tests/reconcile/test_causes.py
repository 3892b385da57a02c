"""Causes: what lies outside the plain budget, what closes a gap, and what speaks against the lines themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from logaudit.auditing import audit
from logaudit.report.document import Cause, LaunchDoc
from tests.conftest import ROOT

BUILDS = ROOT / "fixtures" / "builds"
ORACLE = ROOT / "fixtures" / "oracle"
MODELS = ROOT / "fixtures" / "models"


def read(text: str, folder: Path, config: str | None = None) -> LaunchDoc:
    log = folder / "server.log"
    log.write_text(text)
    [launch] = audit([str(log)], model_config=None if config is None else MODELS / config).launches
    return launch


def causes(launch: LaunchDoc) -> dict[str, Cause]:
    return {cause.code: cause for cause in launch.reconciliation.causes}


def oracle(name: str) -> str:
    return (ORACLE / f"{name}.log").read_text()


# -- outside the plain budget, and held by the formula -----------------------------------------------------------------


def test_a_cap_is_named_with_what_it_leaves_unused(tmp_path: Path) -> None:
    """200,001 tokens of 131072 B are 24.41 GiB; the budget is free after loading less the reserve."""
    launch = read(oracle("0.5.2__llama8b-cap200001"), tmp_path, "llama31-8b.json")
    cause = causes(launch)["user_cap"]
    assert launch.expected is not None
    budget = launch.expected.kv_budget_gib
    assert budget is not None
    assert cause.gib is not None
    assert cause.gib.value == pytest.approx(200_001 * 131072 / 2**30 - budget.value, abs=1e-6)
    assert launch.reconciliation.status == "explained"


def test_headroom_for_draft_tokens_is_named_until_the_release_that_dropped_it(tmp_path: Path) -> None:
    """requests x (steps x topk + draft tokens) + 100, with the figures of the dump."""
    launch = read(oracle("0.4.5__llama8b-eagle"), tmp_path, "llama31-8b.json")
    args = launch.server_args
    each = args["speculative_num_steps"] * args["speculative_eagle_topk"] + args["speculative_num_draft_tokens"]
    cause = causes(launch)["speculative_headroom"]
    assert cause.tokens is not None
    assert (cause.tokens - 100) % each == 0
    assert cause.gib is not None
    assert cause.gib.value == pytest.approx(cause.tokens * 131072 / 2**30)
    assert "leaves open" not in cause.detail
    assert "speculative_headroom" not in causes(read(oracle("0.5.12__llama8b-eagle3-tp2"), tmp_path, "llama31-8b.json"))


def test_block_scales_that_the_formula_leaves_out_are_named(tmp_path: Path) -> None:
    """0.5.4 counts 576 + 132 B a layer for FP8 sparse attention and stores 656 + 132: 80 x 61 layers x tokens."""
    launch = read(oracle("0.5.4__dsv32-tp8-fp8"), tmp_path, "deepseek-v32.json")
    actual = launch.reconciliation.actual_tokens
    assert actual is not None
    cause = causes(launch)["fp8_scales_uncounted"]
    assert cause.gib is not None
    assert cause.gib.value == pytest.approx(80 * 61 * actual / 2**30, rel=1e-6)
    assert launch.reconciliation.status == "explained"


FP4 = """\
[2026-02-03 10:00:00] server_args=ServerArgs(model_path='/models/qwen25', kv_cache_dtype='fp4_e2m1', \
mem_fraction_static=0.6, tp_size=1, page_size=1)
[2026-02-03 10:00:09] Load weight begin. avail mem=112.26 GB
[2026-02-03 10:00:20] Load weight end. type=Qwen2ForCausalLM, dtype=torch.bfloat16, avail mem=109.02 GB, mem usage=3.24 GB.
[2026-02-03 10:00:20] Using KV cache dtype: torch.float4_e2m1fn_x2
[2026-02-03 10:00:21] KV Cache is allocated. #tokens: 8533334, K size: 28.48 GB, V size: 28.48 GB
[2026-02-03 10:00:22] Memory pool end. avail mem={end} GB
[2026-02-03 10:00:23] max_total_num_tokens=8533334, chunked_prefill_size=8192, max_prefill_tokens=16384, \
max_running_requests=4096, context_len=32768, available_gpu_mem={end} GB
"""


def test_scales_beside_an_fp4_line_are_read_off_the_memory_after_the_pool(tmp_path: Path) -> None:
    """56.96 GiB are printed; an eighth more, 7.12, is taken when 109.02 - 44.90 = 64.12 GiB are gone."""
    cause = causes(read(FP4.format(end="44.90"), tmp_path))["fp4_scales_not_printed"]
    assert cause.gib is not None
    assert cause.gib.low <= 56.96 / 8 <= cause.gib.high
    assert cause.evidence == [5, 6]


def test_an_fp4_line_that_takes_what_it_prints_has_its_scales_in_it(tmp_path: Path) -> None:
    assert "fp4_scales_not_printed" not in causes(read(FP4.format(end="51.40"), tmp_path))


# -- closing a gap -----------------------------------------------------------------------------------------------------


def test_a_gap_without_a_cause_stays_unexplained(tmp_path: Path) -> None:
    """40,000 tokens of 131072 B less than the budget holds: 4.9 GiB."""
    text = (BUILDS / "bench-bare-count.log").read_text().replace("424468", "384468").replace("25.91", "23.47")
    launch = read(text, tmp_path)
    assert launch.reconciliation.status == "unexplained"
    assert launch.reconciliation.causes == []


DRIFT = """\
[2026-02-03 10:00:00] Failed to get GPU memory capacity from nvidia-smi. Falling back to torch.cuda.mem_get_info(). \
Reported total GPU memory per device (MiB): [122501], using min: 122501 MiB.
"""


def with_drift(printed: str) -> str:
    """A start on a shared-memory machine, its draft loaded when `printed` GiB are free; 63.62 were after the target."""
    lines = (BUILDS / "unknown-wording.log").read_text().replace("Paged KV arena reserved", "arena").split("\n")
    lines = [line for line in lines if "arena" not in line]
    end = next(place for place, line in enumerate(lines) if "Load weight end" in line)
    lines.insert(end + 1, f"[2026-02-03 10:00:20] Load weight begin. avail mem={printed} GB")
    return DRIFT + "\n".join(lines).replace("424468", "420468").replace("25.91", "25.66")


def test_drift_of_shared_memory_closes_a_gap_up_to_what_was_seen(tmp_path: Path) -> None:
    """4000 tokens are 0.488 GiB; free memory fell by 0.60 between two readings with nothing in between."""
    launch = read(with_drift("63.02"), tmp_path)
    cause = causes(launch)["shared_gpu_memory"]
    assert cause.gib is not None
    assert (cause.gib.low, cause.gib.high) == pytest.approx((-0.61, 0.0))
    assert launch.reconciliation.status == "explained_with_residual"


def test_drift_that_is_too_small_closes_nothing(tmp_path: Path) -> None:
    """0.02 GiB seen, 0.488 missing, and a residual may be 0.5 % of 51.8 = 0.26."""
    launch = read(with_drift("63.60"), tmp_path)
    assert "shared_gpu_memory" in causes(launch)
    assert launch.reconciliation.status == "unexplained"


def test_the_ranks_that_are_missing_are_named(tmp_path: Path) -> None:
    """TP0 holds what TP1's readings, which are not in the log, allowed: not a fault, and not explained either."""
    text = (BUILDS / "uneven-ranks-tp2.log").read_text()
    kept = [line for line in text.split("\n") if " TP1]" not in line]
    launch = read("\n".join(kept).replace("972472", "939704").replace("29.68", "28.68"), tmp_path)
    assert launch.reconciliation.status == "not_checkable"
    assert launch.reconciliation.missing == ["the readings of the other ranks: TP1"]


# -- lines at odds with each other -------------------------------------------------------------------------------------


@pytest.mark.parametrize("cap", [None, 424_468])
def test_a_pool_that_contradicts_its_tokens_leaves_nothing_explained(tmp_path: Path, cap: int | None) -> None:
    """424,469 rows of 65536 B are 25.91 GiB of keys; the line says 21.00. A cap that decides does not change that."""
    text = (BUILDS / "bench-bare-count.log").read_text().replace("K size: 25.91", "K size: 21.00")
    if cap is not None:
        text = text.replace("max_total_tokens=None", "max_total_tokens=300000").replace("424468", "300000")
    launch = read(text, tmp_path, "llama31-8b.json")
    assert launch.reconciliation.status == "unexplained"
    cause = causes(launch)["inconsistent_lines"]
    assert cause.gib is None
    assert "which take" in cause.detail
    assert cause.evidence


def test_a_budget_line_far_from_the_readings_does_not_hide_the_difference(tmp_path: Path) -> None:
    """The readings give 51.82 GiB, a line says 40.00 and the pool holds as much: the difference shows."""
    text = (BUILDS / "unknown-wording.log").read_text()
    text = text.replace(
        "Paged KV arena reserved: blocks=26536, arena memory=51.82 GB", "The available memory for KV cache is 40.00 GB."
    )
    launch = read(text.replace("424468", "327680").replace("25.91", "20.00"), tmp_path)
    assert launch.reconciliation.status == "unexplained"
    assert launch.expected is not None
    assert any("the log prints a budget of 40.00 GiB" in said for said in launch.expected.assumptions)
