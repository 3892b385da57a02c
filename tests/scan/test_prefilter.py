"""What the fast scan keeps of a large log is exactly what stands there, under its own numbers."""

from __future__ import annotations

import gzip
import os
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from logaudit.errors import SourceError
from logaudit.scan import anchors as anchors_module
from logaudit.scan import searcher as searcher_module
from logaudit.scan.anchors import HyperscanFinder, RegexFinder, make_finder
from logaudit.scan.hardwrap import looks_hard_wrapped
from logaudit.scan.limits import Limits
from logaudit.scan.reader import ScannedLines, read_lines
from logaudit.sources import Region, open_sources

ANCHORS = (b"avail mem=", b"server_args=", b"KV Cache is allocated")
FAILURES = (b"CUDA out of memory",)
PLANTED = [
    "[2026-01-02 03:04:05 TP0] Load weight begin. avail mem=78.57 GB",
    "[2026-01-02 03:04:05] server_args=ServerArgs(model_path='m', tp_size=8)",
    "KV Cache is allocated. #tokens: 434132, K size: 26.50 GB, V size: 26.50 GB",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
]
TRAFFIC = [
    "[2026-01-02 03:04:06 TP0] Decode batch, #running-req: 3, #token: 1234, token usage: 0.01",
    'INFO:     10.0.0.1:4242 - "POST /v1/chat/completions HTTP/1.1" 200 OK',
    "",
    "é ü 漢字 🙂",
    "a lone\rcarriage return",
    "avail",
    "CUDA out of",
]
TINY = Limits(
    block_bytes=64,
    lines_before=2,
    lines_after=3,
    edge_lines=3,
    edge_bytes=300,
    history_bytes=400,
    failures=2,
    line_bytes=2000,
    long_line_bytes=4000,
    traceback_lines=8,
)


@dataclass
class Bytes:
    """A source in memory, given in blocks of a chosen size."""

    data: bytes
    step: int = 1 << 16
    name: str = "bytes"
    notes: list[str] = field(default_factory=list)

    def blocks(self) -> Iterator[bytes]:
        for start in range(0, len(self.data), self.step):
            yield self.data[start : start + self.step]


def scan(source: object, limits: Limits = TINY, small_bytes: int = 0) -> ScannedLines:
    return read_lines(source, ANCHORS, FAILURES, small_bytes=small_bytes, limits=limits)  # type: ignore[arg-type]


def kept(scanned: ScannedLines) -> dict[int, str]:
    lines = list(scanned.lines)
    numbers = [line.number for line in lines]
    assert numbers == sorted(set(numbers))
    return {line.number: line.text for line in lines}


def must_keep(lines: list[str], limits: Limits) -> set[int]:
    """Numbers that have to come through, worked out line by line."""
    every = set(range(1, len(lines) + 1))
    needed = set(list(every)[: limits.edge_lines]) | set(sorted(every)[-limits.edge_lines :])
    for number, text in enumerate(lines, 1):
        if any(anchor.decode() in text for anchor in (*ANCHORS, *FAILURES)):
            needed |= set(range(number - limits.lines_before, number + limits.lines_after + 1))
    failed = [number for number, text in enumerate(lines, 1) if "CUDA out of memory" in text]
    for number in failed[-limits.failures :]:
        size = 0
        for before in range(number - 1, 0, -1):
            size += len(lines[before - 1].encode()) + 1
            if size > limits.history_bytes:
                break
            needed.add(before)
    return needed & every


logs = st.lists(st.sampled_from(TRAFFIC * 4 + PLANTED), min_size=1, max_size=120)


