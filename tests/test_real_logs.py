"""Real logs, each with what a person reads in it: outcome, ranks, figures, status, and what lies outside the budget.

The table below was read off the logs by eye; `READER` reads every rank of every log a second time with the simplest
expressions that can, and a plain search for figures beside memory words shows that no line was dropped.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest
from packaging.version import Version

from logaudit.auditing import document_of, read_source
from logaudit.reconcile.inputs import Given
from logaudit.report.document import LaunchDoc, RankRow
from logaudit.sources import open_sources
from tests.conftest import SHARED, shared_files

LOGS = SHARED / "logs"


@dataclass(frozen=True)
class Worker:
    """What TP0 (or the only process) printed for one worker; sizes in GiB as printed."""

    before: float
    after: float
    weights: float
    tokens: int
    pool: float
    """K + V, both pools of a sliding-window model, or the one size of latent vectors."""
    end: float
    graphs: float | None = None
    """Sum of the captures; None where there was none."""
    kind: str = ""


@dataclass(frozen=True)
class Read:
    """One log as a person reads it; `start` is the start that printed figures."""

    outcome: str
    release: str
    """A release that the dump and the wording allow."""
    ranks: int
    target: Worker
    draft: Worker | None
    requests: int | None
    final: float
    """The last reading of TP0's free memory."""
    status: str
    causes: dict[str, float | None] = field(default_factory=dict)
    """Code -> GiB (None: the log gives no size)."""
    starts: int = 1
    failure: tuple[str, str] | None = None


def npu(
    target: tuple[float, float, float, int, float, float, float | None],
    draft: tuple[float, float, float, float, float, float | None],
    rest: tuple[int, float],
    causes: dict[str, float | None],
    *,
    outcome: str = "ready",
    ranks: int = 16,
    kinds: tuple[str, str] = ("DeepseekV3ForCausalLM", "DeepseekV3ForCausalLMNextN"),
) -> Read:
    """A log of the NPU cluster: a draft beside every target, pools of the same tokens, budget explained."""
    before, after, weights, pool, end, graphs = draft
    return Read(
        outcome,
        "0.5.6.post2",
        ranks,
        Worker(*target, kind=kinds[0]),
        Worker(before, after, weights, target[3], pool, end, graphs, kinds[1]),
        rest[0],
        rest[1],
        "explained",
        causes,
    )


QWEN = ("Qwen3MoeForCausalLM", "LlamaForCausalLMEagle3")


def spark(
    before: float,
    after: float,
    weights: float,
    tokens: int,
    pool: float,
    end: float,
    final: float,
    *,
    graphs: float | None = None,
    release: str = "0.5.13",
    outcome: str = "ready",
    causes: dict[str, float | None] | None = None,
    failure: tuple[str, str] | None = None,
) -> Read:
    """A log of the machine whose GPU shares the host's memory: what drifts between reading and sizing is left over."""
    return Read(
        outcome,
        release,
        1,
        Worker(before, after, weights, tokens, pool, end, graphs, "Qwen2ForCausalLM"),
        None,
        None if outcome == "crashed" else 4096,
        final,
        "explained_with_residual",
        {"shared_gpu_memory": None, **(causes or {})},
        failure=failure,
    )


