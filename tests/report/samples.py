"""Documents written by hand, as the audit would make them: what the faces of the report are tried on."""

from __future__ import annotations

from typing import Any

import msgspec

from logaudit.report.document import (
    Bounds,
    Capacity,
    Cause,
    Document,
    Expected,
    FailureInfo,
    Finding,
    FractionInfo,
    LaunchDoc,
    LedgerItem,
    LedgerRow,
    LineSpan,
    ModelInfo,
    NaiveSum,
    Option,
    Parallelism,
    PoolInfo,
    Quote,
    RankInfo,
    RankRow,
    Reconciliation,
    SourceInfo,
    TermInput,
    TermRow,
    TimelineStep,
    Unrecognised,
    VersionBracket,
)


def near(value: float, half: float = 0.005) -> Bounds:
    return Bounds(value, round(value - half, 6), round(value + half, 6))


def source(name: str = "kimi-k25-tp8.log", **changes: Any) -> SourceInfo:
    return msgspec.structs.replace(SourceInfo(name, 40_512, 164, "utf-8", []), **changes)


def document(*launches: LaunchDoc, **changes: Any) -> Document:
    given = {"sources": [source()], "redacted": {}} | changes
    return Document(schema_version=1, logaudit_version="0.1.0", launches=list(launches), **given)


def rank(tp: int | None, worker: str = "target", **changes: Any) -> RankRow:
    base = RankRow(
        worker=worker,
        draft_index=0 if worker == "draft" else None,
        rank=RankInfo(tp=tp),
        before_load_gib=94.04 if worker == "target" else 9.66,
        after_load_gib=21.71 if worker == "target" else 8.71,
        weights_gib=72.33 if worker == "target" else 0.95,
        kv_dtype="torch.bfloat16",
        kv_tokens=159_277,
        k_gib=None if worker == "target" else 0.30,
        v_gib=None if worker == "target" else 0.30,
        kv_gib=10.42 if worker == "target" else 0.60,
        pools=[PoolInfo("kv", 159_277, None, 10.42 if worker == "target" else 0.60, 53)],
        pool_end_gib=11.17 if worker == "target" else 8.10,
        graphs_gib=1.51 if worker == "target" else 0.30,
        final_gib=7.43 if worker == "target" else None,
    )
    return msgspec.structs.replace(base, **changes)


def launch(**changes: Any) -> LaunchDoc:
    """A start about which nothing is known but that it began."""
    base = LaunchDoc(
        index=0,
        source=0,
        outcome="incomplete",
        failure=None,
        lines=LineSpan(1, 10),
        started_at=None,
        ready_at=None,
        sglang_version=VersionBracket(None, None, False),
        model=ModelInfo(None, None, None, None, None),
        parallelism=Parallelism(None, None, None, None, None, None, False),
        server_args={},
        mem_fraction_static=None,
        ranks=[],
        capacity=Capacity(None, None, None, None, None, None, None),
        expected=None,
        reconciliation=Reconciliation("not_checkable", None, None, None, None, [], ["the pool's size"]),
        naive=[],
        ledger=[],
        options=[],
        findings=[],
        unrecognised=[],
        verdict=["Incomplete. The log ends before the memory was sized."],
    )
    return msgspec.structs.replace(base, **changes)


SEED_QUOTES = {
    2: "[2026-11-29 13:35:05] server_args=ServerArgs(model_path='/models/kimi-k25', tp_size=8, mem_fraction…)",
    27: "[2026-11-29 13:35:07 TP0] Load weight begin. avail mem=94.04 GB",
    35: "[2026-11-29 13:35:10 TP0] Load weight end. elapsed=2.99 s, type=KimiK25ForConditionalGeneration, "
    "dtype=torch.bfloat16, avail mem=21.71 GB, mem usage=72.33 GB.",
    52: "[2026-11-29 13:35:11 TP0] KV Cache is allocated. #tokens: 159277, KV size: 10.42 GB",
    55: "[2026-11-29 13:35:11 TP0] Memory pool end. avail mem=11.17 GB",
    57: "[2026-11-29 13:35:11 TP0] Capture cuda graph end. Time elapsed: 0.00 s. mem usage=1.51 GB. avail mem=9.66 GB.",
    104: "[2026-11-29 13:35:11 TP0] Load weight end. elapsed=0.01 s, type=LlamaForCausalLMEagle3, "
    "dtype=torch.bfloat16, avail mem=8.71 GB, mem usage=0.95 GB.",
    121: "[2026-11-29 13:35:11 TP0] KV Cache is allocated. #tokens: 159277, K size: 0.30 GB, V size: 0.30 GB",
    141: "[2026-11-29 13:35:12 TP0] Capture draft cuda graph end. Time elapsed: 0.01 s. mem usage=0.15 GB. "
    "avail mem=7.58 GB.",
    143: "[2026-11-29 13:35:12 TP0] Capture draft extend cuda graph end. Time elapsed: 0.00 s. mem usage=0.15 GB. "
    "avail mem=7.43 GB.",
    145: "[2026-11-29 13:35:12 TP0] max_total_num_tokens=159277, chunked_prefill_size=8192, max_prefill_tokens=16384, "
    "max_running_requests=48, context_len=262144, available_gpu_mem=7.43 GB",
}