@settings(max_examples=150, deadline=None)
@given(lines=logs, block_bytes=st.integers(1, 200), end=st.sampled_from(["\n", "\r\n"]), closed=st.booleans())
@example(lines=[*TRAFFIC * 5, PLANTED[0], *TRAFFIC * 5, PLANTED[3]], block_bytes=1, end="\n", closed=False)
def test_every_line_kept_is_the_line_of_that_number_and_none_is_missing(
    lines: list[str], block_bytes: int, end: str, closed: bool
) -> None:
    data = (end.join(lines) + (end if closed else "")).encode()
    if not data:
        return
    limits = Limits(**{**{name: getattr(TINY, name) for name in TINY.__slots__}, "block_bytes": block_bytes})
    scanned = scan(Bytes(data, step=37), limits)
    got = kept(scanned)
    assert all(lines[number - 1] == text for number, text in got.items())
    assert must_keep(lines, limits) - {len(lines) if not closed and not lines[-1] else 0} <= set(got)
    assert scanned.stats.bytes == len(data)
    assert scanned.stats.lines == data.count(b"\n") + (not data.endswith(b"\n"))


@pytest.mark.parametrize("block_bytes", range(40, 110))
def test_an_anchor_across_a_block_boundary_is_found(block_bytes: int) -> None:
    lines = [TRAFFIC[0]] * 60
    lines[30] = PLANTED[0]
    limits = Limits(**{**{name: getattr(TINY, name) for name in TINY.__slots__}, "block_bytes": block_bytes})
    got = kept(scan(Bytes("\n".join(lines).encode()), limits))
    assert got[31] == PLANTED[0]
    assert set(got) >= {29, 30, 32, 33, 34}
    assert 20 not in got


def test_a_file_read_in_threads_gives_the_same_as_a_stream(tmp_path: Path) -> None:
    lines = (TRAFFIC * 300 + [PLANTED[0]]) * 6 + PLANTED * 3
    path = tmp_path / "server.log"
    path.write_text("\n".join(lines), newline="")
    limits = Limits(block_bytes=5000, edge_bytes=1000, history_bytes=8000, line_bytes=3000, long_line_bytes=9000)
    from_file = scan(open_sources([str(path)])[0], limits)
    from_stream = scan(Bytes(path.read_bytes(), step=7777), limits)
    assert kept(from_file) == kept(from_stream)
    assert from_file.stats.lines == from_stream.stats.lines == len(lines)


def test_only_the_last_failures_keep_their_traffic() -> None:
    lines = ([TRAFFIC[0]] * 100 + [PLANTED[3]]) * 5 + [TRAFFIC[0]] * 50
    got = set(kept(scan(Bytes("\n".join(lines).encode()))))
    before = [bool({101 * failure - 4, 101 * failure - 3} <= got) for failure in range(1, 6)]
    assert before == [False, False, False, True, True]


def test_a_failure_right_after_another_line_of_interest_keeps_its_traffic() -> None:
    lines = [TRAFFIC[0]] * 100 + [PLANTED[0], *[TRAFFIC[0]] * 2, PLANTED[3]] + [TRAFFIC[0]] * 50
    limits = Limits(
        block_bytes=50, edge_lines=3, edge_bytes=300, history_bytes=2000, line_bytes=500, long_line_bytes=2000
    )
    # A line of traffic has 87 bytes: 2000 bytes before line 104 reach back over twenty of them.
    assert set(range(84, 105)) <= set(kept(scan(Bytes("\n".join(lines).encode()), limits)))


def test_a_traceback_is_kept_to_the_line_that_names_the_exception() -> None:
    frames = [text for n in range(200) for text in (f'  File "a.py", line {n}, in f: x', "    f()")]
    trace = ["[2026-01-02 03:04:05 TP0] Scheduler hit an exception: Traceback (most recent call last):", *frames]
    end = [
        "torch.OutOfMemoryError: something else",
        "after 1",
    ]
    lines = [TRAFFIC[0]] * 400 + trace + end + [TRAFFIC[0]] * 400
    limits = Limits(block_bytes=4096, edge_bytes=512, history_bytes=1024, line_bytes=1 << 12, long_line_bytes=1 << 16)
    first = 401
    got = kept(scan(Bytes("\n".join(lines).encode()), limits))
    # 400 lines after the first are the most: 400 frame lines, then twelve lines of context reach the exception.
    assert set(range(first, first + len(trace) + len(end))) <= set(got)
    assert first + len(trace) + 200 not in got


