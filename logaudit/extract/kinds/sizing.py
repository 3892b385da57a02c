"""Kinds of lines printed while the pools' sizes are computed."""

from __future__ import annotations

from logaudit.extract.extractor import Extractor, Field, Sample
from logaudit.extract.patterns import GB, NUMBER, clause, fig, num

EXTRACTORS = (
    Extractor(
        kind="kv_cache_dtype",
        phase="sizing",
        anchors=("Using KV cache dtype:",),
        pattern=r"Using KV cache dtype: (?P<dtype>[\w.]+\w)",
        fields=(Field("dtype", "text"),),
        releases="0.5.3..0.5.12.post1",
        printed_by="tp_rank 0",
        note="Since 0.5.13 the dtype is in kv_cache_allocated.",
        samples=(Sample("Using KV cache dtype: torch.bfloat16", "0.5.3..0.5.12.post1", {"dtype": "torch.bfloat16"}),),
    ),
    Extractor(
        kind="max_total_tokens_clamped",
        phase="sizing",
        anchors=("is larger than the profiled value",),
        pattern=(
            rf"max_total_tokens={num('asked_tokens')} is larger than the profiled value {num('profiled_tokens')}\. "
            r"Use the profiled value"
        ),
        fields=(Field("asked_tokens", "tokens"), Field("profiled_tokens", "tokens")),
        releases="0.2.15..0.5.23",
        samples=(
            Sample(
                "max_total_tokens=2000000 is larger than the profiled value 434132. Use the profiled value instead.",
                "0.2.15..0.5.23",
                {"asked_tokens": "2000000", "profiled_tokens": "434132"},
            ),
        ),
    ),
    Extractor(
        kind="swa_pool_sizes",
        phase="sizing",
        anchors=("liding window memory pool",),
        pattern=(
            r"Use [Ss]liding window memory pool(?P<all> \(all SWA\))?\. "
            rf"(?:full_layer_tokens={num('full_tokens')}(?: \({fig('full_gib', GB)}\))?, )?"
            rf"swa_layer_tokens={num('swa_tokens')}(?: \({fig('swa_gib', GB)}(?:, (?P<sized_by>[^)]*))?\))?"
        ),
        fields=(
            Field("full_tokens", "tokens"),
            Field("swa_tokens", "tokens"),
            Field("full_gib", "gib"),
            Field("swa_gib", "gib"),
            Field("sized_by", "text"),
        ),
        releases="0.4.9.post3..0.5.23",
        note="Builds after 0.5.23 add both sizes and what the window pool was sized by.",
        samples=(
            Sample(
                "Use sliding window memory pool. full_layer_tokens=40960 (0.39 GiB), swa_layer_tokens=32768 (3.13 GiB, "
                "ratio 0.8)",
                "",
                {
                    "full_tokens": "40960",
                    "swa_tokens": "32768",
                    "full_gib": "0.39",
                    "swa_gib": "3.13",
                    "sized_by": "ratio 0.8",
                },
            ),
            Sample(
                "Use Sliding window memory pool. full_layer_tokens=434132, swa_layer_tokens=347305",
                "0.4.9.post3..0.5.6.post2",
                {"full_tokens": "434132", "swa_tokens": "347305"},
            ),
            Sample(
                "Use sliding window memory pool. full_layer_tokens=434132, swa_layer_tokens=347305",
                "0.5.7..0.5.23",
                {"full_tokens": "434132", "swa_tokens": "347305"},
            ),
            Sample(
                "Use sliding window memory pool (all SWA). swa_layer_tokens=347305",
                "0.5.9..0.5.23",
                {"swa_tokens": "347305"},
            ),
        ),
    ),
    Extractor(
        kind="swa_ring",
        phase="sizing",
        anchors=("SWA ring: swa_max_total_num_tokens",),
        pattern=rf"SWA ring: swa_max_total_num_tokens {num('old_tokens')} -> {num('tokens')}",
        fields=(Field("old_tokens", "tokens"), Field("tokens", "tokens")),
        releases="0.5.20..0.5.23",
        samples=(
            Sample(
                "SWA ring: swa_max_total_num_tokens 347305 -> 65536 (fixed per-request SWA ring capacity).",
                "0.5.20..0.5.23",
                {"old_tokens": "347305", "tokens": "65536"},
            ),
        ),
    ),
    Extractor(
        kind="mm_runtime_reservation",
        phase="sizing",
        anchors=("of the KV budget for post-sizing multimodal",),
        pattern=rf"Reserving {fig('reserve_gib', GB)} of the KV budget for post-sizing multimodal allocations",
        fields=(Field("reserve_gib", "gib"),),
        releases="0.5.18..0.5.23",
        samples=(
            Sample(
                "Reserving 1.50 GB of the KV budget for post-sizing multimodal allocations (feature-transport pools + "
                "embedding cache).",
                "0.5.18..0.5.23",
                {"reserve_gib": "1.50"},
            ),
        ),
    ),
    Extractor(
        kind="dsv4_mem_calc",
        phase="sizing",
        anchors=("memory calculation:",),
        pattern=(
            r"(?P<label>DSV4|DSv4|SW KV|[\w ]{1,24}?) memory calculation: "
            + clause(r"\bunified=(?P<unified>\w+)")
            + clause(r"\bunified_fp8=(?P<unified_fp8>\w+)")
            + clause(r"\bdspark_draft_bf16=(?P<dspark_draft_bf16>\w+)")
            + clause(rf"\bc128_state_fixed={fig('c128_state_gib', GB)}")
            + clause(rf"\bc2_state_fixed={fig('c2_state_gib', GB)}")
            + clause(rf"\bc4_state_fixed={fig('c4_state_gib', GB)}")
            + clause(rf"\bswa_fixed={fig('swa_gib', GB)}")
            + clause(rf"\bswa_ring_fixed={fig('swa_ring_gib', GB)}")
            + rf".*?bytes_per_full_token={fig('bytes_per_token')}, available_bytes={fig('avail_gib', GB)}"
            + rf".*?full_token={num('full_tokens')}"
        ),
        fields=(
            Field("bytes_per_token", "bytes_rounded"),
            Field("avail_gib", "gib"),
            Field("c128_state_gib", "gib"),
            Field("c2_state_gib", "gib"),
            Field("c4_state_gib", "gib"),
            Field("swa_gib", "gib"),
            Field("swa_ring_gib", "gib"),
            Field("full_tokens", "tokens"),
            Field("unified", "text"),
            Field("unified_fp8", "text"),
            Field("dspark_draft_bf16", "text"),
            Field("label", "text"),
        ),
        releases="0.5.12..0.5.23",
        note="Builds before 0.5.12 spell the label DSv4, or SW KV.",
        samples=(
            Sample(
                "DSV4 memory calculation: bytes_per_full_token=3512.25, available_bytes=41.20 GB, full_token=12595200",
                "0.5.12..0.5.14",
                {"label": "DSV4", "bytes_per_token": "3512.25", "avail_gib": "41.20", "full_tokens": "12595200"},
            ),
            Sample(
                "DSV4 memory calculation: bytes_per_full_token=3512.25, available_bytes=41.20 GB, "
                "c128_state_fixed=0.10 GB, full_token=12595200",
                "0.5.15..0.5.19",
                {
                    "label": "DSV4",
                    "bytes_per_token": "3512.25",
                    "avail_gib": "41.20",
                    "c128_state_gib": "0.10",
                    "full_tokens": "12595200",
                },
            ),
            Sample(
                "DSV4 memory calculation: unified=False, unified_fp8=False, bytes_per_full_token=3512.25, "
                "available_bytes=41.20 GB, c128_state_fixed=0.10 GB, swa_ring_fixed=0.00 GB, c4_state_fixed=0.00 GB, "
                "full_token=12595200",
                "0.5.20",
                {
                    "label": "DSV4",
                    "unified": "False",
                    "unified_fp8": "False",
                    "bytes_per_token": "3512.25",
                    "avail_gib": "41.20",
                    "c128_state_gib": "0.10",
                    "swa_ring_gib": "0.00",
                    "c4_state_gib": "0.00",
                    "full_tokens": "12595200",
                },
            ),
            Sample(
                "DSV4 memory calculation: unified=False, unified_fp8=False, dspark_draft_bf16=False, "
                "bytes_per_full_token=3512.25, available_bytes=41.20 GB, c128_state_fixed=0.10 GB, c2_state_fixed=0.00 "
                "GB, "
                "swa_fixed=0.20 GB, swa_ring_fixed=0.30 GB, c4_state_fixed=0.40 GB, full_token=12595200",
                "0.5.21..0.5.23",
                {
                    "label": "DSV4",
                    "unified": "False",
                    "unified_fp8": "False",
                    "dspark_draft_bf16": "False",
                    "bytes_per_token": "3512.25",
                    "avail_gib": "41.20",
                    "c128_state_gib": "0.10",
                    "c2_state_gib": "0.00",
                    "swa_gib": "0.20",
                    "swa_ring_gib": "0.30",
                    "c4_state_gib": "0.40",
                    "full_tokens": "12595200",
                },
            ),
            Sample(
                "DSv4 memory calculation: bytes_per_full_token=15955.85, available_bytes=19.58 GB, full_token=1317632",
                "",
                {"label": "DSv4", "bytes_per_token": "15955.85", "avail_gib": "19.58", "full_tokens": "1317632"},
            ),
            Sample(
                "SW KV memory calculation: bytes_per_full_token=15955.85, available_bytes=19.58 GB, full_token=1317632",
                "",
                {"label": "SW KV", "bytes_per_token": "15955.85", "avail_gib": "19.58", "full_tokens": "1317632"},
            ),
        ),
    ),
    Extractor(
        kind="dsv4_pool_sizes",
        phase="sizing",
        anchors=("DSV4 pool sizes:", "DSv4 pool sizes:"),
        pattern=(
            rf"DS[Vv]4 pool sizes: full={num('full_tokens')}, swa={num('swa_tokens')}, c4={num('c4_slots')}, "
            rf"c128={num('c128_slots')}, c4_state={num('c4_state_slots')}, c128_state={num('c128_state_slots')}"
        ),
        fields=(
            Field("full_tokens", "tokens"),
            Field("swa_tokens", "tokens"),
            Field("c4_slots", "slots"),
            Field("c128_slots", "slots"),
            Field("c4_state_slots", "slots"),
            Field("c128_state_slots", "slots"),
        ),
        releases="0.5.12..0.5.23",
        samples=(
            Sample(
                "DSV4 pool sizes: full=12595200, swa=1259520, c4=3148800, c128=98400, c4_state=4096, c128_state=2048",
                "0.5.12..0.5.23",
                {
                    "full_tokens": "12595200",
                    "swa_tokens": "1259520",
                    "c4_slots": "3148800",
                    "c128_slots": "98400",
                    "c4_state_slots": "4096",
                    "c128_state_slots": "2048",
                },
            ),
        ),
    ),
    Extractor(
        kind="dsv4_swa_sizing",
        phase="sizing",
        anchors=("DSV4 SWA sizing:",),
        pattern=(
            rf"DSV4 SWA sizing: mode=(?P<mode>\w+(?: \([^)]*\))?), swa_tokens={num('swa_tokens')}"
            + clause(rf"swa_full_tokens_ratio=(?P<ratio>{NUMBER})")
        ),
        fields=(Field("mode", "text"), Field("swa_tokens", "tokens"), Field("ratio", "ratio")),
        releases="0.5.21..0.5.23",
        samples=(
            Sample(
                "DSV4 SWA sizing: mode=ratio, swa_tokens=1259520, swa_full_tokens_ratio=0.1",
                "0.5.21..0.5.23",
                {"mode": "ratio", "swa_tokens": "1259520", "ratio": "0.1"},
            ),
            Sample(
                "DSV4 SWA sizing: mode=ratio (explicit), swa_tokens=1053440, swa_full_tokens_ratio=0.1",
                "0.5.21..0.5.23",
                {"mode": "ratio (explicit)", "swa_tokens": "1053440", "ratio": "0.1"},
            ),
            Sample(
                "DSV4 SWA sizing: mode=cap, swa_tokens=131072, request_cap+headroom=130816, prefix_tails=8",
                "0.5.21..0.5.23",
                {"mode": "cap", "swa_tokens": "131072"},
            ),
        ),
    ),
    Extractor(
        kind="max_reqs_reduced",
        phase="sizing",
        anchors=(
            "max_running_requests was reduced from",
            "max_running_requests is capped to",
            "Max concurrent requests (per dp worker)",
        ),
        pattern=(
            rf"(?:max_running_requests was reduced from the requested {num('asked_requests')} to {num('requests')} "
            r"\(per dp worker\)"
            rf"|max_running_requests is capped to {num('requests')} by the mamba state cache "
            rf"\(max_mamba_cache_size={num('mamba_slots')}, {num('slots_per_request')} state slots"
            r"|Max concurrent requests \(per dp worker\) from the finalized token capacity: "
            rf"max_num_reqs={num('requests')})"
        ),
        fields=(
            Field("asked_requests", "requests"),
            Field("requests", "requests"),
            Field("mamba_slots", "slots"),
            Field("slots_per_request", "count"),
        ),
        releases="0.5.13..0.5.23",
        samples=(
            Sample(
                "max_running_requests was reduced from the requested 256 to 120 (per dp worker) due to the available "
                "KV "
                "cache capacity.",
                "0.5.14..0.5.23",
                {"asked_requests": "256", "requests": "120"},
            ),
            Sample(
                "max_running_requests is capped to 48 by the mamba state cache (max_mamba_cache_size=144, 3 state "
                "slots "
                "per request). To raise it: increase --mamba-full-memory-ratio",
                "0.5.17..0.5.23",
                {"requests": "48", "mamba_slots": "144", "slots_per_request": "3"},
            ),
            Sample(
                "Max concurrent requests (per dp worker) from the finalized token capacity: max_num_reqs=2048.",
                "0.5.13..0.5.13.post1",
                {"requests": "2048"},
            ),
        ),
    ),
    Extractor(
        kind="memory_profiling",
        phase="sizing",
        anchors=("Memory profiling: available_gpu_memory=",),
        pattern=(
            rf"Memory profiling: available_gpu_memory={fig('avail_gib', GB)}, total_gpu_memory={fig('total_gib', GB)}, "
            rf"mem_fraction_static={fig('fraction')}, rest_memory={fig('rest_gib', GB)}"
        ),
        fields=(
            Field("avail_gib", "gib"),
            Field("total_gib", "gib"),
            Field("fraction", "fraction_rounded"),
            Field("rest_gib", "gib"),
        ),
        releases="",
        note=(
            "Development builds before 0.5.12: both readings of the budget, rest = available - total * (1 - fraction). "
            "`total` is what was free before the weights."
        ),
        samples=(
            Sample(
                "Memory profiling: available_gpu_memory=57.01 GB, total_gpu_memory=93.58 GB, mem_fraction_static=0.60, "
                "rest_memory=19.58 GB",
                "",
                {"avail_gib": "57.01", "total_gib": "93.58", "fraction": "0.60", "rest_gib": "19.58"},
            ),
            Sample(
                "Memory profiling: available_gpu_memory=11.66 GB, total_gpu_memory=77.80 GB, mem_fraction_static=0.81, "
                "rest_memory=-3.51 GB",
                "",
                {"avail_gib": "11.66", "total_gib": "77.80", "fraction": "0.81", "rest_gib": "-3.51"},
            ),
        ),
    ),
    Extractor(
        kind="tpu_memory_profiling",
        phase="sizing",
        anchors=("TPU Memory profiling:",),
        pattern=(
            r"TPU Memory profiling: "
            rf"(?:available_device_memory={fig('avail_gib', GB)}, )?available_kv_cache={fig('budget_gib', GB)}, "
            rf"max_tokens={num('tokens')}, cell_size={num('cell_bytes')}\s?bytes"
        ),
        fields=(
            Field("avail_gib", "gib"),
            Field("budget_gib", "gib"),
            Field("tokens", "tokens"),
            Field("cell_bytes", "bytes"),
        ),
        releases="",
        note="sglang-jax: the formula is its own.",
        samples=(
            Sample(
                "TPU Memory profiling: available_device_memory=24.6GB, available_kv_cache=21.4GB, max_tokens=156672, "
                "cell_size=147456bytes",
                "",
                {"avail_gib": "24.6", "budget_gib": "21.4", "tokens": "156672", "cell_bytes": "147456"},
            ),
            Sample(
                "TPU Memory profiling: available_kv_cache=21.4GB, max_tokens=156672, cell_size=147456 bytes",
                "",
                {"budget_gib": "21.4", "tokens": "156672", "cell_bytes": "147456"},
            ),
        ),
    ),
    Extractor(
        kind="kv_budget",
        phase="sizing",
        anchors=("available memory for KV cache is", "vailable KV cache memory"),
        pattern=(
            rf"(?:The available memory for KV cache is {fig('budget_gib', GB)}|Available KV cache memory:? "
            rf"{fig('budget_gib', GB)})"
        ),
        fields=(Field("budget_gib", "gib"),),
        releases="",
        note="Builds beside the releases.",
        samples=(Sample("The available memory for KV cache is 17.67 GB.", "", {"budget_gib": "17.67"}),),
    ),
)