READ: dict[str, Read] = {
    # headroom: requests x (steps x topk + draft tokens) + 100, times the bytes of a token:
    # 8 x (1 + 2) + 100 = 124 tokens of 61 layers x 1152 B = 0.008 GiB
    "log-test-ascend-deepseek-r1-w4a8-1p1d-16p-in2k-out2k-50ms-prefill-0.log": npu(
        (60.77, 33.31, 27.46, 137344, 9.00, 24.32, None),
        (24.32, 21.63, 2.70, 0.15, 21.49, None),
        (4, 23.31),
        {"speculative_headroom": 0.008},
    ),
    # 4 x 3 + 100 = 112 tokens
    "log-test-ascend-deepseek-r1-w8a8-2p1d-32p-in3k5-out1k-20ms-prefill-0.log": npu(
        (60.77, 14.46, 46.31, 44416, 2.92, 11.53, None),
        (11.53, 8.83, 2.70, 0.05, 8.79, None),
        (2, 10.61),
        {"speculative_headroom": 0.007},
    ),
    "log-test-ascend-deepseek-r1-w8a8-2p1d-32p-in3k5-out1k5-50ms-prefill-0.log": npu(
        (60.77, 14.46, 46.32, 44416, 2.92, 11.53, None),
        (11.53, 8.83, 2.70, 0.05, 8.79, None),
        (4, 10.61),
        {"speculative_headroom": 0.008},
    ),
    "log-test-ascend-deepseek-r1-w8a8-2p1d-32p-in3k9-out1k-20ms-prefill-0.log": npu(
        (60.77, 14.45, 46.32, 44288, 2.91, 11.54, None),
        (11.54, 8.80, 2.74, 0.05, 8.76, None),
        (2, 10.60),
        {"speculative_headroom": 0.007},
    ),
    # the budget line says 2.88 GiB where the readings give 2.90; 112 tokens of headroom are less than a page of 128
    "log-test-ascend-deepseek-r1-w8a8-2p1d-32p-in6k-out1k6-15ms-prefill-0.log": npu(
        (60.77, 14.45, 46.32, 44032, 2.89, 11.54, None),
        (11.54, 8.82, 2.72, 0.05, 8.78, None),
        (2, 10.60),
        {},
    ),
    # 832 x (2 + 3) + 100 = 4260 tokens of 70272 B = 0.279 GiB; 16 of the 32 ranks are in this node's log
    "log-test-ascend-deepseek-r1-w8a8-2p1d-32p-in3k5-out1k5-50ms-decode-0.log": npu(
        (60.77, 19.77, 41.00, 134272, 8.80, 10.96, 6.08),
        (4.88, 0.70, 4.18, 0.14, 0.56, 1.18),
        (26, 2.80),
        {"speculative_headroom": 0.279},
        outcome="initialised",
    ),
    # 32 x (3 + 4) + 100 = 324 tokens
    "log-test-ascend-deepseek-r1-w8a8-2p1d-32p-in3k9-out1k-20ms-decode-0.log": npu(
        (60.77, 26.93, 33.84, 179456, 11.75, 15.17, 5.85),
        (9.32, 6.07, 3.24, 0.19, 5.90, 0.65),
        (2, 7.78),
        {"speculative_headroom": 0.021},
        outcome="initialised",
    ),
    # The draft's one layer: 0.29 GiB / 220544 rows = 1408 B = (576 + 128) x 2, where the formula counts 576 x 2 + 132:
    # 220416 x 61 x 124 B = 1.553 GiB. Headroom: 324 tokens of 85888 B = 0.026 GiB.
    "log-test-ascend-deepseek-v3.2-w8a8-1p1d-32p-in64k-out1k-30ms-decode-0.log": npu(
        (60.76, 28.85, 31.91, 220416, 17.64, 11.16, 2.00),
        (9.16, 6.38, 2.77, 0.29, 6.11, 0.38),
        (4, 7.83),
        {"speculative_headroom": 0.026, "indexer_dtype": 1.553},
    ),
    # 576 x 7 + 100 = 4132 tokens of 94 x 8 x 128 x 2 x ... = 192512 B on each rank = 0.741 GiB
    "log-test-ascend-qwen3-235b-w8a8-8p-in2k-out2k-100ms.log": npu(
        (60.79, 37.02, 23.78, 156288, 28.04, 8.97, 3.11),
        (5.85, 3.16, 2.70, 0.30, 2.86, 0.85),
        (36, 4.31),
        {"speculative_headroom": 0.741},
        kinds=QWEN,
    ),
    # 272 x 7 + 100 = 2004 tokens
    "log-test-ascend-qwen3-235b-w8a8-8p-in3k5-out1k5-50ms.log": npu(
        (60.79, 37.01, 23.78, 140544, 25.22, 11.77, 3.74),
        (8.03, 5.36, 2.68, 0.26, 5.08, 0.72),
        (17, 6.63),
        {"speculative_headroom": 0.359},
        kinds=QWEN,
    ),
    # 192 x 7 + 100 = 1444 tokens of 48 layers x 2 heads x 128 x 2 x 2 B = 49152 B = 0.066 GiB
    "log-test-ascend-qwen3-30b-w8a8-1p-in3k5-out1k5-50ms.log": npu(
        (60.79, 45.18, 15.61, 802688, 36.76, 8.40, 2.13),
        (6.27, 5.88, 0.39, 0.76, 5.12, 0.50),
        (192, 4.89),
        {"speculative_headroom": 0.066},
        ranks=2,
        kinds=QWEN,
    ),
    "log-test-ascend-qwen3-32b-w8a8-4p-in6k-out1k5-17.9ms.log": npu(
        (60.81, 55.54, 5.27, 1262336, 38.52, 17.01, 1.31),
        (15.70, 15.11, 0.59, 0.60, 14.50, 0.31),
        (32, 14.42),
        {},
        ranks=8,
        kinds=("Qwen3ForCausalLM", "LlamaForCausalLMEagle3"),
    ),
    # 256 x 7 + 100 = 1892 tokens of 70272 B = 0.124 GiB
    "test-ascend-deepseek-r1-w4a8-8p-in2k-out2k-50ms.log": npu(
        (60.77, 20.66, 40.11, 75904, 4.98, 15.53, 7.90),
        (7.63, 3.10, 4.53, 0.08, 3.02, 1.00),
        (16, 5.41),
        {"speculative_headroom": 0.124},
    ),
    "sglang-qwen-bf16-clean-good-output-20260608-server.log": spark(
        112.26, 108.97, 3.29, 1556049, 41.56, 66.25, 62.11, graphs=3.18
    ),
    "sglang-qwen-fp4kv-autosafe-20260608T1315JST-fp8-server.log": spark(
        111.92, 108.62, 3.30, 3101822, 41.42, 66.01, 64.95
    ),
    "sglang-qwen-fp4kv-clean-20260608-precapture-missing.log": spark(
        112.25,
        108.98,
        3.27,
        5537463,
        41.58,
        66.10,
        65.28,
        outcome="crashed",
        failure=("not_memory", "capture"),
    ),
    "sglang-qwen-fp4kv-clean-graph-calibrated-bad-output-20260608-server.log": spark(
        112.24, 108.95, 3.29, 5532802, 41.56, 66.08, 61.61, graphs=1.59
    ),
    "sglang-qwen-fp4kv-decode-dtype-bad-output-20260608-server.log": spark(
        112.25, 108.94, 3.31, 5529609, 41.52, 66.06, 61.66, graphs=1.56
    ),
    "sglang-qwen-fp4kv-eager-only-server-20260608.log": spark(112.25, 108.96, 3.29, 5532637, 41.56, 66.09, 63.05),
    # 0.5.11 prints 2 heads x 128 x 28 layers x 2 / 2 B = 7168 B a token and leaves a scale of one byte for 16 values
    # out, 896 B: 5539718 x 896 B = 4.62 GiB; 109.00 - 66.00 = 43.00 were taken for the 36.98 printed
    "sglang-qwen25-1-5b-fp4kv-patched-flashinfer-20260608T0349JST-startup.log": spark(
        112.22,
        109.00,
        3.22,
        5539718,
        36.98,
        66.00,
        65.15,
        release="0.5.11",
        outcome="crashed",
        causes={"fp4_scales_not_printed": 4.62},
        failure=("not_memory", "capture"),
    ),
    "sglang-qwen25-1-5b-fp4kv-patched-triton-nographs-20260608T0404JST-server.log": spark(
        112.26,
        109.02,
        3.24,
        5541103,
        37.00,
        66.03,
        57.01,
        release="0.5.11",
        causes={"fp4_scales_not_printed": 4.62},
    ),
    "sglang-int4.log": Read(
        "ready",
        "0.5.16",
        1,
        Worker(115.36, 47.80, 67.56, 185897, 28.92, 17.73, 5.84, "LagunaForCausalLM"),
        Worker(47.83, 46.25, 1.58, 185897, 4.26, 13.35, 0.45, "DFlashLagunaForCausalLM"),
        48,
        6.22,
        "explained_with_residual",
        {"shared_gpu_memory": None},
    ),
    # the log ends in the first capture, without a word
    "sglang-versuch2.log": Read(
        "incomplete",
        "0.5.16",
        1,
        Worker(114.99, 22.03, 92.96, 34097, 5.30, 13.07, None, "LagunaForCausalLM"),
        Worker(21.89, 19.14, 2.75, 34097, 0.78, 12.25, None, "DFlashLagunaForCausalLM"),
        None,
        12.01,
        "explained_with_residual",
        {"shared_gpu_memory": None},
    ),
    # four servers with --log-level warning show nothing but their progress bars; the fifth is capped at 20480 tokens:
    # of 124.11 - 139.13 x (1 - mem_fraction_static) GiB it uses 20480 x 131072 B = 2.5
    "sources-advanced-features-lora.ipynb": Read(
        "ready",
        "0.5.10",
        1,
        Worker(139.13, 124.11, 15.02, 20480, 2.50, 118.88, None, "LlamaForCausalLM"),
        None,
        128,
        118.78,
        "explained",
        {"user_cap": None},
        starts=5,
    ),
    "genuine-0.5.16_cpu_tiny_llama.log": Read(
        "ready",
        "0.5.16",
        1,
        Worker(20.63, 20.63, 0.0, 20000, 0.0, 20.68, None, "LlamaForCausalLM"),
        None,
        2500,
        20.68,
        "explained",
        {"user_cap": None},
    ),
    "genuine-0.5.9_cpu_tiny_llama.log": Read(
        "ready",
        "0.5.9",
        1,
        Worker(21.09, 21.09, 0.0, 20000, 0.0, 21.09, None, "LlamaForCausalLM"),
        None,
        4096,
        21.08,
        "explained",
        {"user_cap": None},
    ),
    "genuine-0.5.9_cpu_tiny_llama_tp2_profiled.log": Read(
        "ready",
        "0.5.9",
        2,
        Worker(20.54, 20.54, 0.0, 19178411, 2.28, 14.77, None, "LlamaForCausalLM"),
        None,
        4096,
        14.77,
        "explained_with_residual",
        {"shared_host_memory": None},
    ),
}