@pytest.mark.parametrize("separator", ["\\n", "\r"])
def test_a_whole_log_in_one_line_stays_bounded_and_keeps_its_number(separator: str) -> None:
    lines = [TRAFFIC[0]] * 3000
    lines[1500] = PLANTED[0]
    lines[2200] = PLANTED[2]
    data = ("first\n" + separator.join(lines) + "\nlast").encode()
    got = kept(scan(Bytes(data)))
    assert set(got) == {1, 2, 3}
    assert PLANTED[0] in got[2]
    assert PLANTED[2] in got[2]
    assert len(got[2]) < 20_000
    parts = got[2].split(separator)
    at = parts.index(PLANTED[0])
    assert parts[at - 2 : at + 4] == [TRAFFIC[0]] * 2 + [PLANTED[0]] + [TRAFFIC[0]] * 3


def test_a_line_without_any_separator_is_cut_with_a_mark() -> None:
    data = b"x" * 50_000 + b" avail mem=1.00 GB " + b"y" * 50_000
    got = kept(scan(Bytes(data)))
    assert list(got) == [1]
    assert " avail mem=1.00 GB yyy" in got[1]
    assert "…" in got[1]
    assert len(got[1]) < 20_000


def test_a_long_dump_of_the_arguments_comes_whole() -> None:
    dump = "[2026-01-02 03:04:05] server_args=ServerArgs(" + ", ".join(f"option_{n}={n}" for n in range(8000)) + ")"
    lines = [TRAFFIC[0]] * 500 + [dump] + [TRAFFIC[0]] * 500
    limits = Limits(block_bytes=4096, line_bytes=1000, history_bytes=2000, edge_bytes=1000)
    assert kept(scan(Bytes("\n".join(lines).encode()), limits))[501] == dump


def test_a_small_source_comes_whole() -> None:
    lines = TRAFFIC * 500
    scanned = scan(Bytes("\n".join(lines).encode()), small_bytes=1 << 20)
    assert list(kept(scanned).values()) == lines


def test_dense_blocks_come_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anchors_module, "DENSE_HITS", 3)
    lines = [TRAFFIC[0]] * 100 + [PLANTED[0]] * 300 + [TRAFFIC[0]] * 100
    limits = Limits(block_bytes=1000, edge_bytes=500, edge_lines=5, history_bytes=200, line_bytes=500)
    got = kept(scan(Bytes("\n".join(lines).encode()), limits))
    assert all(lines[number - 1] == text for number, text in got.items())
    assert set(range(97, 413)) <= set(got)
    assert 50 not in got


@pytest.mark.parametrize(
    ("encoding", "mark", "named"),
    [
        ("utf-8", b"", "utf-8"),
        ("utf-8", b"\xef\xbb\xbf", "utf-8-sig"),
        ("utf-16-le", b"\xff\xfe", "utf-16-le"),
        ("utf-16-be", b"\xfe\xff", "utf-16-be"),
        ("utf-16-le", b"", "utf-16-le"),
        ("utf-16-be", b"", "utf-16-be"),
        ("utf-32-le", b"\xff\xfe\0\0", "utf-32-le"),
    ],
)
@pytest.mark.parametrize("small_bytes", [0, 1 << 20])
def test_encodings(encoding: str, mark: bytes, named: str, small_bytes: int) -> None:
    lines = [PLANTED[0], "é 漢字 🙂", "a\u2028b\x85c\x0bd", PLANTED[2], ""]
    data = mark + "\r\n".join(lines).encode(encoding)
    scanned = scan(Bytes(data, step=7), small_bytes=small_bytes)
    assert list(kept(scanned).values()) == lines[:-1]
    assert scanned.stats.encoding == named
    assert scanned.stats.bytes == len(data)
    assert scanned.stats.lines == 4


