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
