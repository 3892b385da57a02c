"""Kinds of lines printed once requests can come in."""

from __future__ import annotations

from logaudit.extract.extractor import Extractor, Field, Sample
from logaudit.extract.patterns import GB, MB, NUMBER, clause, fig, num

EXTRACTORS = (
    Extractor(
        kind="server_ready",
        phase="serving",
        anchors=("The server is fired up and ready to roll!",),
        pattern=r"The server is fired up and ready to roll!",
        fields=(),
        releases="0.2.0..0.5.23",
        printed_by="the launcher of node 0",
        samples=(Sample("The server is fired up and ready to roll!", "0.2.0..0.5.23"),),
    ),
    Extractor(
        kind="uvicorn_ready",
        phase="serving",
        anchors=("Uvicorn running on", "Application startup complete.", "Started server process"),
        pattern=(
            r"(?:INFO:\s+)?(?:Uvicorn running on (?P<url>\S+)|Application startup complete\.|Started server "
            r"process)"
        ),
        fields=(Field("url", "text"),),
        releases="0.2.0..0.5.23",
        printed_by="the launcher of node 0, in uvicorn's format",
        samples=(
            Sample(
                "INFO:     Uvicorn running on http://127.0.0.1:30000 (Press CTRL+C to quit)",
                "0.2.0..0.5.23",
                {"url": "http://127.0.0.1:30000"},
            ),
            Sample("INFO:     Application startup complete.", "0.2.0..0.5.23"),
            Sample("INFO:     Started server process [1234]", "0.2.0..0.5.23"),
        ),
    ),
    Extractor(
        kind="batch_stats",
        phase="serving",
        anchors=("Prefill batch", "Prefil batch", "Decode batch"),
        bulk=True,
        pattern=(
            r"(?P<what>Prefill|Prefil|Decode) batch(?: ?\[(?P<iteration>\d{1,18})\])?(?:\(mixed #running-req: "
            r"\d+\))?[.,] "
            r"(?=#(?:new-seq|running-req): )"
            + clause(rf"#running-req: {num('running_requests')}")
            + clause(rf"#queue-req: {num('queued_requests')}")
            + clause(rf"#new-token: {num('new_tokens')}")
            + clause(rf"#cached-token: {num('cached_tokens')}")
            + clause(rf"#(?:full )?token: {num('tokens')}")
            + clause(rf"\b(?:full )?token usage: (?P<token_usage>{NUMBER})")
            + clause(rf"#swa token: {num('swa_tokens')}")
            + clause(rf"\bswa token usage: (?P<swa_usage>{NUMBER})")
            + clause(rf"\bmamba usage: (?P<mamba_usage>{NUMBER})")
            + clause(rf"gen throughput \(token/s\): (?P<tokens_per_s>{NUMBER})")
        ),
        fields=(
            Field("what", "text"),
            Field("iteration", "count"),
            Field("running_requests", "requests"),
            Field("queued_requests", "requests"),
            Field("new_tokens", "tokens"),
            Field("cached_tokens", "tokens"),
            Field("tokens", "tokens"),
            Field("token_usage", "ratio"),
            Field("swa_tokens", "tokens"),
            Field("swa_usage", "ratio"),
            Field("mamba_usage", "ratio"),
            Field("tokens_per_s", "ratio"),
        ),
        releases="0.1.17..0.5.23",
        printed_by="the first rank of each replica",
        samples=(
            Sample(
                "Decode batch. #running-req: 3, #token: 1234, token usage: 0.01, gen throughput (token/s): 250.10, "
                "#queue-req: 0",
                "0.2.0..0.4.8",
                {
                    "what": "Decode",
                    "running_requests": "3",
                    "tokens": "1234",
                    "token_usage": "0.01",
                    "tokens_per_s": "250.10",
                    "queued_requests": "0",
                },
            ),
            Sample(
                "Decode batch. #running-req: 3, #token: 1234, token usage: 0.01, cuda graph: True, "
                "gen throughput (token/s): 250.10, #queue-req: 0",
                "0.4.6.post1..0.5.3.post3",
                {
                    "what": "Decode",
                    "running_requests": "3",
                    "tokens": "1234",
                    "token_usage": "0.01",
                    "tokens_per_s": "250.10",
                    "queued_requests": "0",
                },
            ),
            Sample(
                "Prefill batch [12], #new-seq: 1, #new-token: 64, #cached-token: 0, token usage: 0.00, #running-req: "
                "0, "
                "#queue-req: 0, ",
                "0.5.3.post1..0.5.4.post3",
                {
                    "what": "Prefill",
                    "iteration": "12",
                    "new_tokens": "64",
                    "cached_tokens": "0",
                    "token_usage": "0.00",
                    "running_requests": "0",
                    "queued_requests": "0",
                },
            ),
            Sample(
                "Decode batch, #running-req: 3, #full token: 1234, full token usage: 0.01, #swa token: 900, "
                "swa token usage: 0.02, cuda graph: True, gen throughput (token/s): 250.10, #queue-req: 0",
                "0.5.4.post1..0.5.23",
                {
                    "what": "Decode",
                    "running_requests": "3",
                    "tokens": "1234",
                    "token_usage": "0.01",
                    "swa_tokens": "900",
                    "swa_usage": "0.02",
                    "tokens_per_s": "250.10",
                    "queued_requests": "0",
                },
            ),
            Sample(
                "Prefill batch [12], #new-seq: 1, #new-token: 64, #cached-token: 0, full token usage: 0.00, "
                "mamba usage: 0.01, #running-req: 0, #queue-req: 0, ",
                "0.5.4.post1..0.5.23",
                {
                    "what": "Prefill",
                    "iteration": "12",
                    "new_tokens": "64",
                    "cached_tokens": "0",
                    "token_usage": "0.00",
                    "mamba_usage": "0.01",
                    "running_requests": "0",
                    "queued_requests": "0",
                },
            ),
            Sample(
                "[gpu_id=0] Prefil batch. #new-seq: 1, #new-token: 64, #cached-token: 0, cache hit rate: 0.00%, "
                "#running-req: 0, #queue-req: 0",
                "0.1.17",
                {
                    "what": "Prefil",
                    "new_tokens": "64",
                    "cached_tokens": "0",
                    "running_requests": "0",
                    "queued_requests": "0",
                },
            ),
        ),
    ),
    Extractor(
        kind="retracted",
        phase="serving",
        anchors=("Retract requests.", "ecode out of memory happened", "Testing retraction."),
        bulk=True,
        pattern=(
            r"(?:KV cache pool is full\. Retract requests\.|[Dd]ecode out of memory happened[.,]|Testing retraction\.)"
            rf".*?#retracted_reqs: {num('requests')}"
        ),
        fields=(Field("requests", "requests"),),
        releases="0.1.17..0.5.23",
        printed_by="the first rank of each replica",
        samples=(
            Sample(
                "KV cache pool is full. Retract requests. #retracted_reqs: 2, #new_token_ratio: 0.5870 -> 0.7128",
                "0.4.7..0.5.23",
                {"requests": "2"},
            ),
            Sample(
                "Decode out of memory happened. #retracted_reqs: 1, #new_token_ratio: 0.5870 -> 0.7128",
                "0.2.15..0.4.6.post5",
                {"requests": "1"},
            ),
        ),
    ),
    Extractor(
        kind="weight_update_mem",
        phase="serving",
        anchors=("weights begin. avail mem=", "from disk begin. avail mem="),
        pattern=rf"Update (?:engine )?weights (?:online from disk )?begin\. avail mem={fig('avail_gib', GB)}",
        fields=(Field("avail_gib", "gib"),),
        releases="0.2.15..0.5.23",
        samples=(
            Sample(
                "Update engine weights online from disk begin. avail mem=7.61 GB",
                "0.4.0..0.5.23",
                {"avail_gib": "7.61"},
            ),
            Sample("Update weights begin. avail mem=7.61 GB", "0.2.15..0.3.6", {"avail_gib": "7.61"}),
        ),
    ),
    Extractor(
        kind="empty_cache",
        phase="serving",
        anchors=("torch.cuda.empty_cache() called:",),
        pattern=(
            r"\[continue_generation\] torch\.cuda\.empty_cache\(\) called: "
            rf"reserved {fig('before_gib', MB)} -> {fig('after_gib', MB)}"
        ),
        fields=(Field("before_gib", "mib"), Field("after_gib", "mib")),
        releases="0.5.12..0.5.23",
        samples=(
            Sample(
                "[continue_generation] torch.cuda.empty_cache() called: reserved 60000.0 MB -> 59000.0 MB (freed "
                "1000.0 MB)",
                "0.5.12..0.5.23",
                {"before_gib": "60000.0", "after_gib": "59000.0"},
            ),
        ),
    ),
    Extractor(
        kind="retract_aborted",
        phase="serving",
        anchors=("retract_decode: aborted last request",),
        bulk=True,
        pattern=r"retract_decode: aborted last request (?P<request>\S+) due to OOM",
        fields=(Field("request", "text"),),
        releases="0.5.10..0.5.23",
        printed_by="the first rank of each replica",
        note="The KV pool does not hold even the one request that was left.",
        samples=(
            Sample("retract_decode: aborted last request 5f3a due to OOM", "0.5.10..0.5.23", {"request": "5f3a"}),
        ),
    ),
    Extractor(
        kind="eviction_short",
        phase="serving",
        anchors=("Eviction insufficient: needed",),
        bulk=True,
        pattern=(
            rf"Eviction insufficient: needed {num('asked_tokens')} tokens, available {num('avail_tokens')} after "
            rf"evicting {num('evicted_tokens')}/"
            + clause(rf"\bevictable_size={num('evictable_tokens')}")
            + clause(rf"\bprotected_size={num('protected_tokens')}")
            + clause(rf"\bpage_size={num('page_size')}")
        ),
        fields=(
            Field("asked_tokens", "tokens"),
            Field("avail_tokens", "tokens"),
            Field("evicted_tokens", "tokens"),
            Field("evictable_tokens", "tokens"),
            Field("protected_tokens", "tokens"),
            Field("page_size", "tokens"),
        ),
        releases="0.5.11..0.5.23",
        printed_by="the decode side of a disaggregated server",
        samples=(
            Sample(
                "Eviction insufficient: needed 4096 tokens, available 1024 after evicting 512/3584 tokens. "
                "evictable_size=0, protected_size=430000, fill_len=4000, prefix_len=0, delta_len=4000, page_size=64, "
                "req=5f3a",
                "0.5.11..0.5.12.post1",
                {
                    "asked_tokens": "4096",
                    "avail_tokens": "1024",
                    "evicted_tokens": "512",
                    "evictable_tokens": "0",
                    "protected_tokens": "430000",
                    "page_size": "64",
                },
            ),
            Sample(
                "Eviction insufficient: needed 4096 tokens, available 1024 after evicting 512/3584 tokens. "
                "evictable_size=0, protected_size=430000, fill_len=4000, prefix_len=0, total_prefix_len=0, "
                "delta_len=4000, page_size=64, req=5f3a",
                "0.5.13..0.5.23",
                {
                    "asked_tokens": "4096",
                    "avail_tokens": "1024",
                    "evicted_tokens": "512",
                    "evictable_tokens": "0",
                    "protected_tokens": "430000",
                    "page_size": "64",
                },
            ),
        ),
    ),
    Extractor(
        kind="request_refused",
        phase="serving",
        anchors=("exceeds the unified FULL/SWA KV byte budget", "exceeds the maximum number of tokens:"),
        bulk=True,
        pattern=(
            r"(?:\w+Error: )?Request (?P<request>\S+) exceeds the "
            rf"(?:unified FULL/SWA KV byte budget: full={num('tokens')}, swa={num('swa_tokens')}"
            rf"|maximum number of tokens: {num('tokens')} > {num('capacity_tokens')})"
        ),
        fields=(
            Field("request", "text"),
            Field("tokens", "tokens"),
            Field("swa_tokens", "tokens"),
            Field("capacity_tokens", "tokens"),
        ),
        releases="0.4.7.post1..0.5.23",
        printed_by="the decode side of a disaggregated server",
        samples=(
            Sample(
                "Request 5f3a exceeds the maximum number of tokens: 140000 > 131072",
                "0.4.7.post1..0.5.23",
                {"request": "5f3a", "tokens": "140000", "capacity_tokens": "131072"},
            ),
            Sample(
                "Request 5f3a exceeds the unified FULL/SWA KV byte budget: full=140000, swa=8192",
                "0.5.21..0.5.23",
                {"request": "5f3a", "tokens": "140000", "swa_tokens": "8192"},
            ),
        ),
    ),
    Extractor(
        kind="staging_short",
        phase="serving",
        anchors=(
            "ecode staging too small",
            "refill staging too small",
            "[STAGING_REQ] alloc failed",
            "the staging ring; failing",
        ),
        bulk=True,
        pattern=(
            rf"(?:Decode staging too small: need {num('need_bytes')} bytes.*?, have {num('have_bytes')}, falling back"
            rf"|Prefill staging too small for {num('need_bytes')} bytes, falling back"
            rf"|\[STAGING_REQ\] alloc failed .*?\(need {num('need_bytes')} bytes, buffer total={num('have_bytes')} "
            r"bytes\)"
            r"|\[Staging\] a chunk (?P<chunk>exceeds|does not fit) the staging ring)"
        ),
        fields=(Field("need_bytes", "bytes"), Field("have_bytes", "bytes"), Field("chunk", "text")),
        releases="0.5.10..0.5.23",
        printed_by="a side of a disaggregated server",
        samples=(
            Sample(
                "Decode staging too small: need 134217728 bytes (2 writers x 67108864 bytes/rank), have 67108864, "
                "falling back",
                "0.5.10..0.5.17",
                {"need_bytes": "134217728", "have_bytes": "67108864"},
            ),
            Sample(
                "Decode staging too small: need 134217728 bytes, have 67108864, falling back",
                "0.5.12..0.5.23",
                {"need_bytes": "134217728", "have_bytes": "67108864"},
            ),
            Sample(
                "Decode staging too small: need 134217728 bytes for 61 layers, have 67108864, falling back",
                "0.5.18..0.5.23",
                {"need_bytes": "134217728", "have_bytes": "67108864"},
            ),
            Sample(
                "Prefill staging too small for 134217728 bytes, falling back",
                "0.5.10..0.5.23",
                {"need_bytes": "134217728"},
            ),
            Sample(
                "[STAGING_REQ] alloc failed room=7 chunk=0 (need 134217728 bytes, buffer total=67108864 bytes). "
                "Increase SGLANG_DISAGG_STAGING_POOL_SIZE_MB.",
                "0.5.10..0.5.23",
                {"need_bytes": "134217728", "have_bytes": "67108864"},
            ),
            Sample(
                "[Staging] a chunk exceeds the staging ring; failing affected requests. Increase "
                "SGLANG_DISAGG_STAGING_POOL_SIZE_MB or reduce chunked_prefill_size.",
                "0.5.17..0.5.23",
                {"chunk": "exceeds"},
            ),
        ),
    ),
    Extractor(
        kind="embedding_pool_short",
        phase="serving",
        anchors=(
            "EmbeddingPool alloc timed out",
            "EmbeddingPool full",
            "EmbeddingPool: requested",
            "Pre-allocating GPU buffer for mooncake",
            "no evictable candidates",
            "Could not free enough memory: needed",
            "MB for insert, skipping",
            "MB for prefetch, skipping",
            "embeddings, freed",
        ),
        bulk=True,
        pattern=(
            r"(?:\[Rank \d+\] |Req \S+: )?(?:"
            rf"(?:Mooncake)?EmbeddingPool(?: alloc timed out after \S+ waiting for {fig('need_gib', MB)}"
            rf"| full: {fig('used_gib')}/{fig('pool_gib', MB)} in-flight across \d+ requests; queueing a "
            rf"{fig('need_gib', MB)}"
            rf"| full; rid=\S+ pending for {fig('need_gib', MB)}"
            rf"|: requested {fig('need_gib', MB)} exceeds pool capacity {fig('pool_gib', MB)})"
            rf"|Pre-allocating GPU buffer for mooncake RDMA: req_id=\S+, size={num('buffer_bytes')} bytes"
            rf"|Cannot allocate {fig('need_gib', MB)}: pool full \({fig('used_gib')}/{fig('pool_gib', MB)} used\)"
            rf"|Could not free enough memory: needed {fig('need_gib', MB)}, freed {fig('freed_gib', MB)}"
            rf"|Failed to allocate {fig('need_gib', MB)} for (?:insert|prefetch)"
            rf"|Evicted \d+ embeddings, freed {fig('freed_gib', MB)})"
        ),
        fields=(
            Field("need_gib", "mib"),
            Field("used_gib", "mib"),
            Field("pool_gib", "mib"),
            Field("freed_gib", "mib"),
            Field("buffer_bytes", "bytes"),
        ),
        releases="0.5.13..0.5.23",
        note="The pool of images' embeddings ran short, not the KV pool.",
        samples=(
            Sample(
                "MooncakeEmbeddingPool full: 1000/1024MB in-flight across 12 requests; queueing a 64MB request. Raise "
                "SGLANG_EMBEDDING_POOL_SIZE_MB if this is frequent.",
                "0.5.13..0.5.18",
                {"used_gib": "1000", "pool_gib": "1024", "need_gib": "64"},
            ),
            Sample(
                "EmbeddingPool full: 1000/1024MB in-flight across 12 requests; queueing a 64MB request. Raise "
                "SGLANG_EMBEDDING_POOL_SIZE_MB if this is frequent.",
                "0.5.19..0.5.23",
                {"used_gib": "1000", "pool_gib": "1024", "need_gib": "64"},
            ),
            Sample(
                "EmbeddingPool full; rid=5f3a pending for 64MB. Raise SGLANG_EMBEDDING_POOL_SIZE_MB if this is "
                "frequent.",
                "0.5.19..0.5.23",
                {"need_gib": "64"},
            ),
            Sample(
                "MooncakeEmbeddingPool alloc timed out after 30s waiting for 64MB.",
                "0.5.13..0.5.18",
                {"need_gib": "64"},
            ),
            Sample("EmbeddingPool alloc timed out after 30s waiting for 64MB.", "0.5.19..0.5.23", {"need_gib": "64"}),
            Sample(
                "MooncakeEmbeddingPool: requested 2048MB exceeds pool capacity 1024MB. Raise "
                "SGLANG_EMBEDDING_POOL_SIZE_MB.",
                "0.5.13..0.5.18",
                {"need_gib": "2048", "pool_gib": "1024"},
            ),
            Sample(
                "EmbeddingPool: requested 2048MB exceeds pool capacity 1024MB. Raise SGLANG_EMBEDDING_POOL_SIZE_MB.",
                "0.5.19..0.5.23",
                {"need_gib": "2048", "pool_gib": "1024"},
            ),
            Sample(
                "Pre-allocating GPU buffer for mooncake RDMA: req_id=5f3a, size=67108864 bytes",
                "0.5.13..0.5.18",
                {"buffer_bytes": "67108864"},
            ),
            Sample(
                "[Rank 0] Cannot allocate 64.00 MB: pool full (1000.0/1024.0 MB used), no evictable candidates (12 "
                "entries, 12 protected)",
                "0.5.14",
                {"need_gib": "64.00", "used_gib": "1000.0", "pool_gib": "1024.0"},
            ),
            Sample(
                "[Rank 0] Could not free enough memory: needed 64.00 MB, freed 32.00 MB",
                "0.5.14",
                {"need_gib": "64.00", "freed_gib": "32.00"},
            ),
            Sample("Failed to allocate 64.00 MB for insert, skipping this embedding.", "0.5.14", {"need_gib": "64.00"}),
            Sample(
                "Req 5f3a: Failed to allocate 64.00 MB for prefetch, skipping this image.",
                "0.5.14",
                {"need_gib": "64.00"},
            ),
            Sample("[Rank 0] Evicted 3 embeddings, freed 96.00 MB", "0.5.14", {"freed_gib": "96.00"}),
        ),
    ),
    Extractor(
        kind="mm_pool_full",
        phase="serving",
        anchors=("MmItemMemoryPool has no free chunk", "multimodal pool has no free chunk"),
        pattern=(
            r"(?:MmItemMemoryPool|CUDA VMM multimodal pool) has no free chunk (?:large enough )?for a "
            rf"{fig('need_gib', MB)} tensor \(pool size: {fig('pool_gib', MB)}\)"
        ),
        fields=(Field("need_gib", "mib"), Field("pool_gib", "mib")),
        releases="0.5.11..0.5.23",
        printed_by="the launcher",
        samples=(
            Sample(
                "MmItemMemoryPool has no free chunk large enough for a 64.00 MiB tensor (pool size: 1024.00 MiB); "
                "falling back to non-IPC transport. Consider increasing SGLANG_MM_FEATURE_CACHE_MB.",
                "0.5.11..0.5.23",
                {"need_gib": "64.00", "pool_gib": "1024.00"},
            ),
            Sample(
                "CUDA VMM multimodal pool has no free chunk for a 64.00 MiB tensor (pool size: 1024.00 MiB); falling "
                "back to CPU transport. Increase SGLANG_MM_FEATURE_CACHE_MB to avoid inline request broadcasts.",
                "0.5.18..0.5.23",
                {"need_gib": "64.00", "pool_gib": "1024.00"},
            ),
        ),
    ),
    Extractor(
        kind="late_kernel_load",
        phase="serving",
        anchors=("device-loaded after serving started",),
        pattern=(
            r"(?:\w+Error: )?Triton kernel '(?P<kernel>[^']*)' device-loaded after serving started "
            rf"\(free device mem: (?:unknown|{fig('avail_gib', GB)})\)"
        ),
        fields=(Field("kernel", "text"), Field("avail_gib", "gib")),
        releases="0.5.18..0.5.23",
        samples=(
            Sample(
                "Triton kernel 'fused_moe' device-loaded after serving started (free device mem: 0.42 GiB). Pre-load "
                "it during engine init to avoid CUDA OOM.",
                "0.5.18..0.5.23",
                {"kernel": "fused_moe", "avail_gib": "0.42"},
            ),
        ),
    ),
    Extractor(
        kind="pool_leak",
        phase="serving",
        anchors=("leak detected!",),
        pattern=(
            r"(?:[\w.]+(?:Error|Warning): )?(?:Warning: )?(?:available_size=\d+, max_total_num_tokens=\d+\s+)?"
            r"(?P<what>KV cache pool|token_to_kv_pool_allocator memory|Memory pool|req_to_token_pool memory) leak "
            r"detected!"
            + clause(rf"\bavailable_size={num('available')}")
            + clause(rf"\bmax_total_num_tokens={num('total_tokens')}")
        ),
        fields=(Field("what", "text"), Field("available", "count"), Field("total_tokens", "tokens")),
        releases="0.1.17..0.5.5.post2",
        samples=(
            Sample(
                "token_to_kv_pool_allocator memory leak detected! self.max_total_num_tokens=1000, available_size=990",
                "0.4.5..0.5.5.post2",
                {
                    "what": "token_to_kv_pool_allocator memory",
                    "available": "990",
                    "total_tokens": "1000",
                },
            ),
        ),
    ),
)
