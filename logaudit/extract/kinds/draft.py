"""Kinds of lines about the draft model's share and about sizing after the graphs are captured."""

from __future__ import annotations

from logaudit.extract.extractor import Extractor, Field, Sample
from logaudit.extract.patterns import GB, fig, num

EXTRACTORS = (
    Extractor(
        kind="post_capture_kv",
        phase="draft",
        anchors=("Post-capture KV sizing:",),
        pattern=(
            r"Post-capture KV sizing: (?:"
            rf"max_total_num_tokens={num('tokens')}, free memory={fig('avail_gib', GB)}"
            rf"|(?P<draft>draft )?KV cache allocated\. dtype: (?P<dtype>[\w.]+), #tokens: {num('tokens')}, "
            rf"KV size: {fig('kv_gib', GB)}(?:, avail mem={fig('avail_gib', GB)})?"
            rf"|full_layer_tokens={num('full_tokens')}, swa_layer_tokens={num('swa_tokens')}"
            rf"|max_running_requests {num('old_requests')} -> {num('requests')}"
            rf"|KV-canary per-forward workspace {fig('canary_gib', GB)}"
            rf"|decode CUDA graph max_bs={num('max_bs')} < max_running_requests={num('requests')})"
        ),
        fields=(
            Field("tokens", "tokens"),
            Field("dtype", "text"),
            Field("kv_gib", "gib"),
            Field("avail_gib", "gib"),
            Field("draft", "text"),
            Field("full_tokens", "tokens"),
            Field("swa_tokens", "tokens"),
            Field("old_requests", "requests"),
            Field("requests", "requests"),
            Field("max_bs", "count"),
            Field("canary_gib", "gib"),
        ),
        releases="0.5.16..0.5.23",
        note=(
            "Off by default; where it is on, this is the real pool and the line before the capture only a reservation."
        ),
        samples=(
            Sample(
                "Post-capture KV sizing: max_total_num_tokens=434132, free memory=7.12 GB",
                "0.5.16",
                {"tokens": "434132", "avail_gib": "7.12"},
            ),
            Sample(
                "Post-capture KV sizing: KV cache allocated. dtype: torch.bfloat16, #tokens: 434132, KV size: 53.00 "
                "GB, "
                "avail mem=2.10 GB",
                "0.5.17..0.5.23",
                {"dtype": "torch.bfloat16", "tokens": "434132", "kv_gib": "53.00", "avail_gib": "2.10"},
            ),
            Sample(
                "Post-capture KV sizing: draft KV cache allocated. dtype: torch.bfloat16, #tokens: 434132, KV size: "
                "0.83 GB",
                "0.5.22..0.5.23",
                {"draft": "draft", "dtype": "torch.bfloat16", "tokens": "434132", "kv_gib": "0.83"},
            ),
            Sample(
                "Post-capture KV sizing: full_layer_tokens=434132, swa_layer_tokens=86826",
                "0.5.17..0.5.23",
                {"full_tokens": "434132", "swa_tokens": "86826"},
            ),
            Sample(
                "Post-capture KV sizing: max_running_requests 2048 -> 1024",
                "0.5.16..0.5.23",
                {"old_requests": "2048", "requests": "1024"},
            ),
            Sample(
                "Post-capture KV sizing: decode CUDA graph max_bs=256 < max_running_requests=2048; reserving "
                "activation "
                "headroom",
                "0.5.16..0.5.23",
                {"max_bs": "256", "requests": "2048"},
            ),
            Sample(
                "Post-capture KV sizing: KV-canary per-forward workspace 0.25 GB",
                "0.5.20..0.5.23",
                {"canary_gib": "0.25"},
            ),
        ),
    ),
    Extractor(
        kind="hicache_draft",
        phase="draft",
        anchors=("HiCache draft KV registered:",),
        pattern=rf"HiCache draft KV registered: (?P<pool>\w+) \(host {num('slots')} slots\)",
        fields=(Field("pool", "text"), Field("slots", "slots")),
        releases="0.5.11..0.5.18",
        samples=(
            Sample(
                "HiCache draft KV registered: MHATokenToKVPool (host 868264 slots)",
                "0.5.11..0.5.18",
                {"pool": "MHATokenToKVPool", "slots": "868264"},
            ),
        ),
    ),
    Extractor(
        kind="dflash_headroom",
        phase="draft",
        anchors=("DFLASH sampling pre-warm:",),
        pattern=(
            rf"DFLASH sampling pre-warm: borrowing=(?P<borrowing>\w+) bs={num('bs')} peak={num('peak_bytes')} B "
            rf"headroom={num('headroom_bytes')} B"
        ),
        fields=(
            Field("borrowing", "text"),
            Field("bs", "count"),
            Field("peak_bytes", "bytes"),
            Field("headroom_bytes", "bytes"),
        ),
        releases="0.5.20..0.5.23",
        samples=(
            Sample(
                "DFLASH sampling pre-warm: borrowing=True bs=32 peak=104857600 B headroom=0 B",
                "0.5.20..0.5.23",
                {"borrowing": "True", "bs": "32", "peak_bytes": "104857600", "headroom_bytes": "0"},
            ),
        ),
    ),
    Extractor(
        kind="draft_sampling_off",
        phase="draft",
        anchors=("DSpark folded sampling disabled:",),
        pattern=(
            rf"DSpark folded sampling disabled: its static buffers need {fig('needed_gib', GB)} but only "
            rf"{fig('avail_gib', GB)} GPU memory is free"
        ),
        fields=(Field("needed_gib", "gib"), Field("avail_gib", "gib")),
        releases="0.5.17..0.5.21",
        printed_by="tp_rank 0",
        samples=(
            Sample(
                "DSpark folded sampling disabled: its static buffers need 1.24 GB but only 0.90 GB GPU memory is free; "
                "sampling batches will take the eager proposal path. Set SGLANG_DSPARK_FOLDED_SAMPLING=2 to force.",
                "0.5.17..0.5.21",
                {"needed_gib": "1.24", "avail_gib": "0.90"},
            ),
        ),
    ),
    Extractor(
        kind="draft_budget_fallback",
        phase="draft",
        anchors=("Could not resolve DFLASH draft KV",),
        pattern=r"Could not resolve DFLASH draft KV bytes/token",
        fields=(),
        releases="0.5.18..0.5.23",
        samples=(
            Sample(
                "Could not resolve DFLASH draft KV bytes/token (x); falling back to layer-count scaling for the KV "
                "pool "
                "budget.",
                "0.5.18..0.5.23",
            ),
        ),
    ),
)
