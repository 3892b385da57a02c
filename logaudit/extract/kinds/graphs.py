"""Kinds of lines printed while graphs are captured and kernels warmed up."""

from __future__ import annotations

from logaudit.extract.extractor import Extractor, Field, Sample
from logaudit.extract.patterns import GB, MB, clause, fig, num

_SIZES = r"\[[^\]]*\]"

EXTRACTORS = (
    Extractor(
        kind="capture_begin",
        phase="graphs",
        anchors=("graph begin", "extend begin", " begin. backend="),
        pattern=(
            r"Capture (?P<what>.{1,80}?) begin(?: \(step (?P<step>\d{1,6})\))?(?:\.| ?…| \.\.\.)"
            + clause(r"\bstep=(?P<step>\d{1,6})")
            + clause(r"\bbackend=(?P<backend>\w+)")
            + clause(rf"\bnum_tokens_per_(?:bs|req)={num('tokens_per_request')}")
            + clause(rf"\bnum_tokens=(?P<token_sizes>{_SIZES})")
            + clause(rf"\bbs=(?P<batch_sizes>{_SIZES})")
            + clause(rf"\bavail mem={fig('avail_gib', GB)}")
        ),
        fields=(
            Field("what", "text"),
            Field("step", "count"),
            Field("backend", "text"),
            Field("tokens_per_request", "tokens"),
            Field("token_sizes", "text"),
            Field("batch_sizes", "text"),
            Field("avail_gib", "gib"),
        ),
        releases="0.2.0..0.5.23",
        printed_by="every rank; EAGLE drafts tp_rank 0 only since 0.5.12",
        samples=(
            Sample(
                "[gpu_id=0] Capture cuda graph begin. This can take up to several minutes.",
                "0.2.0",
                {"what": "cuda graph"},
            ),
            Sample(
                "Capture cuda graph begin. This can take up to several minutes.",
                "0.2.15..0.4.3.post2",
                {"what": "cuda graph"},
            ),
            Sample(
                "Capture cuda graph begin. This can take up to several minutes. avail mem=9.76 GB",
                "0.4.3.post3..0.5.13.post1",
                {"what": "cuda graph", "avail_gib": "9.76"},
            ),
            Sample(
                "Capture npu graph begin. This can take up to several minutes. avail mem=9.76 GB",
                "0.5.2..0.5.13.post1",
                {"what": "npu graph", "avail_gib": "9.76"},
            ),
            Sample(
                "Capture draft cuda graph begin. This can take up to several minutes. avail mem=9.21 GB",
                "0.4.3.post3..0.5.13.post1",
                {"what": "draft cuda graph", "avail_gib": "9.21"},
            ),
            Sample(
                "Capture draft extend cuda graph begin. This can take up to several minutes. avail mem=9.21 GB",
                "0.4.7..0.5.13.post1",
                {"what": "draft extend cuda graph", "avail_gib": "9.21"},
            ),
            Sample(
                "Capture draft extend cuda graph begin (step 0). This can take up to several minutes. avail mem=9.21 "
                "GB",
                "0.5.7..0.5.13.post1",
                {"what": "draft extend cuda graph", "step": "0", "avail_gib": "9.21"},
            ),
            Sample(
                "Capture piecewise CUDA graph begin. avail mem=9.21 GB",
                "0.5.6..0.5.13.post1",
                {"what": "piecewise CUDA graph", "avail_gib": "9.21"},
            ),
            Sample(
                "Capture target decode CUDA graph begin. backend=full, num_tokens_per_bs=1, bs=[1, 2, 4, 8], avail "
                "mem=9.76 GB",
                "0.5.14..0.5.15.post1",
                {
                    "what": "target decode CUDA graph",
                    "backend": "full",
                    "tokens_per_request": "1",
                    "batch_sizes": "[1, 2, 4, 8]",
                    "avail_gib": "9.76",
                },
            ),
            Sample(
                "Capture draft decode CUDA graph begin. backend=full, num_tokens_per_bs=4, bs=[1, 2, 4], avail "
                "mem=9.21 GB",
                "0.5.14..0.5.15.post1",
                {
                    "what": "draft decode CUDA graph",
                    "backend": "full",
                    "tokens_per_request": "4",
                    "batch_sizes": "[1, 2, 4]",
                    "avail_gib": "9.21",
                },
            ),
            Sample(
                "Capture target verify CUDA graph begin. backend=full, num_tokens_per_req=4, bs=[1, 2, 4, 8], "
                "avail mem=9.76 GB",
                "0.5.16..0.5.21",
                {
                    "what": "target verify CUDA graph",
                    "backend": "full",
                    "tokens_per_request": "4",
                    "batch_sizes": "[1, 2, 4, 8]",
                    "avail_gib": "9.76",
                },
            ),
            Sample(
                "Capture draft decode CUDA graph begin. backend=full, num_tokens_per_req=4, bs=[1, 2, 4], avail "
                "mem=9.21 GB",
                "0.5.16..0.5.23",
                {
                    "what": "draft decode CUDA graph",
                    "backend": "full",
                    "tokens_per_request": "4",
                    "batch_sizes": "[1, 2, 4]",
                    "avail_gib": "9.21",
                },
            ),
            Sample(
                "Capture draft extend CUDA graph begin. backend=full, num_tokens_per_req=4, bs=[1, 2, 4], avail "
                "mem=9.21 GB",
                "0.5.16..0.5.23",
                {
                    "what": "draft extend CUDA graph",
                    "backend": "full",
                    "tokens_per_request": "4",
                    "batch_sizes": "[1, 2, 4]",
                    "avail_gib": "9.21",
                },
            ),
            Sample(
                "Capture target decode CUDA graph begin. backend=full, num_tokens_per_req=1, avail mem=9.76 GB",
                "0.5.22..0.5.23",
                {
                    "what": "target decode CUDA graph",
                    "backend": "full",
                    "tokens_per_request": "1",
                    "avail_gib": "9.76",
                },
            ),
            Sample(
                "Capture target prefill CUDA graph begin. backend=tc_piecewise, num_tokens=[4, 8, 16], avail mem=9.76 "
                "GB",
                "0.5.14..0.5.23",
                {
                    "what": "target prefill CUDA graph",
                    "backend": "tc_piecewise",
                    "token_sizes": "[4, 8, 16]",
                    "avail_gib": "9.76",
                },
            ),
            Sample(
                "Capture draft extend CUDA graph begin. step=0, avail mem=9.21 GB",
                "0.5.14..0.5.23",
                {"what": "draft extend CUDA graph", "step": "0", "avail_gib": "9.21"},
            ),
            Sample(
                "Capture single-CG draft extend begin. This can take several minutes. avail mem=9.21 GB",
                "0.5.16..0.5.23",
                {"what": "single-CG draft extend", "avail_gib": "9.21"},
            ),
            Sample(
                "Capture UNO tree draft CUDA graph begin. num_tokens_per_req=8, avail mem=9.21 GB",
                "0.5.20..0.5.23",
                {"what": "UNO tree draft CUDA graph", "tokens_per_request": "8", "avail_gib": "9.21"},
            ),
            Sample(
                "Capture Frozen-KV MTP draft cuda graph begin.",
                "0.5.12..0.5.23",
                {"what": "Frozen-KV MTP draft cuda graph"},
            ),
        ),
    ),
    Extractor(
        kind="capture_end",
        phase="graphs",
        anchors=("graph end.", "extend end.", " end. elapsed=", " end. bs="),
        pattern=(
            r"Capture (?P<what>.{1,80}?) end\."
            + clause(rf"(?:Time elapsed: |\belapsed=){fig('elapsed_s')} s\b")
            + clause(r"\bstep=(?P<step>\d{1,6})")
            + clause(rf"\bbs=(?P<batch_sizes>{_SIZES})")
            + clause(rf"\bmem usage={fig('used_gib', GB)}")
            + clause(rf"\bavail mem={fig('avail_gib', GB)}")
        ),
        fields=(
            Field("what", "text"),
            Field("elapsed_s", "s"),
            Field("step", "count"),
            Field("batch_sizes", "text"),
            Field("used_gib", "gib"),
            Field("avail_gib", "gib"),
        ),
        releases="0.4.0..0.5.23",
        printed_by="the same ranks as capture_begin",
        samples=(
            Sample(
                "Capture cuda graph end. Time elapsed: 12.34 s",
                "0.4.0..0.4.3.post2",
                {"what": "cuda graph", "elapsed_s": "12.34"},
            ),
            Sample(
                "Capture cuda graph end. Time elapsed: 12.34 s. avail mem=7.61 GB. mem usage=2.15 GB.",
                "0.4.3.post3..0.4.6",
                {"what": "cuda graph", "elapsed_s": "12.34", "avail_gib": "7.61", "used_gib": "2.15"},
            ),
            Sample(
                "Capture cuda graph end. Time elapsed: 12.34 s. mem usage=2.15 GB. avail mem=7.61 GB.",
                "0.4.6.post1..0.5.13.post1",
                {"what": "cuda graph", "elapsed_s": "12.34", "avail_gib": "7.61", "used_gib": "2.15"},
            ),
            Sample(
                "Capture draft cuda graph end. Time elapsed: 3.20 s. avail mem=7.20 GB",
                "0.4.3.post3..0.4.4.post1",
                {"what": "draft cuda graph", "elapsed_s": "3.20", "avail_gib": "7.20"},
            ),
            Sample(
                "Capture draft cuda graph end. Time elapsed: 3.20 s. avail mem=7.20 GB. mem usage=0.41 GB.",
                "0.4.4.post2..0.4.7",
                {"what": "draft cuda graph", "elapsed_s": "3.20", "avail_gib": "7.20", "used_gib": "0.41"},
            ),
            Sample(
                "Capture draft cuda graph end. Time elapsed: 3.20 s. mem usage=0.41 GB. avail mem=7.20 GB.",
                "0.4.7.post1..0.5.13.post1",
                {"what": "draft cuda graph", "elapsed_s": "3.20", "avail_gib": "7.20", "used_gib": "0.41"},
            ),
            Sample(
                "Capture draft extend cuda graph end. Time elapsed: 3.20 s. mem usage=0.41 GB. avail mem=7.20 GB.",
                "0.4.7.post1..0.5.13.post1",
                {"what": "draft extend cuda graph", "elapsed_s": "3.20", "avail_gib": "7.20", "used_gib": "0.41"},
            ),
            Sample(
                "Capture target decode CUDA graph end. elapsed=12.34 s, mem usage=2.15 GB, avail mem=7.61 GB.",
                "0.5.14..0.5.21",
                {"what": "target decode CUDA graph", "elapsed_s": "12.34", "avail_gib": "7.61", "used_gib": "2.15"},
            ),
            Sample(
                "Capture target decode CUDA graph end. bs=[1, 2, 4, 8], elapsed=12.34 s, mem usage=2.15 GB, avail "
                "mem=7.61 GB.",
                "0.5.22..0.5.23",
                {
                    "what": "target decode CUDA graph",
                    "batch_sizes": "[1, 2, 4, 8]",
                    "elapsed_s": "12.34",
                    "avail_gib": "7.61",
                    "used_gib": "2.15",
                },
            ),
            Sample(
                "Capture draft extend CUDA graph end. step=0, elapsed=3.20 s, mem usage=0.41 GB, avail mem=7.20 GB.",
                "0.5.14..0.5.23",
                {
                    "what": "draft extend CUDA graph",
                    "step": "0",
                    "elapsed_s": "3.20",
                    "avail_gib": "7.20",
                    "used_gib": "0.41",
                },
            ),
            Sample(
                "Capture target prefill CUDA graph end. elapsed=3.20 s, mem usage=-0.41 GB, avail mem=7.20 GB.",
                "0.5.14..0.5.23",
                {"what": "target prefill CUDA graph", "elapsed_s": "3.20", "avail_gib": "7.20", "used_gib": "-0.41"},
            ),
            Sample(
                "Capture draft decode CUDA graph end. elapsed=3.20 s, mem usage=0.41 GB, avail mem=7.20 GB.",
                "0.5.14..0.5.23",
                {"what": "draft decode CUDA graph", "elapsed_s": "3.20", "avail_gib": "7.20", "used_gib": "0.41"},
            ),
            Sample(
                "Capture Frozen-KV MTP draft cuda graph end.",
                "0.5.12..0.5.23",
                {"what": "Frozen-KV MTP draft cuda graph"},
            ),
        ),
    ),
    Extractor(
        kind="capture_bs",
        phase="graphs",
        anchors=("Capture cuda graph bs", "graph num tokens", "[BCG] Capture num tokens", "graph bs ["),
        pattern=(
            rf"(?:Capture (?:\w+ )?graph (?P<what>bs|num tokens)|\[BCG\] Capture (?P<what>num tokens):) "
            rf"(?P<sizes>{_SIZES})"
        ),
        fields=(Field("what", "text"), Field("sizes", "text")),
        releases="0.4.6.post2..0.5.13.post1",
        printed_by="tp_rank 0",
        samples=(
            Sample(
                "Capture cuda graph bs [1, 2, 4, 8, 16]",
                "0.4.6.post2..0.5.13.post1",
                {"what": "bs", "sizes": "[1, 2, 4, 8, 16]"},
            ),
            Sample(
                "Capture cuda graph num tokens [4, 8, 12]",
                "0.5.3.post1..0.5.13.post1",
                {"what": "num tokens", "sizes": "[4, 8, 12]"},
            ),
            Sample(
                "[BCG] Capture num tokens: [4, 8, 12]",
                "0.5.10.post1..0.5.13.post1",
                {"what": "num tokens", "sizes": "[4, 8, 12]"},
            ),
        ),
    ),
    Extractor(
        kind="capture_progress",
        phase="graphs",
        anchors=("Capturing batches (", "Capturing num tokens (", "Capturing prefill shape (", "[BCG] Capturing ("),
        bulk=True,
        pattern=(
            r"(?:Capturing (?P<what>batches|num tokens|prefill shape)|\[(?P<what>BCG)\] Capturing) "
            rf"\((?:bs={num('bs')} |num_tokens={num('num_tokens')} )?avail_mem={fig('avail_gib', GB)}\)"
        ),
        fields=(
            Field("what", "text"),
            Field("bs", "count"),
            Field("num_tokens", "tokens"),
            Field("avail_gib", "gib"),
        ),
        releases="0.4.4.post1..0.5.23",
        printed_by="tp_rank 0",
        note="A progress bar on standard error, without SGLang's prefix.",
        samples=(
            Sample(
                "Capturing batches (avail_mem=7.61 GB):  50%|█████     | 11/23 [00:03<00:03,  3.0it/s]",
                "0.4.4.post1..0.4.8.post1",
                {"what": "batches", "avail_gib": "7.61"},
            ),
            Sample(
                "Capturing batches (bs=128 avail_mem=7.61 GB):  50%|█████     | 11/23 [00:03<00:03,  3.0it/s]",
                "0.4.8.post1..0.5.23",
                {"what": "batches", "bs": "128", "avail_gib": "7.61"},
            ),
            Sample(
                "Capturing num tokens (num_tokens=4096 avail_mem=7.61 GB):   0%|          | 0/58 [00:00<?, ?it/s]",
                "0.5.3.post1..0.5.20",
                {"what": "num tokens", "num_tokens": "4096", "avail_gib": "7.61"},
            ),
            Sample(
                "[BCG] Capturing (num_tokens=4096 avail_mem=7.61 GB):   0%|          | 0/58 [00:00<?, ?it/s]",
                "0.5.11..0.5.13.post1",
                {"what": "BCG", "num_tokens": "4096", "avail_gib": "7.61"},
            ),
            Sample(
                "Capturing prefill shape (num_tokens=4096 avail_mem=7.61 GB):   0%|          | 0/58 [00:00<?, ?it/s]",
                "0.5.21..0.5.23",
                {"what": "prefill shape", "num_tokens": "4096", "avail_gib": "7.61"},
            ),
        ),
    ),
    Extractor(
        kind="capture_skipped",
        phase="graphs",
        anchors=("prefill CUDA graph", "piecewise CUDA graph", "draft cuda graph because", "draft CUDA graph because"),
        pattern=(
            r"Disabl(?:e|ing) (?:auto-selected |full |[\w-]+ ){0,4}?"
            r"(?P<what>(?:breakable )?prefill|piecewise|DFLASH draft|DSpark draft) (?:CUDA|cuda) graph"
            + clause(rf"only {fig('avail_gib', GB)}")
            + clause(rf"at least {fig('needed_gib', GB)}")
        ),
        fields=(Field("what", "text"), Field("avail_gib", "gib"), Field("needed_gib", "gib")),
        releases="0.5.4..0.5.23",
        samples=(
            Sample(
                "Disable prefill CUDA graph because the capture size is not set", "0.5.14..0.5.23", {"what": "prefill"}
            ),
            Sample(
                "Disable piecewise CUDA graph because the capture size is not set",
                "0.5.10..0.5.13.post1",
                {"what": "piecewise"},
            ),
            Sample(
                "Disabling auto-selected prefill CUDA graph: only 1.20 GiB is free after model/KV/eager-buffer "
                "allocation; "
                "at least 2.00 GiB is required for capture. Set an explicit prefill CUDA graph backend to override "
                "this "
                "safety gate.",
                "0.5.16..0.5.17",
                {"what": "prefill", "avail_gib": "1.20", "needed_gib": "2.00"},
            ),
            Sample(
                "Disable DFLASH draft cuda graph because only 0.80 GB GPU memory is available after target backend "
                "initialization.",
                "0.5.14..0.5.23",
                {"what": "DFLASH draft", "avail_gib": "0.80"},
            ),
        ),
    ),
    Extractor(
        kind="graph_disabled",
        phase="graphs",
        anchors=("CUDA Graph is DISABLED.",),
        pattern=r"\s*CUDA Graph is DISABLED\.",
        fields=(),
        releases="0.4.5.post1..0.4.5.post3",
        note="Nothing is captured: no graph line follows.",
        samples=(
            Sample(
                " CUDA Graph is DISABLED. This will cause significant performance degradation. CUDA Graph should "
                "almost never be disabled in most usage scenarios. If you encounter OOM issues, please try setting "
                "--mem-fraction-static to a lower value (such as 0.8 or 0.7) instead of disabling CUDA Graph. ",
                "0.4.5.post1..0.4.5.post3",
            ),
        ),
    ),
    Extractor(
        kind="row_graph",
        phase="graphs",
        anchors=(" segments) in ",),
        pattern=(
            rf"(?P<what>[^:]{{1,80}}): captured {num('rows')} rows \({num('segments')} segments\) in "
            rf"{fig('elapsed_s')} s, {fig('used_gib', GB)}; {num('graphs')} graphs, {fig('total_s')} s, "
            rf"{fig('total_gib', GB)}"
        ),
        fields=(
            Field("what", "text"),
            Field("rows", "count"),
            Field("segments", "count"),
            Field("elapsed_s", "s"),
            Field("used_gib", "gib"),
            Field("graphs", "count"),
            Field("total_s", "s"),
            Field("total_gib", "gib"),
        ),
        releases="0.5.23",
        printed_by="tp_rank 0",
        note="Captured when a row count comes up for the first time, so also while serving.",
        samples=(
            Sample(
                "Decoder tail graph: captured 64 rows (5 segments) in 1.20 s, 0.125 GiB; 3 graphs, 3.10 s, 0.310 GiB",
                "0.5.23",
                {
                    "what": "Decoder tail graph",
                    "rows": "64",
                    "segments": "5",
                    "elapsed_s": "1.20",
                    "used_gib": "0.125",
                    "graphs": "3",
                    "total_s": "3.10",
                    "total_gib": "0.310",
                },
            ),
        ),
    ),
    Extractor(
        kind="prefill_cg_workspace",
        phase="graphs",
        anchors=("Full-CG prefill workspace:",),
        pattern=rf"Full-CG prefill workspace: {fig('workspace_gib', MB)} \(max bucket {num('max_tokens')} tokens",
        fields=(Field("workspace_gib", "mib"), Field("max_tokens", "tokens")),
        releases="0.5.15..0.5.23",
        samples=(
            Sample(
                "Full-CG prefill workspace: 512 MB (max bucket 8192 tokens, 16 request slots)",
                "0.5.15..0.5.23",
                {"workspace_gib": "512", "max_tokens": "8192"},
            ),
        ),
    ),
    Extractor(
        kind="graph_pool",
        phase="graphs",
        anchors=("Graph pool pre-carved:", "Graph pool borrow"),
        pattern=(
            rf"Graph pool (?:pre-carved: {fig('carved_gib', GB)}"
            rf"|borrow (?:pre-carved: {fig('borrow_carved_gib', MB)}|capacity: {fig('borrow_capacity_gib', MB)}"
            rf"|high-water mark: {fig('borrow_peak_gib', MB)}))"
        ),
        fields=(
            Field("carved_gib", "gib"),
            Field("borrow_carved_gib", "mib"),
            Field("borrow_capacity_gib", "mib"),
            Field("borrow_peak_gib", "mib"),
        ),
        releases="0.5.20..0.5.23",
        samples=(
            Sample("Graph pool pre-carved: 0.50 GB", "0.5.20..0.5.23", {"carved_gib": "0.50"}),
            Sample(
                "Graph pool borrow capacity: 800.0 MiB available, largest contiguous region 512.0 MiB, 3 regions",
                "0.5.20..0.5.23",
                {"borrow_capacity_gib": "800.0"},
            ),
            Sample(
                "Graph pool borrow high-water mark: 300.0 MiB used of 800.0 MiB available",
                "0.5.20..0.5.23",
                {"borrow_peak_gib": "300.0"},
            ),
            Sample("Graph pool borrow pre-carved: 300.0 MiB", "0.5.20..0.5.23", {"borrow_carved_gib": "300.0"}),
        ),
    ),
    Extractor(
        kind="deepgemm_budget",
        phase="graphs",
        anchors=("DeepGEMM masked layout budget:", "Required memory for warmup:", "is less than required memory"),
        pattern=(
            rf"(?:DeepGEMM masked layout budget: {fig('budget_gib', GB)} from {fig('avail_gib', GB)} free\."
            rf"|Required memory for warmup: {fig('needed_gib', GB)}, Available memory: {fig('avail_gib', GB)}"
            rf"|Available memory {fig('avail_gib', GB)} is less than required memory {fig('needed_gib', GB)} for "
            rf"warmup)"
        ),
        fields=(Field("budget_gib", "gib"), Field("needed_gib", "gib"), Field("avail_gib", "gib")),
        releases="0.5.6.post1..0.5.23",
        note="The warm-up line prints unrounded figures.",
        samples=(
            Sample(
                "DeepGEMM masked layout budget: 1.90 GiB from 7.60 GiB free.",
                "0.5.18..0.5.23",
                {"budget_gib": "1.90", "avail_gib": "7.60"},
            ),
            Sample(
                "Required memory for warmup: 2.5GB, Available memory: 7.123456GB",
                "0.5.6.post1..0.5.23",
                {"needed_gib": "2.5", "avail_gib": "7.123456"},
            ),
            Sample(
                "Available memory 2.1GB is less than required memory 4.5GB for warmup, reducing max_m to 8192 to avoid "
                "out "
                "of memory",
                "0.5.6.post1..0.5.23",
                {"avail_gib": "2.1", "needed_gib": "4.5"},
            ),
        ),
    ),
    Extractor(
        kind="deepgemm_warmup",
        phase="graphs",
        anchors=("Entering DeepGEMM JIT", "Try DeepGEMM JIT Compiling for", "PP-parallel DeepGEMM warmup"),
        pattern=r"(?P<what>Entering DeepGEMM JIT|Try DeepGEMM JIT Compiling for|PP-parallel DeepGEMM warmup)",
        fields=(Field("what", "text"),),
        releases="0.4.5.post1..0.5.23",
        samples=(
            Sample(
                "Entering DeepGEMM JIT Pre-Compile session. It may take a long time (typically 10-20 mins) if you have "
                "not "
                "run `sglang.compile_deep_gemm`.",
                "0.4.5.post1..0.5.23",
                {"what": "Entering DeepGEMM JIT"},
            ),
        ),
    ),
    Extractor(
        kind="adaptive_spec_state",
        phase="graphs",
        anchors=("Built adaptive runtime state",),
        pattern=(
            rf"Built adaptive runtime state steps={num('steps')}: elapsed={fig('elapsed_s')}s, "
            rf"mem={fig('used_gib', GB)}"
        ),
        fields=(Field("steps", "count"), Field("elapsed_s", "s"), Field("used_gib", "gib")),
        releases="0.5.11..0.5.23",
        printed_by="tp_rank 0",
        samples=(
            Sample(
                "Built adaptive runtime state steps=3: elapsed=4.12s, mem=0.31GB",
                "0.5.11..0.5.23",
                {"steps": "3", "elapsed_s": "4.12", "used_gib": "0.31"},
            ),
        ),
    ),
)
