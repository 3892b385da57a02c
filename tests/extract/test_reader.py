"""What the reader makes of lines: figures as people paste them, odd devices, hostile text, unknown wordings."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logaudit.extract import Record, Unrecognised, all_extractors, extract, extract_all
from logaudit.interval import Interval
from logaudit.scan.line import Line, RankTag
from tests.conftest import shared_files


def line(text: str, rank: RankTag | None = None) -> Line:
    return Line(3, text, text, rank=rank or RankTag())


def fields_of(text: str) -> dict[str, object]:
    record = extract(line(text))
    assert record is not None
    return dict(record.fields)


def one(text: str) -> Record | Unrecognised | None:
    return next(iter(extract_all([line(text)])), None)


def test_a_range_of_ranks_is_the_interval_over_both() -> None:
    avail = fields_of("Memory pool end. avail mem=7.43-7.53 GB")["avail_gib"]
    assert isinstance(avail, Interval)
    assert (avail.low, avail.high) == (pytest.approx(7.425), pytest.approx(7.535))


def test_about_is_wider_than_rounding() -> None:
    avail = fields_of("Memory pool end. avail mem=≈7.4 GB")["avail_gib"]
    assert isinstance(avail, Interval)
    assert (avail.low, avail.high) == (pytest.approx(7.3), pytest.approx(7.5))


def test_negative_and_zero_figures() -> None:
    fields = fields_of("Init torch distributed ends. elapsed=1.52 s, mem usage=-0.25 GB")
    assert fields["used_gib"] == Interval(-0.25, -0.255, -0.245)
    assert fields_of("Memory baseline taken. mem usage=0.00 GB")["used_gib"] == Interval(0.0, -0.005, 0.005)


@pytest.mark.parametrize("device", ["cuda", "npu", "cpu", "xpu"])
def test_graphs_of_any_device(device: str) -> None:
    text = f"Capture {device} graph end. Time elapsed: 12.34 s. mem usage=2.15 GB. avail mem=7.61 GB."
    assert fields_of(text)["what"] == f"{device} graph"


def test_clauses_that_were_left_out_leave_the_others_readable() -> None:
    fields = fields_of("Load weight end. type=DeepseekV3ForCausalLM, ..., avail mem=52.96 GB, ...")
    assert fields["model_type"] == "DeepseekV3ForCausalLM"
    assert fields["avail_gib"] == Interval.printed("52.96")


def test_the_rank_check_suffix_is_no_part_of_the_message() -> None:
    record = extract(line("Memory pool end. avail mem=9.76 GB (rank-check failed: no group)"))
    assert record is not None
    assert record.text == "Memory pool end. avail mem=9.76 GB"


def test_the_gpu_inside_an_old_message_becomes_the_rank() -> None:
    record = extract(line("[gpu_id=3] Memory pool end. avail mem=9.76 GB"))
    assert record is not None
    assert record.rank.gpu == 3


def test_a_cut_figure_is_not_read() -> None:
    assert extract(line("Memory pool end. avail mem=9.7")) is None


def test_the_advice_about_exit_codes_is_not_taken_for_one() -> None:
    text = (
        "RuntimeError: Rank 2 scheduler died during initialization (exit code: -11). If exit code is -9 (SIGKILL), a "
        "common cause is the OS OOM killer. Run `dmesg -T | grep -i oom` to check."
    )
    assert fields_of(text)["exit_code"] == -11


def test_the_wording_tells_the_releases_that_print_it() -> None:
    newer = extract(
        line("Load weight end. elapsed=9.01 s, type=Qwen3ForCausalLM, avail mem=1.00 GB, mem usage=2.00 GB.")
    )
    older = extract(line("Load weight end. type=Qwen3ForCausalLM, dtype=torch.float16, avail mem=1.00 GB"))
    assert newer is not None
    assert older is not None
    assert (newer.releases, older.releases) == ("0.5.10..0.5.23", "0.2.0,0.2.15..0.4.3.post2")


@pytest.mark.parametrize(
    ("text", "similar"),
    [
        (
            "Mamba2 Cache is now allocated. slots: 384, conv_state size: 0.27GB, ssm_state size: 8.53GB",
            "mamba_cache_allocated",
        ),
        ("KV arena is ready. #tokens: 434132, total 12.30 GB", None),
        ("Reserved 3.50 GB of GPU memory for the router cache", None),
    ],
)
def test_an_unknown_wording_of_memory_is_listed(text: str, similar: str | None) -> None:
    found = one(text)
    assert isinstance(found, Unrecognised)
    assert (found.line, found.text) == (3, text)
    assert similar is None or found.similar_kind == similar


@pytest.mark.parametrize(
    "text",
    [
        "Downloading torch-2.9.1-cp312-manylinux_x86_64.whl (888.1 MB)",
        'INFO:     127.0.0.1:4321 - "GET /get_memory_info?gb=4 HTTP/1.1" 200 OK',
        "model.safetensors:  50%|#####     | 2.50G/5.00G [00:10<00:10, 250MB/s] free memory",
        '  File "/sglang/srt/mem_cache/memory_pool.py", line 512, in alloc  # 12 GB cache',
        "/usr/lib/python3/warnings.py:12: UserWarning: 3 GB of memory is pinned",
        "The server listens on 0.0.0.0:30000",
        "",
    ],
)
def test_noise_is_not_listed(text: str) -> None:
    assert one(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "Load weight end. " + "type=" * 50_000,
        "Capture " + "graph " * 50_000 + "graph begin",
        "max_total_num_tokens=1, " + "available_gpu_mem=" * 40_000,
        "KV Cache is allocated. " + "K size: 1.0" * 40_000,
        "[unified-memory-pool] " + " " * 100_000,
        "avail mem " * 50_000 + "1 GB",
        "a.b." * 50_000 + "Error",
        "No space left on device" * 5_000,
        "memory calculation: " * 10_000,
        "Memory pool end. avail mem=" + "9" * 5_000 + " GB",
    ],
)
def test_hostile_lines_take_no_long_time(text: str) -> None:
    started = time.monotonic()
    list(extract_all([line(text)]))
    assert time.monotonic() - started < 8


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([s.text for e in all_extractors() for s in e.samples]), min_size=1, max_size=3), st.text()
)
def test_mixed_up_samples_never_raise(texts: list[str], noise: str) -> None:
    joined = noise.join(text[: len(text) * 2 // 3] for text in texts)
    for found in extract_all([line(joined)]):
        assert found.line == 3


def _message(raw: str) -> str:
    """The message of a raw line: SGLang's bracketed time and ranks taken off."""
    raw = raw.rstrip("\r\n").rpartition("\r")[2]
    return raw.partition("] ")[2] if raw.startswith("[20") and "] " in raw else raw


@pytest.mark.parametrize(
    "path", shared_files("logs/*.log") + shared_files("oracle/*.log")[::25], ids=lambda path: path.name
)
def test_no_memory_line_of_a_released_build_is_unknown(path) -> None:  # type: ignore[no-untyped-def]
    with path.open(encoding="utf-8", errors="replace") as log:
        lines = [Line(number, _message(raw), raw) for number, raw in enumerate(log, 1)]
    assert [found.text for found in extract_all(lines) if isinstance(found, Unrecognised)] == []


@pytest.mark.parametrize("filler", [" ", "9"])
def test_a_stretched_sample_of_any_kind_takes_no_long_time(filler: str) -> None:
    for extractor in all_extractors():
        sample = extractor.samples[0].text
        blanks = [at for at, character in enumerate(sample) if character == " "][-4:]
        for at in blanks:
            began = time.process_time()
            extract(line(sample[:at] + 30_000 // len(filler) * filler + sample[at:]))
            assert time.process_time() - began < 0.4, (extractor.kind, at)