NAMES = sorted(path.name for path in (*shared_files("logs/*.log"), *shared_files("logs/*.ipynb")))


@cache
def launches(name: str) -> tuple[LaunchDoc, ...]:
    sources = [read_source(source) for source in open_sources([str(LOGS / name)])]
    return tuple(document_of(sources, Given()).launches)


def start(name: str) -> LaunchDoc:
    """The start of a log that printed figures."""
    return next(launch for launch in launches(name) if launch.ranks)


def rows(launch: LaunchDoc, worker: str) -> list[RankRow]:
    return sorted((row for row in launch.ranks if row.worker == worker), key=lambda row: row.rank.tp or 0)


def test_every_log_is_written_down(shared_dir: Path) -> None:
    assert set(NAMES) == set(READ), shared_dir


@pytest.mark.parametrize("name", NAMES)
def test_a_start_ends_as_its_log_says(name: str) -> None:
    read, found = READ[name], start(name)
    assert len(launches(name)) == read.starts
    assert found.outcome == read.outcome
    assert (found.failure and (found.failure.kind, found.failure.phase)) == read.failure
    version = found.sglang_version
    assert version.low is not None
    assert version.high is not None
    assert Version(version.low) <= Version(read.release) <= Version(version.high)


@pytest.mark.parametrize("name", NAMES)
def test_the_first_rank_shows_what_is_printed(name: str) -> None:
    read, found = READ[name], start(name)
    for worker, truth in (("target", read.target), ("draft", read.draft)):
        of_kind = rows(found, worker)
        assert len(of_kind) == (0 if truth is None else read.ranks)
        if truth is None:
            continue
        row = of_kind[0]
        assert row.before_load_gib == pytest.approx(truth.before)
        assert row.after_load_gib == pytest.approx(truth.after)
        assert row.weights_gib == pytest.approx(truth.weights)
        assert row.kv_tokens == truth.tokens
        assert row.kv_gib == pytest.approx(truth.pool)
        assert row.pool_end_gib == pytest.approx(truth.end)
        assert row.graphs_gib == (None if truth.graphs is None else pytest.approx(truth.graphs))
    assert rows(found, "target")[0].final_gib == pytest.approx(read.final)
    assert found.capacity is not None
    assert found.capacity.max_total_num_tokens == read.target.tokens
    assert found.capacity.max_running_requests == read.requests


