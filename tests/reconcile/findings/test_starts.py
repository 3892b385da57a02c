"""What changed since the last good start, and what a server said before it died."""

from __future__ import annotations

import pytest

from logaudit.reconcile.compare_starts import differences
from logaudit.reconcile.traffic import last_minutes
from logaudit.report.verdict import verdict
from tests.reconcile.findings.starts import GOOD, READY, REFUSED, SEED, codes, device_error, died, found, start, words


def batches(count: int) -> str:
    """One prefill and one decode line a minute."""
    return "".join(
        f"[2026-11-29 13:{30 + i}:00 TP0] Prefill batch, #new-seq: 1, #new-token: {8192 - i}, #cached-token: 0, "
        f"token usage: {0.04 * i:.2f}, #running-req: {i}, #queue-req: {2 * i}, \n"
        f"[2026-11-29 13:{30 + i}:01 TP0] Decode batch, #running-req: {i + 1}, #token: {4000 * i}, "
        f"token usage: {0.04 * i:.2f}, cuda graph: True, gen throughput (token/s): 250.10, #queue-req: {2 * i}, \n"
        for i in range(count)
    )


RETRACTED = (
    "[2026-11-29 13:49:30 TP0] KV cache pool is full. Retract requests. #retracted_reqs: 2, "
    "#new_token_ratio: 0.5870 -> 0.7128\n"
)


def test_last_minutes_of_a_server() -> None:
    """Lines from 13:30 to 13:49; the last ten minutes before the last line, 13:49:30, begin at 13:40."""
    text = died(SEED.read_text() + READY + batches(20) + RETRACTED, device_error("2.00 GiB", "1.25 GiB"))
    case = start(text)
    last = last_minutes(case.launch)
    assert last is not None
    assert last.batches == 20
    assert (last.last_running, last.most_running) == (20, 20)
    assert (last.last_queued, last.most_queued) == (38, 38)
    assert last.last_usage == pytest.approx(0.76)
    assert (last.retractions, last.retracted) == (1, 2)
    assert (last.largest_chunk, last.last_chunk) == (8192 - 10, 8192 - 19)
    assert last.span_s == pytest.approx(9 * 60 + 30)
    assert codes(case)["serving_crash"] == "critical"
    detail = words(case, "serving_crash").detail
    assert "2 requests were taken back" in detail
    assert "8,182 new tokens" in detail
    assert any("In its last minutes: token usage 0.76, 20 requests running" in sentence for sentence in verdict(case))


def test_no_traffic_no_summary() -> None:
    assert last_minutes(start(SEED).launch) is None


def test_what_changed_since_the_last_good_start() -> None:
    case = start(GOOD.read_text() + READY + REFUSED.read_text())
    changed = differences(case)
    assert changed is not None
    names = [change.name for change in changed.changes]
    assert names[0] == "--mem-fraction-static"
    assert {"free before loading", "free after loading"} <= set(names)
    assert codes(case)["starts_differ"] == "warning"
    assert "Unlike the last good start: --mem-fraction-static 0.3 instead of 0.9" in verdict(case)[0]
    assert codes(case)["occupied_before"] == "warning"


def test_the_same_start_again_crashes_with_nothing_changed() -> None:
    text = died(SEED.read_text() + READY + SEED.read_text(), device_error("2.00 GiB", "1.25 GiB"))
    case = start(text)
    assert case.previous is not None
    assert "same memory arguments" in verdict(case)[0]
    assert found(case, "starts_differ") is not None
    assert "Nothing that is printed changed" in words(case, "starts_differ").title


def test_a_first_start_has_nothing_to_be_compared_with() -> None:
    assert differences(start(SEED)) is None


def test_values_of_other_arguments_are_not_told() -> None:
    bad = REFUSED.read_text().replace("api_key=None", "api_key='sk-0123456789abcdef0123'")
    case = start(GOOD.read_text() + READY + bad)
    assert "sk-0123456789abcdef0123" not in words(case, "starts_differ").detail
