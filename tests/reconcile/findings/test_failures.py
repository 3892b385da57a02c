"""What the advice after a failure says: raise or lower the fraction, and the number."""

from __future__ import annotations

import pytest

from logaudit.reconcile.failures import advise
from logaudit.report.verdict import verdict
from tests.reconcile.findings.starts import (
    DEATH,
    GOOD,
    READY,
    REFUSED,
    SEED,
    codes,
    cut_after,
    cut_before,
    device_error,
    died,
    fixture,
    start,
    words,
)


def test_smallest_fraction_that_starts() -> None:
    """38.90 GiB were free before loading and 23.80 after: above 1 - 23.80 / 38.90 anything is left."""
    advice = advise(start(REFUSED))
    assert advice is not None
    assert advice.direction == "raise"
    assert advice.smallest == pytest.approx(1 - 23.80 / 38.90)
    assert advice.suggested is not None
    assert advice.suggested > 1 - 23.80 / 38.90
    assert advice.asked_gib == pytest.approx(38.90 * (1 - 0.3))
    assert advice.there_gib == pytest.approx(23.80)


def test_the_release_s_own_fraction_is_suggested_on_a_known_card() -> None:
    """0.5.6 on 39.49 GiB: 512 + 1.5 x 4096 + 2 x 32 + 1024 / 8 MiB are kept of floor(39.49 x 1024) = 40437 MiB."""
    kept = 512 + 1.5 * 4096 + 2 * 32 + 1024 / 8
    advice = advise(start(REFUSED, gpu_memory_gib=39.49))
    assert advice is not None
    assert advice.automatic == round((40437 - kept) / 40437, 3)
    assert advice.suggested == advice.automatic


def test_fraction_for_one_full_length_request() -> None:
    """Llama 3.1 8B: 8 KV heads x 128 x 2 x 32 layers x 2 bytes = 131,072 bytes a token, 131,072 tokens at most."""
    config = fixture("x").parent.parent / "models" / "llama31-8b.json"
    advice = advise(start(REFUSED, model_config=config))
    good = start(GOOD.read_text() + READY + REFUSED.read_text())
    size = 131072 * (8 * 128 * 2 * 32 * 2) / 2**30
    exact = 1 - (23.80 - size) / 38.90
    assert advice is not None
    for found in (advice, advise(good)):
        assert found is not None
        assert found.for_tokens[0].tokens == 131072
        assert exact - 0.002 <= found.for_tokens[0].fraction <= exact + 0.002
        assert found.for_tokens[0].left_gib == pytest.approx(23.80 - size, abs=0.05)


def test_no_fraction_can_work_when_the_weights_fill_the_card() -> None:
    text = REFUSED.read_text().replace("avail mem=23.80 GB, mem usage=15.10", "avail mem=0.40 GB, mem usage=38.50")
    advice = advise(start(text))
    assert advice is not None
    assert advice.impossible
    assert advice.suggested is None
    assert advice.changes == {}
    assert "No value of --mem-fraction-static can work" in words(start(text), "failure_no_kv_room").action


def test_state_of_all_slots_takes_the_budget() -> None:
    """0.835 leaves 60.70 - 78.61 x 0.165 GiB, yet SGLang asks for a higher fraction: the state is what is too large."""
    case = start(fixture("0.5.5__nemotron9b"))
    advice = advise(case)
    assert advice is not None
    assert advice.reason == "state_takes_all"
    assert advice.there_gib == pytest.approx(60.70 - 78.61 * (1 - 0.835))
    assert "512 request slots" in words(case, "failure_state_takes_all").detail


def test_out_of_memory_at_capture_lowers_the_fraction() -> None:
    text = died(cut_after(SEED, "TP0] Capture cuda graph begin"), device_error("2.00 GiB", "1.25 GiB"))
    advice = advise(start(text))
    assert advice is not None
    assert (advice.reason, advice.direction) == ("oom_capture", "lower")
    assert (advice.asked_gib, advice.there_gib) == (2.0, 1.25)
    assert advice.suggested is not None
    assert advice.suggested <= 0.88 - (2.00 - 1.25) / 94.04
    assert advice.suggested > 1 - 21.71 / 94.04


