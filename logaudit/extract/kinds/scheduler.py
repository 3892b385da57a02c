"""Kinds of lines printed when a scheduler is ready."""

from __future__ import annotations

from logaudit.extract.extractor import Extractor, Field, Sample
from logaudit.extract.patterns import GB, clause, fig, num

EXTRACTORS = (
    Extractor(
        kind="scheduler_ready",
        phase="scheduler",
        anchors=("max_total_num_tokens=",),
        pattern=(
            rf"max_total_num_tokens={num('tokens')}, (?=.*?(?:max_prefill_tokens|context_len|max_running_requests)=)"
            + clause(rf"\bchunked_prefill_size={num('chunked_prefill_tokens')}")
            + clause(rf"\bmax_prefill_tokens={num('max_prefill_tokens')}")
            + clause(rf"\bmax_running_requests={num('max_running_requests')}")
            + clause(rf"\bcontext_len={num('context_tokens')}")
            + clause(rf"\bavailable_(?P<device>[a-z]{{2,8}})_mem={fig('avail_gib', GB)}")
        ),
        fields=(
            Field("tokens", "tokens"),
            Field("chunked_prefill_tokens", "tokens"),
            Field("max_prefill_tokens", "tokens"),
            Field("max_running_requests", "requests"),
            Field("context_tokens", "tokens"),
            Field("avail_gib", "gib"),
            Field("device", "text"),
        ),
        releases="0.1.17..0.5.23",
        printed_by="every rank to 0.4.6; tp_rank 0 of each replica and stage since 0.4.7",
        samples=(
            Sample(
                "[gpu_id=0] max_total_num_tokens=434132, max_prefill_tokens=16384, context_len=131072, ",
                "0.1.17",
                {"tokens": "434132", "max_prefill_tokens": "16384", "context_tokens": "131072"},
            ),
            Sample(
                "[gpu_id=0] max_total_num_tokens=434132, max_prefill_tokens=16384, max_running_requests=2048, "
                "context_len=131072",
                "0.2.0",
                {
                    "tokens": "434132",
                    "max_prefill_tokens": "16384",
                    "max_running_requests": "2048",
                    "context_tokens": "131072",
                },
            ),
            Sample(
                "max_total_num_tokens=434132, max_prefill_tokens=16384, max_running_requests=2048, context_len=131072",
                "0.2.15..0.4.1.post7",
                {
                    "tokens": "434132",
                    "max_prefill_tokens": "16384",
                    "max_running_requests": "2048",
                    "context_tokens": "131072",
                },
            ),
            Sample(
                "max_total_num_tokens=434132, chunked_prefill_size=8192, max_prefill_tokens=16384, "
                "max_running_requests=2048, context_len=131072",
                "0.4.1.post1..0.4.6.post5",
                {
                    "tokens": "434132",
                    "chunked_prefill_tokens": "8192",
                    "max_prefill_tokens": "16384",
                    "max_running_requests": "2048",
                    "context_tokens": "131072",
                },
            ),
            Sample(
                "max_total_num_tokens=434132, chunked_prefill_size=-1, max_prefill_tokens=16384, "
                "max_running_requests=2048, context_len=131072, available_gpu_mem=7.61 GB",
                "0.4.6.post1..0.5.23",
                {
                    "tokens": "434132",
                    "chunked_prefill_tokens": "-1",
                    "max_prefill_tokens": "16384",
                    "max_running_requests": "2048",
                    "context_tokens": "131072",
                    "avail_gib": "7.61",
                    "device": "gpu",
                },
            ),
            Sample(
                "max_total_num_tokens=434132, chunked_prefill_size=None, max_prefill_tokens=16384, "
                "max_running_requests=2048, context_len=131072, available_cpu_mem=7.61 GB",
                "0.5.1.post1..0.5.23",
                {
                    "tokens": "434132",
                    "max_prefill_tokens": "16384",
                    "max_running_requests": "2048",
                    "context_tokens": "131072",
                    "avail_gib": "7.61",
                    "device": "cpu",
                },
            ),
        ),
    ),
    Extractor(
        kind="bare_max_total_num_tokens",
        phase="scheduler",
        anchors=("max_total_num_tokens",),
        pattern=rf"(?:self\.)?max_total_num_tokens\s?[=:]\s?{num('tokens')}\s*(?:tokens)?\s*[.,;]?\s*$",
        fields=(Field("tokens", "tokens"),),
        releases="",
        note="Benchmarks and scripts print the figure by itself.",
        samples=(Sample("max_total_num_tokens=434132", "", {"tokens": "434132"}),),
    ),
    Extractor(
        kind="kv_smaller_than_context",
        phase="scheduler",
        anchors=("fewer than --context-length",),
        pattern=rf"KV pool holds {num('tokens')} tokens, fewer than --context-length {num('context_tokens')}\.",
        fields=(Field("tokens", "tokens"), Field("context_tokens", "tokens")),
        releases="0.5.23",
        samples=(
            Sample(
                "KV pool holds 4096 tokens, fewer than --context-length 131072. One full-length request cannot fit, so "
                "long "
                "requests will be refused or truncated at serving time.",
                "0.5.23",
                {"tokens": "4096", "context_tokens": "131072"},
            ),
        ),
    ),
)