def test_bad_bytes_are_replaced_and_reading_goes_on() -> None:
    assert list(kept(scan(Bytes(b"ok\nbad \xff\xfe\x80 bytes\nok again\n"))).values()) == [
        "ok",
        "bad \ufffd\ufffd\ufffd bytes",
        "ok again",
    ]


def test_a_hole_of_zeros_at_the_start_is_left_out_and_noted() -> None:
    scanned = scan(Bytes(bytes(100_000) + b"first\nsecond\n"))
    assert kept(scanned) == {1: "first", 2: "second"}
    assert scanned.stats.notes == ("it begins with 100,000 zero bytes, which were left out",)


def test_zeros_inside_a_line_are_left_out() -> None:
    assert kept(scan(Bytes(b"one\n\0\0\0two\nthree\n"))) == {1: "one", 2: "two", 3: "three"}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty"),
        (bytes(9000), "zero bytes only"),
        (os.urandom(9000), "no text"),
        (b"\x7fELF" + bytes(range(256)) * 9, "no text"),
    ],
    ids=["empty", "zeros", "noise", "program"],
)
def test_what_is_no_log_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        list(scan(Bytes(data)).lines)


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(os.urandom(200_000))
    with pytest.raises(SourceError, match="no text"):
        list(scan(open_sources([str(path)])[0]).lines)