@pytest.mark.parametrize("name", NAMES)
def test_status_and_causes_are_those_that_a_person_finds(name: str) -> None:
    read, found = READ[name], start(name).reconciliation
    assert found.status == read.status
    assert {cause.code for cause in found.causes} == set(read.causes)
    for cause in found.causes:
        size = read.causes[cause.code]
        assert cause.evidence
        if size is not None:
            assert cause.gib is not None
            assert cause.gib.low - 0.006 <= size <= cause.gib.high + 0.006


@pytest.mark.parametrize("name", [name for name in NAMES if READ[name].status == "explained_with_residual"])
def test_what_is_left_over_is_small(name: str) -> None:
    """A residual is below 0.05 GiB or 0.5 % of the budget, unless a cause with bounds of its own closes the gap."""
    found = start(name)
    gap, budget = found.reconciliation.gap_gib, found.expected.kv_budget_gib if found.expected else None
    assert gap is not None
    assert budget is not None
    nearest = min(abs(gap.low), abs(gap.high))
    closing = [cause.gib for cause in found.reconciliation.causes if cause.gib is not None]
    closed = any(gib.low <= gap.low and gap.high <= gib.high for gib in closing)
    assert nearest < max(0.05, 0.005 * budget.value) or closed


def test_a_node_of_two_names_both(shared_dir: Path) -> None:
    """16 of 32 ranks are here; the budget line speaks for all of them, so the start can be checked."""
    found = start("log-test-ascend-deepseek-r1-w8a8-2p1d-32p-in3k5-out1k5-50ms-decode-0.log")
    assert (found.parallelism.tp, found.parallelism.nnodes) == (32, 2), shared_dir
    assert found.expected is not None
    assert "the budget is the one that the log prints, for all ranks" in found.expected.assumptions


