"""Bars as SGLang's logs hold them."""

from __future__ import annotations

import pytest

from logaudit.watch.progress import last_bar


@pytest.mark.parametrize(
    ("text", "name", "done", "total", "elapsed_s", "left_s"),
    [
        (
            "\rLoading safetensors checkpoint shards:  50% Completed | 2/4 [00:01<00:01,  1.72it/s]",
            "Loading safetensors checkpoint shards",
            2,
            4,
            1.0,
            1.0,
        ),
        (
            "Loading safetensors checkpoint shards:   0% Completed | 0/88 [00:00<?, ?it/s]",
            "Loading safetensors checkpoint shards",
            0,
            88,
            0.0,
            None,
        ),
        (
            "Multi-thread loading shards:  50% Completed | 2/4 [01:02<1:00:03,  1.72it/s]",
            "Multi-thread loading shards",
            2,
            4,
            62.0,
            3603.0,
        ),
        (
            "\rCapturing batches (avail_mem=7.61 GB):  50%|█████     | 11/23 [00:03<00:04,  3.0it/s]",
            "Capturing batches",
            11,
            23,
            3.0,
            4.0,
        ),
        (
            "Capturing num tokens (num_tokens=4096 avail_mem=7.61 GB):   0%|          | 0/58 [00:00<?, ?it/s]",
            "Capturing num tokens",
            0,
            58,
            0.0,
            None,
        ),
    ],
)
def test_bars(text: str, name: str, done: int, total: int, elapsed_s: float, left_s: float | None) -> None:
    bar = last_bar(text.encode())
    assert bar is not None
    assert (bar.name, bar.done, bar.total, bar.elapsed_s, bar.left_s) == (name, done, total, elapsed_s, left_s)


def test_of_several_bars_in_one_line_the_last_counts() -> None:
    steps = (
        f"\rLoading safetensors checkpoint shards:  {n}0% Completed | {n}/10 [00:01<00:01, 1it/s]" for n in range(9)
    )
    bar = last_bar("".join(steps).encode())
    assert bar is not None
    assert bar.done == 8


def test_other_lines_are_no_bars() -> None:
    assert last_bar(b"[2026-11-29 13:35:05] Load weight begin. avail mem=94.04 GB") is None
