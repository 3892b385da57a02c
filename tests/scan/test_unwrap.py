"""Unwrapping lines one by one and in blocks: numbers, times, nodes, gaps, broken and glued lines."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime

import pytest

from logaudit.scan.line import Line, SourceLine
from logaudit.scan.unwrap import BLOCK_LINES, Unwrapper, unwrap

BEGIN = "[2026-01-02 03:04:05 TP0] Load weight begin. avail mem=78.57 GB"
END = (
    "[2026-01-02 03:04:09 TP0] Load weight end. elapsed=4.32 s, type=LlamaForCausalLM, "
    "avail mem=63.51 GB, mem usage=15.06 GB."
)
END_TEXT = END.split("] ", 1)[1]


def lines_of(texts: Iterable[str], start: int = 1) -> list[Line]:
    return list(unwrap(SourceLine(number, text) for number, text in enumerate(texts, start)).lines)


def messages(texts: Iterable[str]) -> list[str]:
    return [line.text for line in lines_of(texts)]


def test_numbers_are_those_of_the_source() -> None:
    lines = lines_of(["", BEGIN, "", END], start=41)
    assert [line.number for line in lines] == [42, 44]


def test_a_joined_line_has_the_number_of_its_first_piece() -> None:
    pieces = [END[at : at + 60] for at in range(0, len(END), 60)]
    lines = lines_of([BEGIN[:60], BEGIN[60:], *pieces])
    assert [(line.number, line.text) for line in lines] == [(1, BEGIN.split("] ", 1)[1]), (3, END_TEXT)]
    assert lines[1].raw == "\n".join(pieces)


def test_nothing_is_joined_across_a_gap() -> None:
    lines = list(unwrap([SourceLine(1, END[:70]), SourceLine(3, END[70:])]).lines)
    assert [line.number for line in lines] == [1, 3]
    assert [line.text for line in list(unwrap([SourceLine(1, END[:70]), SourceLine(2, END[70:])]).lines)] == [END_TEXT]


def test_the_wrappers_time_stands_in_where_the_log_has_none() -> None:
    wrapped = "2026-05-06T07:08:09.5Z "
    lent, clock = lines_of(
        [wrapped + "Load weight begin. avail mem=1.00 GB", wrapped + "[03:04:05 TP0] Init nccl begin."]
    )
    assert lent.time == datetime(2026, 5, 6, 7, 8, 9, 500000)
    assert clock.time == datetime(2026, 5, 6, 7, 8, 9, 500000)


def test_two_clocks_are_not_mixed() -> None:
    wrapped = "2026-05-06T07:08:09.5Z "
    own, other = lines_of([wrapped + BEGIN, wrapped + "Load weight begin. avail mem=1.00 GB"])
    assert own.time == datetime(2026, 1, 2, 3, 4, 5)
    assert other.time is None


def test_several_pods_are_numbered_and_one_is_not() -> None:
    two = lines_of([f"[pod/sglang-{pod}/server] {BEGIN}" for pod in (0, 1, 0, 1, 0, 1)])
    assert [line.rank.node for line in two] == [0, 1, 0, 1, 0, 1]
    assert [line.stream for line in two[:2]] == ["sglang-0/server", "sglang-1/server"]
    one = lines_of([f"[pod/sglang-0/server] {BEGIN}"] * 3)
    assert [line.rank.node for line in one] == [None] * 3


def test_line_numbers_are_no_nodes() -> None:
    assert [line.rank.node for line in lines_of(f"{number}: {BEGIN}" for number in range(1, 9))] == [None] * 8


def test_pieces_of_two_containers_are_joined_apart() -> None:
    stamp = "2026-01-02T03:04:05.6Z"
    texts = [
        f"[pod/a/s] {stamp} stderr P {BEGIN[:40]}",
        f"[pod/b/s] {stamp} stderr P {END[:50]}",
        f"[pod/a/s] {stamp} stderr F {BEGIN[40:]}",
        f"[pod/b/s] {stamp} stderr F {END[50:]}",
    ]
    assert messages(texts) == [BEGIN.split("] ", 1)[1], END_TEXT]


def test_a_record_cut_at_sixteen_kibibytes_is_joined() -> None:
    dump = "[2026-01-02 03:04:05] server_args=ServerArgs(" + ", ".join(f"a{n}={n}" for n in range(3000)) + ")"
    whole = dump + "\n"
    texts = [
        json.dumps({"log": whole[at : at + 16384], "stream": "stderr", "time": "2026-01-02T03:04:05Z"})
        for at in range(0, len(whole), 16384)
    ]
    assert len(texts) > 2
    assert messages([*texts, json.dumps({"log": BEGIN + "\n", "stream": "stderr"})]) == [
        dump.split("] ", 1)[1],
        BEGIN.split("] ", 1)[1],
    ]


def test_two_ranks_glued_together_come_apart() -> None:
    other = BEGIN.replace("TP0", "TP1")
    assert [(line.rank.tp, line.text) for line in lines_of([BEGIN + other])] == [
        (0, "Load weight begin. avail mem=78.57 GB"),
        (1, "Load weight begin. avail mem=78.57 GB"),
    ]


@pytest.mark.parametrize("end", ["", "\r"])
def test_a_line_behind_a_bar_is_found(end: str) -> None:
    bar = "Capturing batches (bs=1 avail_mem=5.20 GB):  50%|█████     | 1/2 [00:01<00:01,  1.00s/it]"
    assert messages([f"{bar}{end}{BEGIN}"]) == [bar, "Load weight begin. avail mem=78.57 GB"]


def test_a_traceback_is_not_glued_to_a_message() -> None:
    texts = [
        "[2026-01-02 03:04:05 TP0] Scheduler hit an exception: Traceback (most recent call last):",
        '  File "/sgl/scheduler.py", line 9, in run',
        "    scheduler = Scheduler(server_args)",
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
    ]
    assert messages(texts) == [texts[0].split("] ", 1)[1], *texts[1:]]


def test_a_command_over_several_lines_is_one() -> None:
    assert messages(["python -m sglang.launch_server \\", "  --model-path /m \\", "  --tp 8", BEGIN])[0] == (
        "python -m sglang.launch_server --model-path /m --tp 8"
    )


def test_elisions_stay() -> None:
    text = "[2026-01-02 03:04:05 TP0] Memory pool end. avail mem=7.43-7.53 GB"
    assert messages([text, "[2026-01-02 03:04:05] server_args=ServerArgs(model_path='…', ...)"]) == [
        "Memory pool end. avail mem=7.43-7.53 GB",
        "server_args=ServerArgs(model_path='…', ...)",
    ]


def test_lines_of_other_programs_lose_the_same_wrapper_and_no_more() -> None:
    texts = [f"server-1  | {text}" for text in ("Traceback:", BEGIN, "    indented = 1", "12: twelve", "- dash")]
    assert messages(texts) == [
        "Traceback:",
        "Load weight begin. avail mem=78.57 GB",
        "    indented = 1",
        "12: twelve",
        "- dash",
    ]


def test_plain_lines_of_other_programs_stay_as_they_are() -> None:
    texts = [
        BEGIN,
        "12: twelve",
        "> quoted",
        "- dash",
        "| bar |",
        "    indented",
        '"quoted",',
        "name | text",
        "3) three",
        END,
    ]
    assert messages(texts)[1:-1] == texts[1:-1]


def test_a_growing_log_gives_the_same_as_a_whole_one() -> None:
    texts = [
        f"server-1  | {text}"
        for number in range(BLOCK_LINES)
        for text in (BEGIN, f"noise {number}", END[:80], END[80:])
    ]
    whole = lines_of(texts)
    grown: list[Line] = []
    unwrapper = Unwrapper()
    for number, text in enumerate(texts, 1):
        grown.extend(unwrapper.feed(SourceLine(number, text)))
        if number % 4 == 0:
            grown.extend(unwrapper.flush())
    grown.extend(unwrapper.flush())
    assert [(line.number, line.text) for line in grown] == [(line.number, line.text) for line in whole]
    assert {line.text for line in whole if line.text.startswith("Load weight end")} == {END_TEXT}


def test_the_wrappers_are_named() -> None:
    unwrapped = unwrap([SourceLine(1, json.dumps({"log": f"> server-1  | {BEGIN}\n"}))])
    assert [line.text for line in unwrapped.lines] == ["Load weight begin. avail mem=78.57 GB"]
    assert unwrapped.wrappers == ["JSON lines", "quoting", "docker compose"]


def test_a_plain_log_has_no_wrappers() -> None:
    unwrapped = unwrap([SourceLine(1, BEGIN), SourceLine(2, END)])
    assert len(list(unwrapped.lines)) == 2
    assert unwrapped.wrappers == []


@pytest.mark.parametrize(
    "text",
    ["[" * 50_000, '{"a":' * 20_000, "| " * 50_000, " " * 200_000 + "x", "\\n" * 50_000, "`" * 50_000, '"' * 50_001],
)
def test_hostile_lines_pass_through_in_time(text: str) -> None:
    assert len(lines_of([BEGIN, text, END])) >= 2