def seed_launch(**changes: Any) -> LaunchDoc:
    """Kimi-K2.5 on eight cards of 96 GB: ready and explained."""
    ledger = LedgerRow(
        "target",
        RankInfo(tp=0),
        [
            LedgerItem("weights (KimiK25ForConditionalGeneration)", near(72.33), [35]),
            LedgerItem("KV cache, 159,277 tokens", near(10.42), [52]),
            LedgerItem("request table, 48 × 262,148 entries", near(0.05), [], computed=True),
            LedgerItem("not accounted for between two readings", near(0.07, 0.01), [52, 55]),
            LedgerItem("CUDA graphs", near(1.51), [57]),
            LedgerItem("draft weights", near(0.95), [104]),
            LedgerItem("draft KV cache", near(0.60, 0.01), [121]),
            LedgerItem("not accounted for between two readings", near(0.38, 0.02), [121, 141]),
            LedgerItem("draft CUDA graphs", near(0.30, 0.01), [141, 143]),
            LedgerItem("free at the end", near(7.43), [145]),
        ],
        alike=8,
        before_evidence=[27],
    )
    base = launch(
        outcome="ready",
        lines=LineSpan(2, 162),
        started_at="2026-11-29T13:35:05",
        ready_at="2026-11-29T13:35:12",
        sglang_version=VersionBracket(
            "0.5.9", "0.5.9", True, ["server_args holds `enable_multimodal` and no `unified_memory_pool`"]
        ),
        model=ModelInfo("/models/kimi-k25", "KimiK25ForConditionalGeneration", "compressed-tensors", "mla", "given"),
        parallelism=Parallelism(8, 1, 1, 1, None, 1, False),
        server_args={
            "model_path": "/models/kimi-k25",
            "mem_fraction_static": 0.88,
            "max_running_requests": 48,
            "tp_size": 8,
            "page_size": 1,
            "kv_cache_dtype": "auto",
            "speculative_algorithm": "EAGLE3",
            "host": "127.0.0.1",
            "port": 30000,
            "api_key": "[redacted]",
        },
        mem_fraction_static=FractionInfo(0.88, 0.88, 0.88, "server_args"),
        ranks=[rank(tp) for tp in range(8)] + [rank(tp, "draft") for tp in range(8)],
        capacity=Capacity(159_277, None, None, 48, 262_144, None, None, 1, 159_277, []),
        expected=Expected(
            "0.5.9/mla",
            [
                TermRow(
                    "reserve",
                    "94.04 × (1 − 0.88)",
                    near(11.2848, 0.0006),
                    None,
                    [
                        TermInput("free before loading, lowest rank", "94.04 GiB", "log", 27),
                        TermInput("mem_fraction_static", "0.88", "server_args", 2),
                    ],
                    "0.5.9 ModelRunner.profile_max_num_token",
                ),
                TermRow(
                    "static budget",
                    "21.71 − 11.2848",
                    near(10.4252, 0.0056),
                    None,
                    [TermInput("free after loading, lowest rank", "21.71 GiB", "log", 35)],
                    "0.5.9 ModelRunner.profile_max_num_token",
                ),
                TermRow(
                    "bytes per token",
                    "(512 + 64) × 2 bytes × 61 layers",
                    None,
                    None,
                    [
                        TermInput("kv_lora_rank", "512", "model_config", None),
                        TermInput("qk_rope_head_dim", "64", "model_config", None),
                        TermInput("num_hidden_layers", "61", "model_config", None),
                    ],
                    "0.5.9 ModelRunner.get_cell_size_per_token",
                    number=Bounds(70_272, 70_272, 70_272),
                    unit="bytes",
                ),
                TermRow("tokens", "10.4252 GiB // 70,272 bytes", None, Bounds(159_293, 159_208, 159_379), [], ""),
            ],
            near(10.4252, 0.0056),
            Bounds(70_272, 70_272, 70_272),
            Bounds(159_293, 159_208, 159_379),
            None,
            None,
            Bounds(48, 48, 48),
            None,
            ["the allocator's own rounding is under 2 MiB"],
        ),
        reconciliation=Reconciliation(
            "explained", 159_277, Bounds(159_293, 159_208, 159_379), 0, Bounds(0, 0, 0), [], []
        ),
        naive=[
            NaiveSum(
                "0.88 × what is left after loading",
                19.10,
                291_900,
                8.68,
                "the fraction applies to the memory free before loading, weights included",
            ),
            NaiveSum("0.88 × 96 GB card − weights", 12.15, 185_600, 1.73, "94.04 GiB were free before loading, not 96"),
        ],
        ledger=[ledger],
        options=[
            Option(
                "store the KV cache in FP8",
                "--kv-cache-dtype fp8_e4m3",
                Bounds(318_586, 318_416, 318_758),
                near(7.4, 0.05),
                "check accuracy",
                "half the bytes per token",
            ),
            Option(
                "give the cache a larger share",
                "--mem-fraction-static 0.92",
                Bounds(216_700, 216_600, 216_800),
                near(3.67, 0.05),
                "little room for activations",
                "",
            ),
            Option(
                "hierarchical cache",
                "--enable-hierarchical-cache",
                Bounds(159_293, 159_208, 159_379),
                near(7.43),
                "needs 167 GB of host memory for ratio 2 over 8 ranks",
                "reuse from host memory, same tokens on the GPU",
            ),
        ],
        findings=[
            Finding(
                "fraction-of-what",
                "info",
                "`--mem-fraction-static` is a share of what was free before loading",
                "0.88 of 94.04 GiB is 82.76 GiB for weights **and** KV cache together.\n\nNot of 96, and not of 21.71.",
                [27, 35],
                "Nothing to do.",
            ),
            Finding(
                "reserve-consumed",
                "notice",
                "The reserve of 11.28 GiB is in use",
                "Taken from it:\n- CUDA graphs 1.81 GiB\n- draft weights 0.95 GiB\n- draft KV cache 0.60 GiB",
                [57, 104, 121],
                "Keep `--mem-fraction-static` where it is, or lower `--cuda-graph-max-bs`.",
            ),
        ],
        unrecognised=[],
        verdict=[
            "Ready. The KV cache is exactly as large as SGLang's formula makes it.",
            "Each GPU holds 159,277 tokens (10.42 GiB). SGLang 0.5.9 keeps 12 % of the memory that was free before "
            "loading, 94.04 GiB, out of the cache: 11.28 GiB. 21.71 GiB free after the weights minus that reserve "
            "leaves 10.42 GiB, at 70,272 bytes a token.",
            "The reserve is not idle: CUDA graphs, the draft model and its KV cache took 3.86 GiB of it, 7.43 GiB are "
            "left for activations.",
        ],
        timeline=[
            TimelineStep(27, "2026-11-29T13:35:07", 94.04, "before loading the weights"),
            TimelineStep(35, "2026-11-29T13:35:10", 21.71, "after the weights"),
            TimelineStep(55, "2026-11-29T13:35:11", 11.17, "after the KV pool"),
            TimelineStep(57, "2026-11-29T13:35:11", 9.66, "after the CUDA graphs"),
            TimelineStep(104, "2026-11-29T13:35:11", 8.71, "after the draft weights"),
            TimelineStep(124, "2026-11-29T13:35:11", 8.10, "after the draft KV pool"),
            TimelineStep(143, "2026-11-29T13:35:12", 7.43, "after the draft CUDA graphs"),
            TimelineStep(145, "2026-11-29T13:35:12", 7.43, "scheduler ready"),
        ],
        quotes=[Quote(line, text) for line, text in SEED_QUOTES.items()],
    )
    return msgspec.structs.replace(base, **changes)