def test_out_of_memory_while_loading_has_nothing_to_do_with_the_fraction() -> None:
    text = died(cut_before(SEED, "Load weight end"), device_error("2.00 GiB", "1.25 GiB", own="60.00 GiB"))
    advice = advise(start(text))
    assert advice is not None
    assert (advice.reason, advice.direction) == ("oom_load", "neither")
    assert advice.others_gib == pytest.approx(95.00 - 60.00 - 1.25)
    assert "33.75 GiB" in words(start(text), "failure_oom_load").detail


def test_out_of_memory_of_the_device_while_serving() -> None:
    text = died(SEED.read_text() + READY, device_error("4.00 GiB", "0.50 GiB"))
    case = start(text)
    advice = advise(case)
    assert advice is not None
    assert (advice.reason, advice.direction) == ("oom_serving", "lower")
    assert advice.suggested is not None
    assert advice.suggested <= 0.88 - 3.5 / 94.04
    assert "--chunked-prefill-size 4096 instead of 8192" in words(case, "failure_oom_serving").action


def test_kv_cache_runs_out_while_serving() -> None:
    error = (
        "RuntimeError: Decode out of memory. Try to lower your batch size.\nTry to allocate 96 tokens.\n"
        "Available tokens: 95 (available_size=90 + evictable_size=5)"
    )
    case = start(died(SEED.read_text() + READY, error))
    advice = advise(case)
    assert advice is not None
    assert advice.reason == "kv_exhausted"
    assert "96 tokens were asked for, 95 were there" in words(case, "failure_kv_exhausted").detail
    assert "KV cache ran out of tokens" in verdict(case)[0]


def test_recurrent_state_runs_out_while_serving() -> None:
    error = (
        "AssertionError: Not enough space for mamba cache, try to increase --mamba-full-memory-ratio or "
        "--max-mamba-cache-size. mid=None, self.mamba_pool.size=384, self.mamba_allocator.available_size()=0, "
        "len(reqs)=3"
    )
    case = start(died(SEED.read_text() + READY, error))
    advice = advise(case)
    assert advice is not None
    assert advice.reason == "kv_exhausted"
    finding = words(case, "failure_kv_exhausted")
    assert finding.title == "The recurrent-state pool ran out while serving"
    assert "384 slots" in finding.detail
    assert "--max-mamba-cache-size" in finding.action
    assert "recurrent-state pool ran out of slots" in verdict(case)[0]


def test_mamba_state_too_small() -> None:
    """-0.52 GiB were left; a request takes 5 slots of 72.10 MiB, one more pads, the KV cache gets 1 / 0.9 as much."""
    error = (
        "RuntimeError: Not enough GPU memory for hybrid (mamba/linear-attention) state cache. Computed "
        "max_mamba_cache_size=0 (total_rest_memory=-0.52 GB, mamba_cache_per_req=72.10 MB). Try: (1) reduce"
    )
    text = died(cut_before(fixture("0.5.22__qwen3next-tp4"), "Mamba Cache is allocated"), error)
    case = start(text)
    advice = advise(case)
    assert advice is not None
    assert advice.reason == "mamba_too_small"
    needed = (5 + 1) * 72.10 / 1024 * (1 + 1 / 0.9)
    assert advice.asked_gib == pytest.approx(needed)
    assert case.fraction is not None
    assert advice.before_gib is not None
    assert advice.smallest == pytest.approx(case.fraction.interval.value + (needed + 0.52) / advice.before_gib)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ("ValueError: SWA pool (100 tokens) cannot hold even one request: window", "failure_swa_too_small"),
        (
            "ValueError: SWA pool cap (86826 tokens, 10.20 GiB) leaves no room for the full KV pool within the "
            "available 9.10 GiB. Reduce --max-running-requests",
            "failure_swa_cap",
        ),
        (
            "RuntimeError: int8 mamba checkpoint pool needs ~2.10GB but only 1.20GB HBM is free. Lower "
            "--int8-mamba-ckpt-size (currently 512) or --mem-fraction-static.",
            "failure_checkpoint_pool",
        ),
        (
            "RuntimeError: UnifiedKVPool: sub-pool 'full' fits only 0 slots in 1000 bytes, but min_slot_index=1 leaves "
            "no room for real data.",
            "failure_unified_too_small",
        ),
    ],
)
def test_other_pools_that_do_not_fit(error: str, code: str) -> None:
    case = start(died(cut_before(fixture("0.5.17__gptoss-tp2"), "KV Cache is allocated"), error))
    assert codes(case)[code] == "critical"


