"""What is kept of a log that grows for weeks."""

from __future__ import annotations

import pytest

from logaudit.watch import keeper as keeping
from logaudit.watch.keeper import Keeper

ANCHORS = [b"avail mem=", b"server_args="]


def numbered(keeper: Keeper) -> list[tuple[int, bytes]]:
    lines = []
    for region in keeper.snapshot().kept:
        lines += list(enumerate(region.data.splitlines(), region.number))
    return lines


def test_lines_of_interest_keep_their_numbers() -> None:
    keeper = Keeper("log", ANCHORS)
    traffic = b"Decode batch\n" * 5000
    keeper.feed(b"first avail mem=1\n" + traffic + b"second avail mem=2\n" + traffic)
    lines = dict(numbered(keeper))
    assert lines[1] == b"first avail mem=1"
    assert lines[5002] == b"second avail mem=2"
    assert len(lines) < 1000
    assert keeper.lines == 10_002


def test_a_line_that_comes_in_pieces_is_one_line() -> None:
    keeper = Keeper("log", ANCHORS)
    assert keeper.feed(b"Load weight begin. avail") == []
    assert keeper.feed(b" mem=94.04 GB\n") == [(1, b"Load weight begin. avail mem=94.04 GB\n")]


def test_the_traffic_before_a_traceback_is_kept() -> None:
    keeper = Keeper("log", ANCHORS)
    keeper.feed(b"Decode batch\n" * 3000 + b"Traceback (most recent call last):\n" + b"  frame\n" * 300 + b"Boom\n")
    keeper.feed(b"traffic of another rank\n" * 3000)
    lines = dict(numbered(keeper))
    assert lines[2900] == b"Decode batch"
    assert lines[3302] == b"Boom"


def test_lines_that_are_passed_over_in_blocks_count() -> None:
    keeper = Keeper("log", ANCHORS)
    for block in range(100):
        keeper.feed(b"".join(b"Decode batch %d\r\n" % number for number in range(block * 50, block * 50 + 50)))
    keeper.feed(b"free avail mem=2\n")
    lines = dict(numbered(keeper))
    assert lines[5001] == b"free avail mem=2"
    assert lines[5000] == b"Decode batch 4999"
    assert keeper.lines == 5001


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "START_BYTES", 20_000)
    monkeypatch.setattr(keeping, "LATER_BYTES", 10_000)
    monkeypatch.setattr(keeping, "RECENT_BYTES", 5_000)
    keeper = Keeper("log", ANCHORS)
    for _ in range(200):
        keeper.feed(b"always of interest avail mem=1\n" * 100)
    assert keeper.kept_bytes < 20_000 + 10_000 + 5_000 + 200
    assert keeper.lines == 20_000


def test_a_line_of_bars_without_end_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "LINE_BYTES", 10_000)
    keeper = Keeper("log", ANCHORS)
    for step in range(5000):
        keeper.feed(b"\rLoading safetensors checkpoint shards: %d/5000" % step)
    assert keeper.kept_bytes < 11_000
    assert keeper.partial.endswith(b"4999/5000")


def test_an_earlier_start_is_forgotten() -> None:
    keeper = Keeper("log", ANCHORS)
    keeper.feed(b"server_args=1\n" + b"x\n" * 100 + b"server_args=2\n")
    keeper.forget_before(102)
    assert numbered(keeper)[-1] == (102, b"server_args=2")
    assert 1 not in dict(numbered(keeper))


def test_utf16_is_read_as_what_it_says() -> None:
    keeper = Keeper("log", ANCHORS)
    data = "Load weight begin. avail mem=94.04 GB\n".encode("utf-16")
    assert keeper.feed(data[:21]) + keeper.feed(data[21:]) == [(1, b"Load weight begin. avail mem=94.04 GB\n")]