def seed(**changes: Any) -> Document:
    return document(seed_launch(**changes), redacted={"api_key": 1})


def crashed() -> Document:
    """Out of memory while the pool is sized: nothing is left after the weights."""
    text = (
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: "
        "self.server_args.mem_fraction_static=0.7"
    )
    return document(
        launch(
            outcome="crashed",
            failure=FailureInfo("memory", "sizing", text, 58, RankInfo(tp=3)),
            lines=LineSpan(1, 80),
            started_at="2026-03-02T03:01:00",
            sglang_version=VersionBracket("0.5.2", "0.5.4", False, ["wording of line 58"]),
            model=ModelInfo("Qwen/Qwen3-235B-A22B", "Qwen3MoeForCausalLM", "fp8", "mha", None),
            parallelism=Parallelism(4, 1, 1, 1, None, 1, False),
            mem_fraction_static=FractionInfo(0.7, 0.7, 0.7, "server_args"),
            server_args={"mem_fraction_static": 0.7, "tp_size": 4, "context_length": 131072},
            ranks=[
                rank(
                    tp,
                    before_load_gib=78.6 if tp != 3 else 76.12,
                    after_load_gib=22.4 if tp != 3 else 19.92,
                    weights_gib=56.2,
                    kv_tokens=None,
                    kv_gib=None,
                    pools=[],
                    pool_end_gib=None,
                    graphs_gib=None,
                    final_gib=None,
                    kv_dtype=None,
                )
                for tp in range(4)
            ],
            verdict=[
                "Crashed while the KV cache was sized: GPU memory was the reason. Raise `--mem-fraction-static`.",
                "After the weights 19.92 GiB were free on TP3; SGLang wanted to keep 22.84 GiB (30 % of 76.12) out of "
                "the cache, which leaves −2.91 GiB.",
                "The smallest fraction that starts is 0.739.",
            ],
            ledger=[
                LedgerRow(
                    "target",
                    RankInfo(tp=3),
                    [
                        LedgerItem("weights (Qwen3MoeForCausalLM)", near(56.20), [31]),
                        LedgerItem("free at the end", near(19.92), [31]),
                    ],
                    before_evidence=[27],
                ),
                LedgerRow(
                    "target",
                    RankInfo(tp=0),
                    [
                        LedgerItem("weights (Qwen3MoeForCausalLM)", near(56.20), [31]),
                        LedgerItem("free at the end", near(22.40), [31]),
                    ],
                    alike=3,
                ),
            ],
            findings=[
                Finding(
                    "memory-oom-sizing", "critical", "The fraction leaves nothing for the cache", "", [58], "Raise it."
                )
            ],
            quotes=[Quote(58, text)],
            corrected_command="python -m sglang.launch_server --model-path Qwen/Qwen3-235B-A22B --tp 4 "
            "--mem-fraction-static 0.8",
        ),
        sources=[source("crash.log", lines=80, bytes=9_000)],
    )


