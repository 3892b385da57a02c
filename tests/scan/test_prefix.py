"""SGLang's prefixes of every release, and those of logging configurations, give message, time and rank."""

from __future__ import annotations

from datetime import datetime

import pytest

from logaudit.scan.line import RankTag
from logaudit.scan.prefix import is_bare, parse

MESSAGE = "Memory pool end. avail mem=9.76 GB"
DAY = datetime(2025, 1, 2, 12, 1, 2)


@pytest.mark.parametrize(
    ("prefix", "time", "rank"),
    [
        ("", None, RankTag()),
        ("[gpu_id=3] ", None, RankTag(gpu=3)),
        ("[12:01:02 TP0] ", None, RankTag(tp=0)),
        ("[12:01:02 DP1 TP0] ", None, RankTag(dp=1, tp=0)),
        ("[2025-01-02 12:01:02] ", DAY, RankTag()),
        ("[2025-01-02 12:01:02 DP3 TP3 EP3 PP1] ", DAY, RankTag(dp=3, tp=3, ep=3, pp=1)),
        (
            "[2025-01-02 12:01:02.123 DP0 PP1 ATTN_CP2 MOE_DP1 TP3 EP3] ",
            datetime(2025, 1, 2, 12, 1, 2, 123000),
            RankTag(dp=0, pp=1, attn_cp=2, moe_dp=1, tp=3, ep=3),
        ),
        ("[2025-01-02 12:01:02 encode_server] ", DAY, RankTag(extra="encode_server")),
        ("[2025-01-02 12:01:02 encode_dp_worker[1]] ", DAY, RankTag(extra="encode_dp_worker[1]")),
        ("[TP0] ", None, RankTag(tp=0)),
        ("[2025-01-02 12:01:02 DisaggregationMode.DECODE TP1] ", DAY, RankTag(tp=1, extra="DisaggregationMode.DECODE")),
        ("INFO:sglang.srt.mem_cache.memory_pool:", None, RankTag()),
        ("INFO server_args.py:1217: ", None, RankTag()),
        (
            "2025-01-02 12:01:02,491 [INFO] sglang.srt.mem_cache.memory_pool: ",
            DAY.replace(microsecond=491000),
            RankTag(),
        ),
        ("2025-01-02 12:01:02,491 - sglang.srt.model_executor - INFO - ", DAY.replace(microsecond=491000), RankTag()),
        ("2025-01-02 12:01:02.491 | INFO     | sglang.srt.mem:load:12 - ", DAY.replace(microsecond=491000), RankTag()),
        ("[2025-01-02 12:01:02 TP0] WARNING model_runner.py:814: ", DAY, RankTag(tp=0)),
        ("[2025-01-02 12:01:01] [2025-01-02 12:01:02 TP0] ", DAY, RankTag(tp=0)),
        ("[2025-01-02 12:01:02 TP0 2025-01-02 12:01:02,120] ", DAY, RankTag(tp=0)),
        ("[INFO] ", None, RankTag()),
    ],
)
def test_prefixes(prefix: str, time: datetime | None, rank: RankTag) -> None:
    parsed = parse(prefix + MESSAGE)
    assert (parsed.text, parsed.time, parsed.rank) == (MESSAGE, time, rank)
    assert is_bare(prefix + MESSAGE)


def test_a_range_of_ranks_names_each() -> None:
    assert [rank.tp for rank in parse(f"[2025-01-02 12:01:02 TP0..3] {MESSAGE}").spread] == [0, 1, 2, 3]


def test_a_failed_rank_check_is_no_part_of_the_message() -> None:
    assert parse(f"[2025-01-02 12:01:02 TP0] {MESSAGE} (rank-check failed: x)").text == MESSAGE


@pytest.mark.parametrize(
    "text",
    [
        "INFO:     Uvicorn running on http://127.0.0.1:30000",
        "WARNING torch.distributed is not available",
        "Using X: y",
        "[Gloo] Rank 0 is connected to 1 peer ranks.",
        "W0101 12:00:00.0 123 torch/utils/_pytree.py:9] <enum 'X'> is an Enum subclass",
        "[2025-01-02 12:99:02 TP0",
    ],
)
def test_what_is_no_prefix_stays(text: str) -> None:
    assert parse(text).text == text


def test_an_impossible_date_gives_no_time() -> None:
    assert parse(f"[2025-13-40 12:01:02 TP0] {MESSAGE}").time is None


def test_a_prefix_without_its_first_character_is_one_still() -> None:
    parsed = parse(f"2025-01-02 12:01:02 TP3] {MESSAGE}")
    assert (parsed.text, parsed.time, parsed.rank.tp) == (MESSAGE, DAY, 3)
