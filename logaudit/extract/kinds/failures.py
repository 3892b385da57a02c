"""Kinds of lines that say how a start, or a running server, came to its end."""

from __future__ import annotations

from logaudit.extract.extractor import Extractor, Field, Sample
from logaudit.extract.patterns import GB, MB, NUMBER, RAISED, clause, fig, num, size

_HOST_NEED = rf"Requesting {fig('need_gb')} GB but only have {fig('free_gb')} GB free"
_DEVICE = r"(?:CUDA|HIP|NPU|XPU|MUSA|MPS)(?: backend)?"

_STEPS = (
    ("init_torch_distributed", "init_distributed_environment"),
    ("load_model", "load_weights_and_postprocess", "process_weights_after_loading"),
    ("init_memory_pool", "profile_max_num_token", "_profile_available_bytes", "_init_pools"),
    ("init_cuda_graphs", "init_device_graphs", "init_all_cuda_graphs", "init_piecewise_cuda_graphs"),
    ("event_loop_normal", "event_loop_overlap", "event_loop_pp"),
)
"""Functions of the scheduler's process that a traceback goes through, by the phase that they make up."""

_STEP = "|".join(name for names in _STEPS for name in names)

EXTRACTORS = (
    Extractor(
        kind="traceback_step",
        phase="failures",
        anchors=tuple(anchor for names in _STEPS for name in names for anchor in (f", in {name}", f".{name}(")),
        pattern=(
            rf"\s*(?:File \"[^\"]{{1,400}}\", line \d{{1,7}}, in (?P<step>{_STEP})\s*$"
            rf"|(?:\w+ = )?(?:self|scheduler)(?:\.\w+){{0,4}}\.(?P<step>{_STEP})\()"
        ),
        fields=(Field("step", "text"),),
        releases="",
        printed_by="a traceback",
        note="Tells how far a start had come where only its traceback was pasted.",
        samples=(
            Sample(
                '  File "/srv/sglang/python/sglang/srt/model_executor/model_runner.py", line 300, in init_memory_pool',
                "",
                {"step": "init_memory_pool"},
            ),
            Sample(
                'File "/srv/sglang/srt/managers/scheduler.py", line 1106, in event_loop_overlap',
                "",
                {"step": "event_loop_overlap"},
            ),
            Sample("    self.tp_worker.init_cuda_graphs()", "", {"step": "init_cuda_graphs"}),
        ),
    ),
    Extractor(
        kind="err_not_enough_memory",
        phase="failures",
        anchors=(
            "Not enough memory. Please",
            "Not enought memory. Please",
            "leave no GPU memory for the KV cache",
            "Not enough GPU memory for hybrid",
            "leaves no room for the full KV pool",
            "state cache is too small",
            "cannot hold even one request",
            "int8 mamba checkpoint pool needs",
            "for memory-based allocation",
        ),
        pattern=(
            rf"{RAISED}(?:"
            rf"Not enought? memory\. Please try to increase "
            rf"--mem-fraction-static\.{clause(f'(?:mem_fraction_static=|Current value: )(?P<fraction>{NUMBER})')}"
            r"|Loaded weights leave no GPU memory for the KV cache\b"
            rf"{clause(f'under --mem-fraction-static=(?P<fraction>{NUMBER})')}"
            rf"{clause(f'Raise --mem-fraction-static above (?P<needed_fraction>{NUMBER})')}"
            r"|Not enough GPU memory for hybrid \(mamba/linear-attention\) state cache\."
            rf"{clause('max_mamba_cache_size=' + num('mamba_slots'))}"
            rf"{clause('total_rest_memory=' + fig('rest_gib', GB))}"
            rf"{clause('mamba_cache_per_req=' + fig('per_request_gib', MB))}"
            rf"|(?:The DSV4 )?SWA pool cap \({num('swa_tokens')} tokens, {fig('swa_gib', GB)}\) leaves no room for the "
            rf"full KV "
            rf"pool within the available {fig('avail_gib', GB)}"
            r"|(?:Hybrid \(mamba/linear-attention\) state|MLX auxiliary-state) cache is too small"
            rf"{clause('max_mamba_cache_size=' + num('mamba_slots'))}"
            rf"|SWA pool \({num('swa_tokens')} tokens\) cannot hold even one request"
            rf"|int8 mamba checkpoint pool needs ~?{fig('need_gib', GB)} but only {fig('avail_gib', GB)}"
            r"|Invalid denominator=\S+ for memory-based allocation\."
            r")"
        ),
        fields=(
            Field("fraction", "fraction"),
            Field("needed_fraction", "fraction"),
            Field("mamba_slots", "slots"),
            Field("rest_gib", "gib"),
            Field("per_request_gib", "mib"),
            Field("swa_tokens", "tokens"),
            Field("swa_gib", "gib"),
            Field("need_gib", "gib"),
            Field("avail_gib", "gib"),
        ),
        releases="0.1.17..0.5.23",
        printed_by="every rank, in a traceback",
        samples=(
            Sample("Not enought memory. Please try to increase --mem-fraction-static.", "0.1.17"),
            Sample("RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.", "0.2.0..0.5.2"),
            Sample(
                "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: "
                "self.server_args.mem_fraction_static=0.8",
                "0.5.3..0.5.9",
                {"fraction": "0.8"},
            ),
            Sample(
                "Not enough memory. Please try to increase --mem-fraction-static. Current value: "
                "mem_fraction_static=0.8",
                "0.5.10..0.5.23",
                {"fraction": "0.8"},
            ),
            Sample(
                "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: 0.82",
                "",
                {"fraction": "0.82"},
            ),
            Sample(
                "ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.8. "
                "Raise "
                "--mem-fraction-static above 0.913 (minimum viable = 1 - available/pre = 0.9125).",
                "0.5.13.post1..0.5.23",
                {"fraction": "0.8", "needed_fraction": "0.913"},
            ),
            Sample(
                "ValueError: Loaded weights leave no GPU memory for the KV cache under --rank-gpu-memory-mib on rank "
                "1: the rank already uses 20.10 GiB (~20583 MiB) for weights and runtime state, which exhausts the "
                "per-rank budget.",
                "",
            ),
            Sample(
                "Not enough GPU memory for hybrid (mamba/linear-attention) state cache. Computed "
                "max_mamba_cache_size=0 "
                "(total_rest_memory=-0.52 GB, mamba_cache_per_req=72.10 MB). Try: (1) reduce",
                "0.5.12.post1..0.5.23",
                {"mamba_slots": "0", "rest_gib": "-0.52", "per_request_gib": "72.10"},
            ),
            Sample(
                "SWA pool cap (86826 tokens, 10.20 GiB) leaves no room for the full KV pool within the available 9.10 "
                "GiB. "
                "Reduce --max-running-requests",
                "0.5.13.post1..0.5.23",
                {"swa_tokens": "86826", "swa_gib": "10.20", "avail_gib": "9.10"},
            ),
            Sample(
                "The DSV4 SWA pool cap (86826 tokens, 10.20 GB) leaves no room for the full KV pool within the "
                "available "
                "9.10 GB. Reduce --max-running-requests",
                "0.5.21..0.5.23",
                {"swa_tokens": "86826", "swa_gib": "10.20", "avail_gib": "9.10"},
            ),
            Sample(
                "Hybrid (mamba/linear-attention) state cache is too small to serve any requests. "
                "max_mamba_cache_size=2",
                "0.5.12.post1..0.5.23",
                {"mamba_slots": "2"},
            ),
            Sample(
                "RuntimeError: MLX auxiliary-state cache is too small to serve any requests: max_mamba_cache_size=2 "
                "backs only 0 concurrent requests (3 slots per request). Increase --max-mamba-cache-size to at least "
                "3, or leave it unset to size the pool from the concurrency cap.",
                "0.5.16",
                {"mamba_slots": "2"},
            ),
            Sample(
                "RuntimeError: MLX auxiliary-state cache is too small to serve any requests: max_mamba_cache_size=2 "
                "backs only 0 concurrent requests per attention-DP worker (per-worker auxiliary-state cap=2, 3 slots "
                "per request). Increase --max-mamba-cache-size to at least 3, or leave it unset to size the pool from "
                "the concurrency cap.",
                "0.5.17..0.5.23",
                {"mamba_slots": "2"},
            ),
            Sample(
                "AssertionError: Invalid denominator=0 for memory-based allocation. full_per_token=0, "
                "full_layers_num=0, swa_per_token=4096, swa_layers_num=24, swa_full_tokens_ratio=0",
                "0.5.9..0.5.10.post1",
            ),
            Sample(
                "int8 mamba checkpoint pool needs ~2.10GB but only 1.20GB HBM is free. Lower --int8-mamba-ckpt-size "
                "(currently 512) or --mem-fraction-static.",
                "0.5.14..0.5.23",
                {"need_gib": "2.10", "avail_gib": "1.20"},
            ),
        ),
    ),
    Extractor(
        kind="err_host_memory",
        phase="failures",
        anchors=(
            "Not enough host memory",
            "for a HiCache host pool failed",
            "No host memory is left for HiCache",
            "MooncakeHostMemAllocator.alloc returned a null pointer",
            "Pinned host memory allocation of",
            "memfabric host memory exhausted",
        ),
        pattern=(
            rf"{RAISED}(?:Not enough host memory (?:available|for (?P<what>.*?))\. {_HOST_NEED}"
            rf"|hipHostMalloc of {fig('need_gb')} GB for a HiCache host pool failed"
            rf"|No host memory is left for (?P<what>HiCache) after the {fig('kept_gib', GB)} reserve"
            rf"|(?P<what>MooncakeHostMemAllocator)\.alloc returned a null pointer for {fig('need_gib', GB)}"
            rf"|(?P<what>Pinned host memory) allocation of {fig('need_gib', GB)} \(\d+ bytes\) returned a null pointer"
            rf"|(?P<what>memfabric) host memory exhausted: need {fig('need_gib', GB)}, only {fig('free_gib', GB)} left "
            rf"of the {fig('kept_gib', GB)} reserve)"
        ),
        fields=(
            Field("what", "text"),
            Field("need_gb", "gb_decimal"),
            Field("free_gb", "gb_decimal"),
            Field("need_gib", "gib"),
            Field("free_gib", "gib"),
            Field("kept_gib", "gib"),
        ),
        releases="0.4.1.post1..0.5.23",
        printed_by="every rank, in a traceback",
        note="Decimal GB in the fields named so.",
        samples=(
            Sample(
                "ValueError: Not enough host memory available. Requesting 131.07 GB but only have 100.20 GB free. "
                "Please "
                "reduce the size of the hierarchical cache.",
                "0.4.1.post1..0.5.23",
                {"need_gb": "131.07", "free_gb": "100.20"},
            ),
            Sample(
                "Not enough host memory for DSA indexer hierarchical cache. Requesting 1.30 GB but only have 1.20 GB "
                "free.",
                "0.5.13..0.5.23",
                {"what": "DSA indexer hierarchical cache", "need_gb": "1.30", "free_gb": "1.20"},
            ),
            Sample(
                "Not enough host memory for NSA indexer hierarchical cache. Requesting 1.30 GB but only have 1.20 GB "
                "free.",
                "0.5.11..0.5.12.post1",
                {"what": "NSA indexer hierarchical cache", "need_gb": "1.30", "free_gb": "1.20"},
            ),
            Sample(
                "hipHostMalloc of 131.07 GB for a HiCache host pool failed (rc=2, out of memory).",
                "0.5.22..0.5.23",
                {"need_gb": "131.07"},
            ),
            Sample(
                "ValueError: No host memory is left for HiCache after the 10 GiB reserve; set --hicache-ratio or "
                "--hicache-size explicitly.",
                "0.5.21..0.5.23",
                {"what": "HiCache", "kept_gib": "10"},
            ),
            Sample(
                "RuntimeError: MooncakeHostMemAllocator.alloc returned a null pointer for 122.070 GB (131071999999 "
                "bytes); the mooncake host memory allocator could not map the segment (check host memory availability "
                "and the mooncake allocator logs).",
                "0.5.23",
                {"what": "MooncakeHostMemAllocator", "need_gib": "122.070"},
            ),
            Sample(
                "RuntimeError: Pinned host memory allocation of 122.1 GiB (131071999999 bytes) returned a null pointer",
                "0.5.23",
                {"what": "Pinned host memory", "need_gib": "122.1"},
            ),
            Sample(
                "RuntimeError: memfabric host memory exhausted: need 12.00GB, only 2.07GB left of the 122.07GB reserve "
                "(sized automatically from the first L2 host pool, i.e. from --hicache-size / --hicache-ratio). All "
                "host pools of the process share this reserve.",
                "0.5.20..0.5.23",
                {"what": "memfabric", "need_gib": "12.00", "free_gib": "2.07", "kept_gib": "122.07"},
            ),
        ),
    ),
    Extractor(
        kind="err_capture_failed",
        phase="failures",
        anchors=("graph failed:", "draft extend failed:"),
        pattern=rf"{RAISED}Capture (?P<what>.{{1,80}}?(?:graph|draft extend)) failed: (?P<error>.*)",
        fields=(Field("what", "text"), Field("error", "text")),
        releases="0.2.0..0.5.23",
        printed_by="every rank, in a traceback",
        samples=(
            Sample(
                "Exception: Capture cuda graph failed: CUDA out of memory. Tried to allocate 2.00 GiB.",
                "0.2.15..0.5.23",
                {"what": "cuda graph", "error": "CUDA out of memory. Tried to allocate 2.00 GiB."},
            ),
        ),
    ),
    Extractor(
        kind="err_runtime_oom",
        phase="failures",
        anchors=(
            "out of memory. T",
            "Out of memory. ",
            "alloc_req_slots runs out of memory",
            "Out of memory even after",
            "KV cache is full! Bug in memory estimation.",
            "Not enough space for mamba",
        ),
        pattern=(
            rf"{RAISED}(?:(?P<phase>Prefill|Decode) out of memory\. (?:Try to lower|This should never)"
            r"|Out of memory\. (?:Try to lower your batch size|Please set a smaller number)"
            r"|Out of memory even after retracting|alloc_req_slots runs out of memory\."
            r"|KV cache is full! Bug in memory estimation\."
            r"|Not enough space for (?P<state>mamba cache|mamba ping pong idx), try to increase --)"
            + clause(rf"(?:Try to allocate {num('asked_tokens')} tokens|\brequired_alloc={num('asked_tokens')})")
            + clause(rf"(?:Avail\w+ tokens: {num('avail_tokens')}|\bavailable={num('avail_tokens')})")
            + clause(rf"\bmamba_pool\.size={num('state_slots')}")
            + clause(rf"\blen\(reqs\)={num('requests')}")
        ),
        fields=(
            Field("phase", "text"),
            Field("asked_tokens", "tokens"),
            Field("avail_tokens", "tokens"),
            Field("state", "text"),
            Field("state_slots", "slots"),
            Field("requests", "requests"),
        ),
        releases="0.1.17..0.5.23",
        note="The KV pool or, with `state`, the recurrent-state pool ran out, not the device.",
        samples=(
            Sample(
                "Decode out of memory. Try to lower your batch size.\nTry to allocate 96 tokens.\n"
                "Available tokens: 95 (available_size=90 + evictable_size=5)\n",
                "0.4.9.post1..0.5.23",
                {"phase": "Decode", "asked_tokens": "96", "avail_tokens": "95"},
            ),
            Sample("Prefill out of memory. Try to lower your batch size.", "0.2.15..0.5.23", {"phase": "Prefill"}),
            Sample(
                "Out of memory. Try to lower your batch size.\nTry to allocate 96 tokens.",
                "0.5.3.post1..0.5.23",
                {"asked_tokens": "96"},
            ),
            Sample(
                "AssertionError: KV cache is full! Bug in memory estimation. available=1024, evictable=0, "
                "protected=430000, required_alloc=4096, delta=4000, fill=4000, prefix=0, page_size=64, req=5f3a",
                "0.5.11..0.5.12.post1",
                {"asked_tokens": "4096", "avail_tokens": "1024"},
            ),
            Sample(
                "AssertionError: KV cache is full! Bug in memory estimation. available=1024, evictable=0, "
                "protected=430000, required_alloc=4096, delta=4000, fill=4000, prefix=0, total_prefix=0, page_size=64, "
                "req=5f3a",
                "0.5.13..0.5.20",
                {"asked_tokens": "4096", "avail_tokens": "1024"},
            ),
            Sample(
                "AssertionError: KV cache is full! Bug in memory estimation. available=1024, evictable=0, "
                "protected=430000, required_alloc=4096, delta=4000, fill=4000, prefix=0, total_prefix=0, "
                "swa_available=900, swa_evictable=0, required_swa=128, swa_tail_len=128, page_size=64, req=5f3a",
                "0.5.21..0.5.23",
                {"asked_tokens": "4096", "avail_tokens": "1024"},
            ),
            Sample(
                "AssertionError: Not enough space for mamba cache, try to increase --max-mamba-cache-size.",
                "0.5.2..0.5.6.post2",
                {"state": "mamba cache"},
            ),
            Sample(
                "AssertionError: Not enough space for mamba cache, try to increase --mamba-full-memory-ratio or "
                "--max-mamba-cache-size.",
                "0.5.7..0.5.23",
                {"state": "mamba cache"},
            ),
            Sample(
                "AssertionError: Not enough space for mamba cache, try to increase --mamba-full-memory-ratio or "
                "--max-mamba-cache-size. mid=None, self.mamba_pool.size=384, self.mamba_pool.available_size()=0, "
                "len(reqs)=3",
                "0.5.7..0.5.12.post1",
                {"state": "mamba cache", "state_slots": "384", "requests": "3"},
            ),
            Sample(
                "AssertionError: Not enough space for mamba cache, try to increase --mamba-full-memory-ratio or "
                "--max-mamba-cache-size. mid=None, self.mamba_pool.size=384, self.mamba_allocator.available_size()=0, "
                "len(reqs)=3",
                "0.5.13..0.5.23",
                {"state": "mamba cache", "state_slots": "384", "requests": "3"},
            ),
            Sample(
                "AssertionError: Not enough space for mamba ping pong idx, try to increase --mamba-full-memory-ratio.",
                "0.5.7..0.5.23",
                {"state": "mamba ping pong idx"},
            ),
        ),
    ),
    Extractor(
        kind="runtime_oom_detail",
        phase="failures",
        anchors=("Try to allocate ", "Available tokens: ", "Avaliable tokens: ", "Available full tokens: "),
        pattern=(
            rf"\s*(?:Try to allocate {num('asked_tokens')} tokens|Avail\w+ (?:full )?tokens: {num('avail_tokens')})"
            + clause(rf"\bevictable_size\(?\)?={num('evictable_tokens')}")
        ),
        fields=(
            Field("asked_tokens", "tokens"),
            Field("avail_tokens", "tokens"),
            Field("evictable_tokens", "tokens"),
        ),
        releases="0.3.6..0.5.23",
        note="The lines that follow err_runtime_oom.",
        samples=(
            Sample("Try to allocate 96 tokens.", "0.3.6..0.5.23", {"asked_tokens": "96"}),
            Sample(
                "Available tokens: 95 (available_size=90 + evictable_size=5)",
                "0.4.6.post1..0.5.23",
                {"avail_tokens": "95", "evictable_tokens": "5"},
            ),
        ),
    ),
    Extractor(
        kind="err_unified_pool",
        phase="failures",
        anchors=("UnifiedKVPool: sub-pool",),
        pattern=(
            rf"{RAISED}UnifiedKVPool: sub-pool (?P<name>\S+) fits only {num('slots')} slots in {num('total_bytes')} "
            rf"bytes"
        ),
        fields=(Field("name", "text"), Field("slots", "slots"), Field("total_bytes", "bytes")),
        releases="0.5.15..0.5.23",
        samples=(
            Sample(
                "RuntimeError: UnifiedKVPool: sub-pool 'full' fits only 0 slots in 1000 bytes, but min_slot_index=1 "
                "leaves "
                "no room for real data.",
                "0.5.15..0.5.23",
                {"name": "'full'", "slots": "0", "total_bytes": "1000"},
            ),
        ),
    ),
    Extractor(
        kind="err_settings",
        phase="failures",
        anchors=(
            "Page size mismatch: prefill server",
            "enable-unified-memory needs every per-rank KV row",
            "prompt longer than",
            "In daemon mode, fallback to disk loading is disabled",
            "is smaller than CUDA VMM granularity",
        ),
        pattern=(
            rf"{RAISED}(?P<text>Page size mismatch: prefill server has page_size={num('prefill_page_size')}, but "
            rf"decode server has page_size={num('page_size')}"
            rf"|--enable-unified-memory needs every per-rank KV row to be a multiple of \d+ bytes"
            rf"|Chunked prefill is aligned to {num('align_tokens')} tokens, but each rank's chunked prefill size is "
            rf"{num('chunk_tokens')}"
            r"|\[IpcModelLoader\] Weight cache daemon not available"
            rf"|memory_size=\d+ is smaller than CUDA VMM granularity)"
        ),
        fields=(
            Field("text", "text"),
            Field("prefill_page_size", "tokens"),
            Field("page_size", "tokens"),
            Field("align_tokens", "tokens"),
            Field("chunk_tokens", "tokens"),
        ),
        releases="0.5.8..0.5.23",
        note="Sizes that do not go together: not a lack of memory.",
        samples=(
            Sample(
                "RuntimeError: Page size mismatch: prefill server has page_size=64, but decode server has page_size=1. "
                "Both servers must use the same --page-size value.",
                "0.5.8..0.5.23",
                {
                    "text": "Page size mismatch: prefill server has page_size=64, but decode server has page_size=1",
                    "prefill_page_size": "64",
                    "page_size": "1",
                },
            ),
            Sample(
                "ValueError: --enable-unified-memory needs every per-rank KV row to be a multiple of 16 bytes; "
                "sub-pool full has a 24-byte key row. Run this model without --enable-unified-memory.",
                "0.5.22..0.5.23",
                {"text": "--enable-unified-memory needs every per-rank KV row to be a multiple of 16 bytes"},
            ),
            Sample(
                "ValueError: Chunked prefill is aligned to 4096 tokens, but each rank's chunked prefill size is 2048; "
                "a prompt longer than 2048 tokens could never be scheduled. Raise --chunked-prefill-size to at least "
                "4096, or, with the flashinfer backend under deterministic inference, lower "
                "SGLANG_FLASHINFER_PREFILL_SPLIT_TILE_SIZE.",
                "0.5.22..0.5.23",
                {
                    "text": "Chunked prefill is aligned to 4096 tokens, but each rank's chunked prefill size is 2048",
                    "align_tokens": "4096",
                    "chunk_tokens": "2048",
                },
            ),
            Sample(
                "RuntimeError: [IpcModelLoader] Weight cache daemon not available at /run/weights.sock. In daemon "
                "mode, fallback to disk loading is disabled because the daemon process already holds weights on the "
                "same GPU — loading from disk would cause OOM. Please ensure the weight cache daemon is running and "
                "the config matches.",
                "0.5.17..0.5.23",
                {"text": "[IpcModelLoader] Weight cache daemon not available"},
            ),
            Sample(
                "ValueError: memory_size=1024 is smaller than CUDA VMM granularity=2097152",
                "0.5.18..0.5.23",
                {"text": "memory_size=1024 is smaller than CUDA VMM granularity"},
            ),
        ),
    ),
    Extractor(
        kind="err_unified_feasibility",
        phase="failures",
        anchors=("cannot fit ONE worst-case request",),
        pattern=(
            rf"{RAISED}\[unified-memory-pool\] (?P<name>\S+): byte budget {num('total_bytes')} cannot fit ONE "
            rf"worst-case request"
        ),
        fields=(Field("name", "text"), Field("total_bytes", "bytes")),
        releases="0.5.19..0.5.23",
        samples=(
            Sample(
                "RuntimeError: [unified-memory-pool] init_unified_mamba_pools: byte budget 1000 cannot fit ONE "
                "worst-case "
                "request (bs=1 floor 2000 = x). A pool this size retract-livelocks at runtime. Raise "
                "--mem-fraction-static",
                "0.5.19..0.5.23",
                {"name": "init_unified_mamba_pools", "total_bytes": "1000"},
            ),
        ),
    ),
    Extractor(
        kind="oom_device",
        phase="failures",
        anchors=(
            "out of memory. Tried to allocate",
            "error: out of memory",
            "rror (2): out of memory",
            "CUDA_ERROR_OUT_OF_MEMORY",
        ),
        pattern=(
            rf"(?:\S+: )*(?:(?P<device>{_DEVICE}) out of memory\. Tried to allocate {size('asked_gib')}"
            + clause(rf"(?:GPU|NPU|XPU) {num('gpu')}")
            + clause(rf"(?:total capacity of {size('total_gib')}|; {size('total_gib')} total capacity)")
            + clause(rf"(?:of which {size('free_gib')} is free|; {size('free_gib')} free)")
            + clause(
                rf"(?:memory {size('allocated_gib')} is allocated by PyTorch|; {size('allocated_gib')} already "
                rf"allocated)"
            )
            + clause(rf"(?:this process has|Process \d+ has) {size('process_gib')} memory in use")
            + r"|(?P<device>CUDA|HIP|NPU|XPU|MUSA)(?: driver| runtime)? error(?: \(2\))?: out of memory"
            + r"|CUDA_ERROR_OUT_OF_MEMORY)"
        ),
        fields=(
            Field("device", "text"),
            Field("asked_gib", "size"),
            Field("gpu", "count"),
            Field("total_gib", "size"),
            Field("free_gib", "size"),
            Field("allocated_gib", "size"),
            Field("process_gib", "size"),
        ),
        releases="",
        note="PyTorch's own message, for every device that it knows.",
        samples=(
            Sample(
                "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of "
                "79.10 GiB of which 512.00 MiB is free. Including non-PyTorch memory, this process has 78.55 GiB "
                "memory in "
                "use. Of the allocated memory 77.20 GiB is allocated by PyTorch, and 210.50 MiB is reserved by PyTorch "
                "but "
                "unallocated.",
                "",
                {
                    "device": "CUDA",
                    "asked_gib": "2.00 GiB",
                    "gpu": "0",
                    "total_gib": "79.10 GiB",
                    "free_gib": "512.00 MiB",
                    "allocated_gib": "77.20 GiB",
                    "process_gib": "78.55 GiB",
                },
            ),
            Sample(
                "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 79.15 GiB total "
                "capacity; 77.71 GiB already allocated; 10.69 MiB free; 77.80 GiB reserved in total by PyTorch)",
                "",
                {
                    "device": "CUDA",
                    "asked_gib": "20.00 MiB",
                    "gpu": "0",
                    "total_gib": "79.15 GiB",
                    "free_gib": "10.69 MiB",
                    "allocated_gib": "77.71 GiB",
                },
            ),
            Sample(
                "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 1.20 GiB. GPU 3 has a total capacity of "
                "191.98 GiB of which 0 bytes is free.",
                "",
                {
                    "device": "HIP",
                    "asked_gib": "1.20 GiB",
                    "gpu": "3",
                    "total_gib": "191.98 GiB",
                    "free_gib": "0 bytes",
                },
            ),
            Sample(
                "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 1; 60.97 GiB total capacity; 58.01 "
                "GiB "
                "already allocated; 58.02 GiB current active; 1.20 GiB free; 58.50 GiB reserved in total by PyTorch)",
                "",
                {
                    "device": "NPU",
                    "asked_gib": "2.00 GiB",
                    "gpu": "1",
                    "total_gib": "60.97 GiB",
                    "free_gib": "1.20 GiB",
                    "allocated_gib": "58.01 GiB",
                },
            ),
            Sample(
                "torch.OutOfMemoryError: XPU out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of "
                "15.91 GiB.",
                "",
                {"device": "XPU", "asked_gib": "2.00 GiB", "gpu": "0", "total_gib": "15.91 GiB"},
            ),
            Sample("torch.AcceleratorError: CUDA error: out of memory", "", {"device": "CUDA"}),
        ),
    ),
    Extractor(
        kind="process_exception",
        phase="failures",
        anchors=(" hit an exception",),
        pattern=r"(?P<process>[A-Za-z][\w ]{0,60}?) hit an exception: ?(?P<text>.*)",
        fields=(Field("process", "text"), Field("text", "text")),
        releases="0.3.6..0.5.23",
        note="The traceback follows, without prefix; its last line is of another kind.",
        samples=(
            Sample(
                "Scheduler hit an exception: Traceback (most recent call last):",
                "0.3.6..0.5.23",
                {"process": "Scheduler", "text": "Traceback (most recent call last):"},
            ),
            Sample(
                "DetokenizerManager hit an exception: Traceback (most recent call last):",
                "0.3.6..0.5.23",
                {"process": "DetokenizerManager", "text": "Traceback (most recent call last):"},
            ),
        ),
    ),
    Extractor(
        kind="traceback",
        phase="failures",
        anchors=("Traceback (most recent call last)",),
        pattern=r"(?:ERROR:\s+)?Traceback \(most recent call last\)",
        fields=(),
        releases="",
        samples=(Sample("Traceback (most recent call last):", ""),),
    ),
    Extractor(
        kind="child_failed",
        phase="failures",
        anchors=("Received sigquit from a child",),
        pattern=r"(?:ERROR: )?Received sigquit from a child proces",
        fields=(),
        releases="0.4.0..0.5.23",
        printed_by="the launcher",
        samples=(
            Sample("Received sigquit from a child process. It usually means the child failed.", "0.4.3..0.5.23"),
            Sample("Received sigquit from a child proces. It usually means the child failed.", "0.4.0..0.4.3.post2"),
        ),
    ),
    Extractor(
        kind="process_died",
        phase="failures",
        anchors=("died during initialization", "terminated with ", "crashed with exit code", "died with exit code"),
        pattern=(
            rf"{RAISED}(?:Rank {num('rank')} (?P<process>scheduler) died during initialization \(exit code:? "
            rf"?{num('exit_code')}\)"
            rf"|(?P<process>Scheduler or DataParallelController) \d+ terminated with {num('exit_code')}"
            rf"|(?:Subprocess |Process )?(?P<process>[\w:.\-]{{1,60}})(?: \(pid=\d+\))? (?:crashed|died) with exit "
            rf"code:? "
            rf"?{num('exit_code')})"
        ),
        fields=(Field("rank", "count"), Field("process", "text"), Field("exit_code", "count")),
        releases="",
        note=(
            "-9 is the kernel's or a container's memory limit most of the time. The advice about -9 is printed with "
            "every "
            "exit code."
        ),
        printed_by="the launcher",
        samples=(
            Sample(
                "RuntimeError: Rank 0 scheduler died during initialization (exit code: -3). If exit code is -9 "
                "(SIGKILL), a "
                "common cause is the OS OOM killer. Run `dmesg -T | grep -i oom` to check.",
                "",
                {"rank": "0", "process": "scheduler", "exit_code": "-3"},
            ),
            Sample(
                "Scheduler or DataParallelController 1234 terminated with -9",
                "",
                {"process": "Scheduler or DataParallelController", "exit_code": "-9"},
            ),
            Sample(
                "Subprocess scheduler_0 (pid=1234) crashed with exit code -9. Triggering SIGQUIT for cleanup...",
                "",
                {"process": "scheduler_0", "exit_code": "-9"},
            ),
        ),
    ),
    Extractor(
        kind="init_failed",
        phase="failures",
        anchors=("Initialization failed.",),
        pattern=rf"{RAISED}Initialization failed\.",
        fields=(),
        releases="",
        printed_by="the launcher",
        samples=(Sample("RuntimeError: Initialization failed. Please see the error messages above.", ""),),
    ),
    Extractor(
        kind="load_incomplete",
        phase="failures",
        anchors=("could finish the model loading",),
        pattern=rf"{RAISED}TP rank {num('tp')} could finish the model loading, but there are other ranks",
        fields=(Field("tp", "count"),),
        releases="",
        samples=(
            Sample(
                "ValueError: TP rank 1 could finish the model loading, but there are other ranks that didn't finish "
                "loading. "
                "It is likely due to unexpected failures (e.g., OOM) or a slow node.",
                "",
                {"tp": "1"},
            ),
        ),
    ),
    Extractor(
        kind="shm_error",
        phase="failures",
        anchors=("No space left on device", "Bus error", "bus error", "out of shared memory", "shared memory segment"),
        pattern=(
            r"(?:.*?(?P<text>(?:/dev/shm|/torch_|shared memory|torch_shm|shmget|posix_fallocate)[^\n]*?No space left "
            r"on device"
            r"|No space left on device[^\n]*?(?:/dev/shm|shared memory)|out of shared memory"
            r"|[Ee]rror while (?:creating|attaching to) shared memory segment \S+)"
            r"|(?:.{0,200}?\b)?(?P<text>[Bb]us error)\b(?: \(core dumped\)|\.|\s|$))"
        ),
        fields=(Field("text", "text"),),
        releases="",
        note="The shared memory of the container is too small.",
        samples=(
            Sample(
                "RuntimeError: unable to write to file </torch_1234_1_0>: No space left on device (28)",
                "",
                {"text": "/torch_1234_1_0>: No space left on device"},
            ),
            Sample(
                "OSError: [Errno 28] No space left on device: '/dev/shm/sem.loky'",
                "",
                {"text": "No space left on device: '/dev/shm"},
            ),
            Sample("Bus error (core dumped)", "", {"text": "Bus error"}),
        ),
    ),
    Extractor(
        kind="port_in_use",
        phase="failures",
        anchors=("ddress already in use", "EADDRINUSE", "is not available", "is already in use"),
        pattern=(
            r"(?:.{0,300}?(?:[Aa]ddress already in use|EADDRINUSE)|.{0,100}?\b[Pp]ort:? (?:at )?\d{1,5} is (?:not "
            r"available|already in use))"
            r"(?<=(?:[Pp]ort:? |', )(?P<port>\d{1,5})\D.{0,200}|.)"
        ),
        fields=(Field("port", "count"),),
        releases="",
        samples=(
            Sample(
                "ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 30000): address already in "
                "use",
                "",
                {"port": "30000"},
            ),
            Sample("OSError: [Errno 98] Address already in use", ""),
            Sample("ValueError: Port 30000 is not available.", "", {"port": "30000"}),
            Sample(
                "The server socket has failed to listen on any local network address. port: 29500, useIpv6: false, "
                "code: -98, "
                "name: EADDRINUSE, message: address already in use",
                "",
                {"port": "29500"},
            ),
        ),
    ),
    Extractor(
        kind="import_error",
        phase="failures",
        anchors=("ImportError:", "ModuleNotFoundError:"),
        pattern=r"(?P<type>ImportError|ModuleNotFoundError): (?P<text>.*)",
        fields=(Field("type", "text"), Field("text", "text")),
        releases="",
        samples=(
            Sample(
                "ModuleNotFoundError: No module named 'flashinfer'",
                "",
                {"type": "ModuleNotFoundError", "text": "No module named 'flashinfer'"},
            ),
        ),
    ),
    Extractor(
        kind="nccl_error",
        phase="failures",
        anchors=(
            "NCCL error",
            "HCCL error",
            "DistBackendError",
            "ncclUnhandledCudaError",
            "ncclSystemError",
            "ncclInternalError",
            "ncclRemoteError",
            "ncclInvalidUsage",
            "Watchdog caught collective operation timeout",
        ),
        pattern=(
            r".{0,300}?"
            r"(?P<error>(?:NCCL|RCCL|HCCL) error|DistBackendError|nccl(?:UnhandledCuda|System|Internal|Remote)Error"
            r"|ncclInvalidUsage"
            r"|Watchdog caught collective operation timeout)"
            r":?\s*(?P<text>.*)"
        ),
        fields=(Field("error", "text"), Field("text", "text")),
        releases="",
        samples=(
            Sample(
                "RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)",
                "",
                {"error": "NCCL error", "text": "unhandled system error (run with NCCL_DEBUG=INFO for details)"},
            ),
            Sample(
                "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:3353, unhandled cuda error",
                "",
                {"error": "DistBackendError", "text": "NCCL error in: ProcessGroupNCCL.cpp:3353, unhandled cuda error"},
            ),
            Sample(
                "ncclUnhandledCudaError: Call to CUDA function failed.",
                "",
                {"error": "ncclUnhandledCudaError", "text": "Call to CUDA function failed."},
            ),
        ),
    ),
    Extractor(
        kind="cuda_error",
        phase="failures",
        anchors=(
            "CUDA error: ",
            "HIP error: ",
            "NPU error: ",
            "CUDA driver error: ",
            "CUBLAS_STATUS_",
            "no kernel image is available",
        ),
        pattern=(
            r"(?:\S+: ){0,6}(?:(?P<device>CUDA|HIP|NPU)(?: driver)? error: (?!out of memory)(?P<text>.*)"
            r"|(?P<text>[^\n]{0,200}?(?:CUBLAS_STATUS_\w+|no kernel image is available)[^\n]*))"
        ),
        fields=(Field("device", "text"), Field("text", "text")),
        releases="",
        samples=(
            Sample(
                "torch.AcceleratorError: CUDA error: an illegal memory access was encountered",
                "",
                {"device": "CUDA", "text": "an illegal memory access was encountered"},
            ),
            Sample(
                "RuntimeError: CUDA error: no kernel image is available for execution on the device",
                "",
                {"device": "CUDA", "text": "no kernel image is available for execution on the device"},
            ),
        ),
    ),
    Extractor(
        kind="watchdog_timeout",
        phase="failures",
        anchors=("atchdog timeout",),
        pattern=r"(?:(?P<process>\w+) )?[Ww]atchdog timeout(?: \((?P<text>[^)]*)\))?",
        fields=(Field("process", "text"), Field("text", "text")),
        releases="0.3.6..0.5.23",
        samples=(
            Sample("Watchdog timeout (self.watchdog_timeout=300)", "", {"text": "self.watchdog_timeout=300"}),
            Sample(
                "Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=False)",
                "",
                {"process": "Scheduler", "text": "self.watchdog_timeout=300, self.soft=False"},
            ),
        ),
    ),
    Extractor(
        kind="killed",
        phase="failures",
        anchors=("Killed", "oom-kill", "oom_kill", "OOMKilled", "code 137", "code: 137"),
        pattern=(
            r"(?:Killed\s*$|.{0,200}?(?:oom[-_]kill\b|OOMKilled|\bKilled process \d+|exit(?:ed)?(?: with)?(?: code"
            r"|code)?:? 137\b)"
            r"|.{0,120}?\b\d+ Killed\s+\S)"
        ),
        fields=(),
        releases="",
        note="The kernel, a container or a cluster's limit on host memory, as a rule.",
        samples=(
            Sample("Killed", ""),
            Sample(
                "/bin/bash: line 1:  1234 Killed                  python3 -m sglang.launch_server --model-path m", ""
            ),
            Sample("Out of memory: Killed process 1234 (sglang::schedul) total-vm:98765432kB, anon-rss:65432100kB", ""),
            Sample("oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),task=sglang::schedul,pid=1234,uid=0", ""),
            Sample("command terminated with exit code 137", ""),
        ),
    ),
    Extractor(
        kind="fatal_signal",
        phase="failures",
        anchors=("Fatal Python error:", "Segmentation fault", "Aborted (core dumped)", "SIGSEGV", "SIGABRT"),
        pattern=(
            r"(?:Fatal Python error: (?P<text>.*)|.{0,200}?(?P<text>Segmentation fault|Aborted(?= \(core)|SIGSEGV"
            r"|SIGABRT))"
        ),
        fields=(Field("text", "text"),),
        releases="",
        samples=(
            Sample("Fatal Python error: Segmentation fault", "", {"text": "Segmentation fault"}),
            Sample("Segmentation fault (core dumped)", "", {"text": "Segmentation fault"}),
        ),
    ),
    Extractor(
        kind="interrupted",
        phase="failures",
        anchors=("KeyboardInterrupt", "SIGINT"),
        pattern=r"(?:KeyboardInterrupt\b|(?:Received|Got|Caught) (?:signal )?SIGINT\b|SIGINT received)",
        fields=(),
        releases="",
        samples=(Sample("KeyboardInterrupt", ""), Sample("Received SIGINT", "")),
    ),
    Extractor(
        kind="shutdown",
        phase="failures",
        anchors=(
            "SIGTERM",
            "Gracefully exiting",
            "Shutting down",
            "Finished server process",
            "Application shutdown complete",
        ),
        pattern=(
            r"(?:INFO:\s+)?(?:SIGTERM received|(?:Received|Got|Caught) (?:signal )?SIGTERM|Gracefully exiting|Shutting "
            r"down\b"
            r"|Finished server process|Application shutdown complete)"
        ),
        fields=(),
        releases="",
        samples=(
            Sample("SIGTERM received. signum=None frame=None. Draining requests and shutting down...", ""),
            Sample("Gracefully exiting... remaining number of requests 0", ""),
            Sample("INFO:     Shutting down", ""),
            Sample("INFO:     Finished server process [1234]", ""),
        ),
    ),
    Extractor(
        kind="python_exception",
        phase="failures",
        anchors=("Error", "Exception", "SystemExit"),
        fallback=True,
        pattern=(
            r"(?:ERROR:\s+)?(?P<type>(?:[A-Za-z_]\w{0,60}\.){0,8}(?:[A-Z]\w{0,60})?(?:Error|Exception|SystemExit))(?:: "
            r"(?P<text>.*)|\s*$)"
        ),
        fields=(Field("type", "text"), Field("text", "text")),
        releases="",
        note="The last line of a traceback whose wording no other kind knows.",
        samples=(
            Sample(
                "ValueError: Unsupported architectures: Foo",
                "",
                {"type": "ValueError", "text": "Unsupported architectures: Foo"},
            ),
            Sample("AssertionError", "", {"type": "AssertionError"}),
            Sample(
                "triton.runtime.errors.OutOfResources.Error: shared memory",
                "",
                {"type": "triton.runtime.errors.OutOfResources.Error", "text": "shared memory"},
            ),
        ),
    ),
)