def test_draft_pools_of_a_window_model(shared_dir: Path) -> None:
    """The target splits its pool 185897 : 148717, the DFLASH draft holds as many tokens as the full layers."""
    found = start("sglang-int4.log")
    target, draft = rows(found, "target")[0], rows(found, "draft")[0]
    assert {(pool.name, pool.tokens, round(pool.gib or 0, 2)) for pool in target.pools} == {
        ("swa", 148717, 20.42),
        ("full", 185897, 8.50),
    }, shared_dir
    assert [(pool.tokens, round(pool.gib or 0, 2)) for pool in draft.pools] == [(185897, 4.26)]


# -- every rank, read a second time -----------------------------------------------------------------------------------

STAMP = re.compile(r"\[20\d\d-\d\d-\d\d \d\d:\d\d:\d\d([^\]]*)\] ")
GB = r"(-?\d+\.\d+) ?GB"


@dataclass
class Seen:
    before: list[float] = field(default_factory=list)
    after: list[float] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    end: list[float] = field(default_factory=list)
    tokens: set[int] = field(default_factory=set)


def read_plainly(path: Path) -> dict[int, Seen]:
    """TP rank -> its figures in order; 0 where the lines name no rank."""
    seen: dict[int, Seen] = defaultdict(Seen)
    for line in path.read_text(errors="replace").splitlines():
        parts = STAMP.split(line)
        for tag, text in zip(parts[1::2], parts[2::2], strict=True):
            rank = re.search(r"TP(\d+)", tag)
            own = seen[int(rank[1]) if rank else 0]
            if found := re.match(rf"Load weight begin\. avail mem={GB}", text):
                own.before.append(float(found[1]))
            elif found := re.match(rf"Load weight end.*avail mem={GB}, mem usage={GB}", text):
                own.after.append(float(found[1]))
                own.weights.append(float(found[2]))
            elif found := re.match(r"KV Cache is allocated\..*#tokens: (\d+)", text):
                own.tokens.add(int(found[1]))
            elif found := re.match(rf"Memory pool end\. avail mem={GB}", text):
                own.end.append(float(found[1]))
    return {rank: own for rank, own in seen.items() if own.before or own.after or own.end or own.tokens}


@pytest.mark.parametrize("name", NAMES)
def test_every_rank_shows_what_is_printed(name: str) -> None:
    seen, found = read_plainly(LOGS / name), start(name)
    target, draft = rows(found, "target"), rows(found, "draft")
    assert [row.rank.tp or 0 for row in target] == sorted(seen)
    for worker, of_kind in enumerate((target, draft)):
        for row in of_kind:
            own = seen[row.rank.tp or 0]
            assert row.before_load_gib == pytest.approx(own.before[worker])
            assert row.after_load_gib == pytest.approx(own.after[worker])
            assert row.weights_gib == pytest.approx(own.weights[worker])
            assert row.pool_end_gib == pytest.approx(own.end[worker])
            assert row.kv_tokens in own.tokens


# -- nothing dropped --------------------------------------------------------------------------------------------------

FIGURE = re.compile(r"\d(?:\.\d+)? ?(?:GB|GiB|MB|MiB)\b|#tokens?: ?\d|\btokens=\d|num_tokens=\d")
MEMORY = re.compile(r"mem\b|memory|avail|kv ?cache|\bKV\b|pool|max_total_num_tokens|#tokens", re.IGNORECASE)
HARMLESS = re.compile(
    r"server_args=|Prefill batch|Decode batch|max_prefill_tokens|it/s\]|Capture cuda graph (?:bs|num tokens)|"
    r"Compiling num tokens|\"text\": |^\s*\"\* `"
)
"""Dumps of arguments, traffic, progress bars and prose, which print no account of memory."""


@pytest.mark.parametrize("name", NAMES)
def test_no_line_that_looks_like_memory_is_dropped(name: str) -> None:
    source = read_source(open_sources([str(LOGS / name)])[0])
    known = {record.line for record in source.records} | {unknown.line for unknown in source.unrecognised}
    lines = (LOGS / name).read_text(errors="replace").split("\n")
    dropped = [
        (number, line[:160])
        for number, line in enumerate(lines, 1)
        if number not in known and FIGURE.search(line) and MEMORY.search(line) and not HARMLESS.search(line)
    ]
    assert dropped == []