def several() -> Document:
    """Three starts: hybrid pools with a residual, one not explained, one that stops early with unknown lines."""
    hybrid = seed_launch(
        index=0,
        outcome="initialised",
        capacity=Capacity(1_234_567, 1_234_567, 250_000, 256, 131_072, 64, None),
        ranks=[
            rank(
                0,
                kv_tokens=1_234_567,
                pools=[
                    PoolInfo("full", 1_234_567, None, 9.0, 53),
                    PoolInfo("swa", 250_000, None, 1.2, 54),
                    PoolInfo("mamba", None, 64, 0.22, 50),
                ],
            )
        ],
        reconciliation=Reconciliation(
            "explained_with_residual",
            1_234_567,
            Bounds(1_234_000, 1_233_000, 1_234_500),
            67,
            near(0.01),
            [Cause("page-rounding", near(0.01), 67, [52], "pages of 64 tokens")],
            [],
        ),
        verdict=["Initialised. The KV cache is explained but for 0.01 GiB.", "Two pools share the budget."],
    )
    unexplained = seed_launch(
        index=1,
        server_args={"mem_fraction_static": 0.9, "tp_size": 8, "max_total_tokens": 100_000},
        reconciliation=Reconciliation(
            "unexplained", 100_000, Bounds(159_293, 159_208, 159_379), -59_208, near(-3.88, 0.01), [], []
        ),
        verdict=[
            "Ready. The KV cache holds 59,208 tokens fewer than the formula gives, and nothing in the log says why."
        ],
    )
    early = launch(
        index=2,
        unrecognised=[
            Unrecognised(301, "[TP0] Elastic arena grown to 12.5 GB", "kv_pool_mla"),
            Unrecognised(302, "[TP0] mem ledger: 3 GB", None),
        ],
        notes=["The log starts in the middle of this start."],
    )
    return document(
        hybrid, unexplained, early, sources=[source("bench.log", lines=400, wrappers=["kubernetes", "ansi"])]
    )


def empty() -> Document:
    return document(sources=[source("nginx.log", lines=3, bytes=120)])


ALL = {"seed": seed, "crashed": crashed, "several": several, "empty": empty, "incomplete": lambda: document(launch())}