def test_a_truncated_gzip_gives_its_lines_and_a_note(tmp_path: Path) -> None:
    lines = [f"[2026-01-02 03:04:05 TP{n % 8}] step {os.urandom(8).hex()}" for n in range(20_000)]
    lines[10] = PLANTED[0]
    packed = gzip.compress("\n".join(lines).encode())
    path = tmp_path / "server.log.gz"
    path.write_bytes(packed[: len(packed) // 2])
    scanned = scan(open_sources([str(path)])[0], Limits(block_bytes=1 << 16))
    got = kept(scanned)
    assert got[11] == PLANTED[0]
    assert max(got) > 5000
    assert ["breaks off" in note for note in scanned.stats.notes] == [True]


def test_regions_of_a_filtering_source_are_taken_as_they_are() -> None:
    class Far(Bytes):
        def regions(self, anchors: tuple[bytes, ...]) -> Iterator[Region]:
            assert set(ANCHORS) < set(anchors)
            yield Region(7, b"seven\neight\n")
            yield Region(90, b"ninety\n")

    assert kept(scan(Far(b""))) == {7: "seven", 8: "eight", 90: "ninety"}


def test_a_filtering_source_that_cannot_filter_now_is_read_whole() -> None:
    class Far(Bytes):
        def regions(self, anchors: tuple[bytes, ...]) -> None:
            return None

    assert kept(scan(Far(b"one\ntwo"))) == {1: "one", 2: "two"}


literals = st.lists(st.sampled_from([b"ab", b"abc", b"ca", b"b.c", b"(x", b"aab", b"\\n"]), min_size=1, unique=True)


@settings(deadline=None)
@given(literals=literals, lines=st.lists(st.text("abcx.(\\n", max_size=12), max_size=8))
def test_both_finders_agree_on_the_lines(literals: list[bytes], lines: list[str]) -> None:
    data = "\n".join(lines).encode()

    def numbers(finder: anchors_module.Finder) -> set[int]:
        return {data.count(b"\n", 0, offset) for offset in finder.find(data).offsets}

    expected = {n for n, line in enumerate(lines) if any(literal in line.encode() for literal in literals)}
    assert numbers(HyperscanFinder(literals)) == numbers(RegexFinder(literals)) == expected


def test_without_hyperscan_the_slower_finder_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    data = "\n".join((TRAFFIC * 40 + PLANTED) * 3).encode()
    fast = kept(scan(Bytes(data)))
    monkeypatch.setattr("logaudit.scan.anchors.importlib.util.find_spec", lambda _name: None)
    assert isinstance(make_finder(ANCHORS), RegexFinder)
    assert kept(scan(Bytes(data))) == fast


@given(st.binary(max_size=3000).map(lambda data: data * 60))
def test_line_ends_are_counted(data: bytes) -> None:
    assert searcher_module.count_newlines(data) == data.count(b"\n")


def wrap(lines: list[str], width: int, indent: str, between_words: bool) -> list[str]:
    wrapped: list[str] = []
    for line in lines:
        if between_words:
            wrapped += textwrap.wrap(line, width, subsequent_indent=indent) or [""]
            continue
        wrapped.append(line[:width])
        step = width - len(indent)
        wrapped += [indent + line[at : at + step] for at in range(width, len(line), step)]
    return wrapped


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("between_words", [False, True])
@pytest.mark.parametrize("indent", ["", "    "])
@pytest.mark.parametrize("width", [44, 80])
def test_a_hard_wrapped_log_keeps_anchors_that_were_cut(width: int, indent: str, between_words: bool, end: str) -> None:
    dump = "[2026-01-02 03:04:05] server_args=ServerArgs(" + ", ".join(f"option_{n}={n}" for n in range(300)) + ")"
    pad = "p" * (width - len("[2026-01-02 03:04:05 TP0] ") - 4)
    cut_line = f"[2026-01-02 03:04:05 TP0] {pad} Load weight begin. avail mem=78.57 GB and so on to the end"
    lines = [TRAFFIC[0], *[TRAFFIC[0] + " and more of the same, so that it is cut twice at least"] * 400]
    lines[100], lines[250] = cut_line, dump
    wrapped = wrap(lines, width, indent, between_words)
    data = end.join(wrapped).encode()
    limits = Limits(
        block_bytes=4096, edge_lines=3, edge_bytes=400, history_bytes=400, line_bytes=2000, long_line_bytes=1 << 15
    )
    got = kept(scan(Bytes(data), limits))
    assert all(wrapped[number - 1] == text for number, text in got.items())
    for needed in (cut_line, dump):
        pieces = wrap([needed], width, indent, between_words)
        at = next(n for n in range(len(wrapped)) if wrapped[n : n + len(pieces)] == pieces) + 1
        assert set(range(at, at + len(pieces))) <= set(got)
    assert len(got) < len(wrapped) * 0.8


def test_ordinary_traffic_is_not_taken_for_hard_wrapped() -> None:
    lines = [
        f"[2026-01-02 03:04:{n % 60:02}] Decode batch, #running-req: {n % 48}, #token: {n * 977}" for n in range(900)
    ]
    assert not looks_hard_wrapped("\n".join(lines).encode())


@pytest.mark.parametrize("finder", [HyperscanFinder, RegexFinder])
def test_progress_bars_do_not_drown_what_is_glued_to_them(finder: type[HyperscanFinder] | type[RegexFinder]) -> None:
    bars = [
        f"\rCapturing batches (bs={n} avail mem=9.2 GB):  {n % 100}%|##  | {n}/9999 [00:01<00:01]"
        for n in range(20_000)
    ]
    bars[9_000] += "\r" + PLANTED[2]
    data = "".join(bars).encode()
    hits = finder(ANCHORS).find(data)
    assert not hits.dense
    assert [data[at - 20 : at + 1] for at in hits.offsets] == [b"KV Cache is allocated"[-21:]]


def test_the_last_state_of_a_bar_is_kept() -> None:
    bar = "".join(
        f"\rCapturing batches (avail mem=9.2 GB):  {n % 100}%|# | {n}/12000 [0:01<0:01]" for n in range(12_000)
    )
    data = (bar + "\n" + PLANTED[2] + "\n").encode()
    hits = HyperscanFinder(ANCHORS).find(data)
    assert hits.offsets[0] == len(bar) - 1
    assert len(hits.offsets) == 2