def test_host_cache_is_asked_for_by_every_rank() -> None:
    """8 ranks of 300 GB each, 500.20 GB free: 0.9 x 500.20 / 2400 of the ratio 2 is left, under 1: switch it off."""
    error = (
        "ValueError: Not enough host memory available. Requesting 300.00 GB but only have 500.20 GB free. "
        "Please reduce the size of the hierarchical cache."
    )
    case = start(died(SEED.read_text(), error))
    advice = advise(case)
    assert advice is not None
    assert advice.per_rank_times == 8
    assert "2400.00 GB in all" in words(case, "failure_host_memory").detail
    assert 2.0 * 0.9 * 500.20 / 2400 < 1
    assert advice.changes == {"enable_hierarchical_cache": False}


def test_a_port_in_use_is_not_memory() -> None:
    head = SEED.read_text().splitlines(keepends=True)[0]
    error = "OSError: [Errno 98] error while attempting to bind on address ('127.0.0.1', 30000): address already in use"
    case = start(died(head, error, rank=""))
    assert "Memory was not the reason" in words(case, "failure_not_memory").title
    assert "memory was not the reason" in verdict(case)[0]
    assert advise(case).suggested is None  # type: ignore[union-attr]


def test_unbalanced_gpus() -> None:
    error = (
        "RuntimeError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes. "
        "pre_model_load_memory=45.123046875, local_gpu_memory=78.5791015625, local_gpu_memory * 0.9=70.72119140625"
    )
    case = start(died(cut_before(SEED, "Load weight begin"), error))
    assert "45.12 GiB free" in words(case, "failure_unbalanced").title
    assert advise(case).direction == "neither"  # type: ignore[union-attr]


def test_killed_from_outside_is_called_a_rule_of_thumb() -> None:
    case = start(cut_before(SEED, "Load weight end") + "Killed\n")
    assert "as a rule" in words(case, "failure_killed").title


def test_a_failed_capture_that_wraps_the_reason_is_memory() -> None:
    text = cut_after(SEED, "TP0] Capture cuda graph begin")
    error = "Exception: Capture cuda graph failed: CUDA out of memory. Tried to allocate 2.00 GiB."
    case = start(died(text, error))
    assert case.launch.failure is not None
    assert case.launch.failure.kind == "memory"
    assert "failure_oom_capture" in codes(case)


def test_verdict_of_a_crash_begins_with_the_reason_and_the_number() -> None:
    title, asked, advice = verdict(start(REFUSED))[:3]
    assert title == "Crashed while sizing the KV cache: GPU memory was the reason."
    assert "23.80 GiB" in asked
    assert "27.23 GiB" in asked
    assert advice.startswith("Raise --mem-fraction-static from 0.3 to 0.8")
    assert f"{1 - 23.80 / 38.90:.4f}" in advice


def test_a_crash_without_a_known_reason_says_so() -> None:
    case = start(cut_before(SEED, "Load weight end") + DEATH)
    assert codes(case)["failure_unknown"] == "warning"
