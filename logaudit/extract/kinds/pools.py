"""Kinds of lines that announce a pool, on the device or on the host."""

from __future__ import annotations

from logaudit.extract.extractor import Extractor, Field, Sample
from logaudit.extract.patterns import GB, KB, MB, NUMBER, clause, fig, num

_KVCACHED = r"(?:\[[\w. :/-]{1,60}\]\s*){0,6}"
_UNIFIED = r"\[unified-memory-pool\]\s+"

EXTRACTORS = (
    Extractor(
        kind="kv_cache_allocated",
        phase="pools",
        anchors=("KV Cache is allocated", "KV Cache VA upper bound"),
        pattern=(
            r"(?!.*Virtual\s?KV)(?:(?P<label>[^:=]{1,60}?) )?KV Cache (?P<state>is allocated|VA upper "
            r"bound)\b[^.]{0,60}\."
            + clause(r"\bdtype: (?P<dtype>[\w.]+\w)")
            + clause(rf"#tokens: {num('tokens')}")
            + rf".*?(?:K size: {fig('k_gib', GB)}, V size: {fig('v_gib', GB)}|KV size: {fig('kv_gib', GB)})"
        ),
        fields=(
            Field("label", "text"),
            Field("state", "text"),
            Field("dtype", "text"),
            Field("tokens", "tokens"),
            Field("k_gib", "gib"),
            Field("v_gib", "gib"),
            Field("kv_gib", "gib"),
        ),
        releases="0.4.1.post6..0.5.23",
        printed_by="every rank, again for every sub-pool and draft runner",
        note=(
            "K and V for MHA pools, one figure for MLA pools (which print nothing before 0.4.6). With a sliding window "
            "the "
            "window's pool comes first and unlabelled to 0.5.16, after the labelled full pool since. "
            "`VA upper bound` is address space, not memory."
        ),
        samples=(
            Sample(
                "KV Cache is allocated. K size: 26.50 GB, V size: 26.40 GB.",
                "0.4.1.post6..0.4.3.post2",
                {"state": "is allocated", "k_gib": "26.50", "v_gib": "26.40"},
            ),
            Sample(
                "KV Cache is allocated. #tokens: 434132, K size: 26.50 GB, V size: 26.50 GB",
                "0.4.3.post3..0.5.12.post1",
                {"state": "is allocated", "tokens": "434132", "k_gib": "26.50", "v_gib": "26.50"},
            ),
            Sample(
                "KV Cache is allocated. #tokens: 434132, KV size: 28.41 GB",
                "0.4.5.post3..0.5.12.post1",
                {"state": "is allocated", "tokens": "434132", "kv_gib": "28.41"},
            ),
            Sample(
                "KV Cache is allocated. dtype: torch.bfloat16, #tokens: 434132, K size: 26.50 GB, V size: 26.50 GB",
                "0.5.13..0.5.23",
                {
                    "state": "is allocated",
                    "dtype": "torch.bfloat16",
                    "tokens": "434132",
                    "k_gib": "26.50",
                    "v_gib": "26.50",
                },
            ),
            Sample(
                "KV Cache is allocated. dtype: torch.float8_e4m3fn, #tokens: 434132, KV size: 28.41 GB",
                "0.5.13..0.5.23",
                {"state": "is allocated", "dtype": "torch.float8_e4m3fn", "tokens": "434132", "kv_gib": "28.41"},
            ),
            Sample(
                "Full KV Cache is allocated. dtype: torch.bfloat16, #tokens: 434132, K size: 26.50 GB, V size: 26.50 "
                "GB",
                "0.5.17..0.5.23",
                {
                    "label": "Full",
                    "state": "is allocated",
                    "dtype": "torch.bfloat16",
                    "tokens": "434132",
                    "k_gib": "26.50",
                    "v_gib": "26.50",
                },
            ),
            Sample(
                "SWA KV Cache is allocated. dtype: torch.bfloat16, #tokens: 86826, K size: 5.30 GB, V size: 5.30 GB",
                "0.5.17..0.5.23",
                {
                    "label": "SWA",
                    "state": "is allocated",
                    "dtype": "torch.bfloat16",
                    "tokens": "86826",
                    "k_gib": "5.30",
                    "v_gib": "5.30",
                },
            ),
            Sample(
                "KV Cache VA upper bound. dtype: torch.bfloat16, #tokens: 434132, K size: 26.50 GB, V size: 26.50 GB",
                "0.5.18..0.5.23",
                {
                    "state": "VA upper bound",
                    "dtype": "torch.bfloat16",
                    "tokens": "434132",
                    "k_gib": "26.50",
                    "v_gib": "26.50",
                },
            ),
            Sample(
                "KV Cache VA upper bound. dtype: torch.bfloat16, #tokens: 434132, KV size: 28.41 GB",
                "0.5.18..0.5.23",
                {"state": "VA upper bound", "dtype": "torch.bfloat16", "tokens": "434132", "kv_gib": "28.41"},
            ),
        ),
    ),
    Extractor(
        kind="kv_tokens_allocated",
        phase="pools",
        anchors=("KV Cache is allocated", "KV Cache VA upper bound"),
        pattern=(
            r"(?!.*(?:Virtual\s?KV|K size: |KV size: ))(?:(?P<label>[^:=]{1,60}?) )?"
            r"KV Cache (?P<state>is allocated|VA upper bound)\b[^.]{0,60}\."
            + clause(r"\bdtype: (?P<dtype>[\w.]+\w)")
            + rf".*?#tokens: {num('tokens')}"
        ),
        fields=(
            Field("label", "text"),
            Field("state", "text"),
            Field("dtype", "text"),
            Field("tokens", "tokens"),
        ),
        releases="",
        note="Builds beside the releases: the tokens of a pool without its size.",
        samples=(
            Sample(
                "KV Cache is allocated. dtype: torch.uint8, #tokens: 434132",
                "",
                {"state": "is allocated", "dtype": "torch.uint8", "tokens": "434132"},
            ),
        ),
    ),
    Extractor(
        kind="kv_cache_virtual",
        phase="pools",
        anchors=("VirtualKV Cache is allocated", "Virtual KV Cache is allocated"),
        pattern=(
            _KVCACHED
            + r"Virtual\s?KV Cache is allocated\b.*?"
            + rf"#tokens: {num('tokens')},.*?(?:K size: {fig('k_gib', GB)}, V size: {fig('v_gib', GB)}|KV size: "
            rf"{fig('kv_gib', GB)})"
        ),
        fields=(
            Field("tokens", "tokens"),
            Field("k_gib", "gib"),
            Field("v_gib", "gib"),
            Field("kv_gib", "gib"),
        ),
        releases="",
        note="kvcached: address space, not memory; kv_cache_physical gives the limit.",
        samples=(
            Sample(
                "[kvcached][INFO][2026-03-15 05:31:24][patches.py:400] VirtualKV Cache is allocated. #tokens: 2777543, "
                "K size: 95.84 GB, V size: 95.84 GB",
                "",
                {"tokens": "2777543", "k_gib": "95.84", "v_gib": "95.84"},
            ),
            Sample(
                "VirtualKV Cache is allocated (group_id=0). #tokens: 248479, #layers: 12, K size: 7.99 GB, V size: "
                "7.99 GB",
                "",
                {"tokens": "248479", "k_gib": "7.99", "v_gib": "7.99"},
            ),
        ),
    ),
    Extractor(
        kind="kv_cache_physical",
        phase="pools",
        anchors=("Physical KV Cache limits by",),
        pattern=(
            _KVCACHED
            + r"Physical KV Cache limits by --mem-fraction-static: "
            + rf"#tokens: {num('tokens')},.*?(?:K size: {fig('k_gib', GB)}, V size: {fig('v_gib', GB)}|KV size: "
            rf"{fig('kv_gib', GB)})"
        ),
        fields=(
            Field("tokens", "tokens"),
            Field("k_gib", "gib"),
            Field("v_gib", "gib"),
            Field("kv_gib", "gib"),
        ),
        releases="",
        note="kvcached: the memory that the virtual pool may come to use.",
        samples=(
            Sample(
                "Physical KV Cache limits by --mem-fraction-static: #tokens: 248479, K size: 4.27 GB, V size: 4.27 GB",
                "",
                {"tokens": "248479", "k_gib": "4.27", "v_gib": "4.27"},
            ),
        ),
    ),
    Extractor(
        kind="kvcached_init",
        phase="pools",
        anchors=("Init kvcached KV cache allocator",),
        pattern=(
            _KVCACHED
            + r"Init kvcached KV cache allocator: "
            + rf"num_layers={num('layers')}, mem_size_per_layer={fig('layer_gib', MB)}, "
            rf"total_mem_size={fig('total_gib', MB)}"
        ),
        fields=(Field("layers", "count"), Field("layer_gib", "mib"), Field("total_gib", "mib")),
        releases="",
        samples=(
            Sample(
                "[kvcached][INFO] Init kvcached KV cache allocator: num_layers=12, mem_size_per_layer=363MB, "
                "total_mem_size=8735MB",
                "",
                {"layers": "12", "layer_gib": "363", "total_gib": "8735"},
            ),
        ),
    ),
    Extractor(
        kind="kv_cache_noop",
        phase="pools",
        anchors=("KV Cache skipped (no-op pool)",),
        pattern=(
            rf"KV Cache skipped \(no-op pool\)\. Logical #tokens: {num('tokens')}, physical K/V size: "
            rf"~(?P<kv_gib>{NUMBER}){KB} placeholder"
        ),
        fields=(Field("tokens", "tokens"), Field("kv_gib", "kib")),
        releases="0.5.12..0.5.23",
        samples=(
            Sample(
                "KV Cache skipped (no-op pool). Logical #tokens: 434132, physical K/V size: ~16.0 KB placeholder",
                "0.5.12..0.5.23",
                {"tokens": "434132", "kv_gib": "16.0"},
            ),
        ),
    ),
    Extractor(
        kind="swa_kv_pool",
        phase="pools",
        anchors=("SWAKVPool ",),
        pattern=(
            rf"SWAKVPool (?P<state>mem usage|VA upper bound): {fig('total_gib', GB)}, swa size: {num('swa_tokens')}, "
            rf"full size: {num('full_tokens')}"
        ),
        fields=(
            Field("state", "text"),
            Field("total_gib", "gib"),
            Field("swa_tokens", "tokens"),
            Field("full_tokens", "tokens"),
        ),
        releases="0.5.3.post3..0.5.23",
        note="The sum of two sub-pools that have their own kv_cache_allocated lines; unrounded in 0.5.4..0.5.6.",
        samples=(
            Sample(
                "SWAKVPool mem usage: 38.5234375 GB, swa size: 86826, full size: 434132",
                "0.5.3.post3..0.5.6.post2",
                {"state": "mem usage", "total_gib": "38.5234375", "swa_tokens": "86826", "full_tokens": "434132"},
            ),
            Sample(
                "SWAKVPool mem usage: 38.52 GB, swa size: 86826, full size: 434132",
                "0.5.6.post1..0.5.23",
                {"state": "mem usage", "total_gib": "38.52", "swa_tokens": "86826", "full_tokens": "434132"},
            ),
            Sample(
                "SWAKVPool VA upper bound: 38.52 GB, swa size: 86826, full size: 434132",
                "0.5.18..0.5.23",
                {"state": "VA upper bound", "total_gib": "38.52", "swa_tokens": "86826", "full_tokens": "434132"},
            ),
        ),
    ),
    Extractor(
        kind="mamba_cache_allocated",
        phase="pools",
        anchors=("Mamba Cache is allocated.",),
        pattern=(
            rf"Mamba Cache is allocated\. (?:max_mamba_cache_size: {num('slots')}, )?conv_state size: "
            rf"{fig('conv_gib', GB)}, "
            rf"ssm_state size: {fig('ssm_gib', GB)}"
            + clause(rf"intermediate_ssm_state_cache size: {fig('intermediate_ssm_gib', GB)}")
            + clause(rf"intermediate_conv_window_cache size: {fig('intermediate_conv_gib', GB)}")
        ),
        fields=(
            Field("slots", "slots"),
            Field("conv_gib", "gib"),
            Field("ssm_gib", "gib"),
            Field("intermediate_ssm_gib", "gib"),
            Field("intermediate_conv_gib", "gib"),
        ),
        releases="0.5.2..0.5.23",
        samples=(
            Sample(
                "Mamba Cache is allocated. conv_state size: 0.27GB, ssm_state size: 8.53GB ",
                "0.5.2..0.5.3.post1",
                {"conv_gib": "0.27", "ssm_gib": "8.53"},
            ),
            Sample(
                "Mamba Cache is allocated. conv_state size: 0.27GB, ssm_state size: 8.53GB "
                "intermediate_ssm_state_cache "
                "size: 2.10GB intermediate_conv_window_cache size: 0.05GB ",
                "0.5.3..0.5.3.post1",
                {
                    "conv_gib": "0.27",
                    "ssm_gib": "8.53",
                    "intermediate_ssm_gib": "2.10",
                    "intermediate_conv_gib": "0.05",
                },
            ),
            Sample(
                "Mamba Cache is allocated. max_mamba_cache_size: 384, conv_state size: 0.27GB, ssm_state size: 8.53GB ",
                "0.5.3.post2..0.5.23",
                {"slots": "384", "conv_gib": "0.27", "ssm_gib": "8.53"},
            ),
            Sample(
                "Mamba Cache is allocated. max_mamba_cache_size: 384, conv_state size: 0.27GB, ssm_state size: 8.53GB "
                "intermediate_ssm_state_cache size: 2.10GB intermediate_conv_window_cache size: 0.05GB ",
                "0.5.3.post2..0.5.23",
                {
                    "slots": "384",
                    "conv_gib": "0.27",
                    "ssm_gib": "8.53",
                    "intermediate_ssm_gib": "2.10",
                    "intermediate_conv_gib": "0.05",
                },
            ),
        ),
    ),
    Extractor(
        kind="replayssm_buffers",
        phase="pools",
        anchors=("ReplaySSM ring buffers allocated",),
        pattern=(
            rf"GDN ReplaySSM ring buffers allocated \((?P<what>[^)]*)\): d={fig('d_gib', GB)}, k={fig('k_gib', GB)}, "
            rf"g={fig('g_gib', GB)}"
            + clause(rf"rawv={fig('rawv_gib', GB)}")
            + clause(rf"rawk={fig('rawk_gib', GB)}")
            + clause(rf"beta={fig('beta_gib', GB)}")
        ),
        fields=(
            Field("what", "text"),
            Field("d_gib", "gib"),
            Field("k_gib", "gib"),
            Field("g_gib", "gib"),
            Field("rawv_gib", "gib"),
            Field("rawk_gib", "gib"),
            Field("beta_gib", "gib"),
        ),
        releases="0.5.15..0.5.23",
        samples=(
            Sample(
                "GDN ReplaySSM ring buffers allocated (L=8): d=0.120GB, k=0.060GB, g=0.001GB ",
                "0.5.15..0.5.16",
                {"what": "L=8", "d_gib": "0.120", "k_gib": "0.060", "g_gib": "0.001"},
            ),
            Sample(
                "GDN ReplaySSM ring buffers allocated (L=8): d=0.120GB, k=0.060GB, g=0.001GB rawv=0.110GB, "
                "rawk=0.070GB, "
                "beta=0.002GB ",
                "0.5.16",
                {
                    "what": "L=8",
                    "d_gib": "0.120",
                    "k_gib": "0.060",
                    "g_gib": "0.001",
                    "rawv_gib": "0.110",
                    "rawk_gib": "0.070",
                    "beta_gib": "0.002",
                },
            ),
            Sample(
                "GDN ReplaySSM ring buffers allocated (record_len=8, fold=False): d=0.120GB, k=0.060GB, g=0.001GB ",
                "0.5.17..0.5.23",
                {"what": "record_len=8, fold=False", "d_gib": "0.120", "k_gib": "0.060", "g_gib": "0.001"},
            ),
            Sample(
                "GDN ReplaySSM ring buffers allocated (record_len=8, fold=True): d=0.000GB, k=0.000GB, g=0.001GB "
                "rawv=0.120GB, rawk=0.060GB, ",
                "0.5.20..0.5.23",
                {
                    "what": "record_len=8, fold=True",
                    "d_gib": "0.000",
                    "k_gib": "0.000",
                    "g_gib": "0.001",
                    "rawv_gib": "0.120",
                    "rawk_gib": "0.060",
                },
            ),
        ),
    ),
    Extractor(
        kind="mamba_int8_pool",
        phase="pools",
        anchors=("int8 mamba checkpoint pool",),
        pattern=(
            rf"int8 mamba checkpoint pool(?:: {num('slots')} slots, {fig('pool_gib', GB)}"
            rf"| \({fig('pool_gib', GB)}\) is allocated from --mem-fraction-static headroom)"
            + clause(rf"active mamba pool {num('mamba_slots')} slots")
            + clause(rf"free HBM {fig('avail_gib', GB)}")
        ),
        fields=(
            Field("slots", "slots"),
            Field("pool_gib", "gib"),
            Field("mamba_slots", "slots"),
            Field("avail_gib", "gib"),
        ),
        releases="0.5.14..0.5.23",
        samples=(
            Sample(
                "int8 mamba checkpoint pool: 512 slots, 2.10GB (qdata 2.00 + scale 0.02 + conv 0.08); active mamba "
                "pool "
                "384 slots; free HBM 7.20GB",
                "0.5.14..0.5.23",
                {"slots": "512", "pool_gib": "2.10", "mamba_slots": "384", "avail_gib": "7.20"},
            ),
            Sample(
                "int8 mamba checkpoint pool (2.10GB) is allocated from --mem-fraction-static headroom and is not "
                "reflected "
                "in max_total_num_tokens; ensure headroom covers it.",
                "0.5.14..0.5.23",
                {"pool_gib": "2.10"},
            ),
        ),
    ),
    Extractor(
        kind="unified_pool",
        phase="pools",
        anchors=("[unified-memory-pool]",),
        pattern=(
            _UNIFIED
            + r"UnifiedKVPool (?P<state>allocated|reserved VA upper bound): "
            + rf"total_bytes={fig('total_gib', GB)} \(={num('total_bytes')} B\), {num('sub_pools')} sub-pool"
        ),
        fields=(
            Field("state", "text"),
            Field("total_gib", "gib"),
            Field("total_bytes", "bytes"),
            Field("sub_pools", "count"),
        ),
        releases="0.5.15..0.5.23",
        samples=(
            Sample(
                "[unified-memory-pool] UnifiedKVPool allocated: total_bytes=41.20 GB (=44238077952 B), 2 sub-pool(s)",
                "0.5.15..0.5.23",
                {"state": "allocated", "total_gib": "41.20", "total_bytes": "44238077952", "sub_pools": "2"},
            ),
            Sample(
                "[unified-memory-pool] UnifiedKVPool reserved VA upper bound: total_bytes=41.20 GB (=44238077952 B), "
                "2 sub-pool(s)",
                "0.5.22..0.5.23",
                {
                    "state": "reserved VA upper bound",
                    "total_gib": "41.20",
                    "total_bytes": "44238077952",
                    "sub_pools": "2",
                },
            ),
        ),
    ),
    Extractor(
        kind="unified_subpool",
        phase="pools",
        anchors=("[unified-memory-pool]",),
        pattern=(
            _UNIFIED
            + rf"sub-pool (?P<name>\w+): kind=(?P<pool>\w+), layer_num={num('layers')}, grow=(?P<grow>\w+), "
            + rf"entry_bytes={num('entry_bytes')}, max_slots={num('slots')}"
        ),
        fields=(
            Field("name", "text"),
            Field("pool", "text"),
            Field("layers", "count"),
            Field("grow", "text"),
            Field("entry_bytes", "bytes"),
            Field("slots", "slots"),
        ),
        releases="0.5.15..0.5.23",
        samples=(
            Sample(
                "[unified-memory-pool]   sub-pool full: kind=KVSubPoolSpec, layer_num=12, grow=down, "
                "entry_bytes=49152, "
                "max_slots=434132, min_slot_index=1 (slots [0,1) reserved)",
                "0.5.15..0.5.23",
                {
                    "name": "full",
                    "pool": "KVSubPoolSpec",
                    "layers": "12",
                    "grow": "down",
                    "entry_bytes": "49152",
                    "slots": "434132",
                },
            ),
        ),
    ),
    Extractor(
        kind="unified_totals",
        phase="pools",
        anchors=("[unified-memory-pool]",),
        pattern=(
            _UNIFIED
            + rf"total_bytes={num('total_bytes')}(?: \(={fig('total_gib', GB)}\))?, "
            + rf"(?:full_max_total_num_tokens|max_total_num_tokens|full_max|full_capacity)={num('full_tokens')}"
            + clause(rf"(?:swa_max_total_num_tokens|swa_max|swa_capacity)={num('swa_tokens')}")
            + clause(rf"max_mamba_cache_size={num('mamba_slots')}")
            + clause(rf"max_num_reqs={num('requests')}")
            + clause(rf"joint_available={num('joint_slots')}")
        ),
        fields=(
            Field("total_bytes", "bytes"),
            Field("total_gib", "gib"),
            Field("full_tokens", "tokens"),
            Field("swa_tokens", "tokens"),
            Field("mamba_slots", "slots"),
            Field("requests", "requests"),
            Field("joint_slots", "slots"),
        ),
        releases="0.5.15..0.5.23",
        samples=(
            Sample(
                "[unified-memory-pool]   total_bytes=44238077952, max_total_num_tokens=434132, "
                "max_mamba_cache_size=384, "
                "max_num_reqs=128, speculative_num_draft_tokens=None",
                "0.5.15..0.5.23",
                {"total_bytes": "44238077952", "full_tokens": "434132", "mamba_slots": "384", "requests": "128"},
            ),
            Sample(
                "[unified-memory-pool]   total_bytes=44238077952 (=41.20 GB), full_max_total_num_tokens=434132, "
                "swa_max_total_num_tokens=86826, joint_available=434000 slots",
                "0.5.15..0.5.20",
                {
                    "total_bytes": "44238077952",
                    "total_gib": "41.20",
                    "full_tokens": "434132",
                    "swa_tokens": "86826",
                    "joint_slots": "434000",
                },
            ),
            Sample(
                "[unified-memory-pool]   total_bytes=44238077952 (=41.20 GB), full_capacity=434132, "
                "swa_capacity=86826, "
                "joint_available=434000 slots",
                "0.5.21..0.5.23",
                {
                    "total_bytes": "44238077952",
                    "total_gib": "41.20",
                    "full_tokens": "434132",
                    "swa_tokens": "86826",
                    "joint_slots": "434000",
                },
            ),
            Sample(
                "[unified-memory-pool]   total_bytes=44238077952 (=41.20 GB), full_max=434132, swa_max=86826, "
                "max_mamba_cache_size=384, max_num_reqs=128, joint_available=434000",
                "0.5.19..0.5.23",
                {
                    "total_bytes": "44238077952",
                    "total_gib": "41.20",
                    "full_tokens": "434132",
                    "swa_tokens": "86826",
                    "mamba_slots": "384",
                    "requests": "128",
                    "joint_slots": "434000",
                },
            ),
        ),
    ),
    Extractor(
        kind="unified_allocator",
        phase="pools",
        anchors=("[unified-memory-pool]",),
        pattern=(
            _UNIFIED
            + r"(?:MultiEndedAllocator\((?P<name>\w+)\) ready: "
            + rf"grow=(?P<grow>\w+), max_slots={num('slots')}"
            + clause(rf"\bentry_bytes={num('entry_bytes')}")
            + r"|Unified(?P<pools>MambaSWA|Mamba|SWA)TokenToKVPoolAllocator ready: )"
            + clause(rf"\bfull max_slots={num('full_slots')}")
            + clause(rf"\bswa max_slots={num('swa_slots')}")
            + clause(rf"\bmamba max_slots={num('mamba_slots')}")
        ),
        fields=(
            Field("name", "text"),
            Field("grow", "text"),
            Field("slots", "slots"),
            Field("entry_bytes", "bytes"),
            Field("pools", "text"),
            Field("full_slots", "slots"),
            Field("swa_slots", "slots"),
            Field("mamba_slots", "slots"),
        ),
        releases="0.5.15..0.5.23",
        samples=(
            Sample(
                "[unified-memory-pool] MultiEndedAllocator(full) ready: grow=down, max_slots=434132, min_slot_index=1, "
                "page_size=1, num_pages=434132, min_page_index=1, entry_bytes=49152, entry_bytes_per_page=49152, "
                "is_id_owner=True, initial_watermark_page=0, allocatable_pages=434131",
                "0.5.15..0.5.23",
                {"name": "full", "grow": "down", "slots": "434132", "entry_bytes": "49152"},
            ),
            Sample(
                "[unified-memory-pool] UnifiedMambaTokenToKVPoolAllocator ready: full max_slots=434132 "
                "(min_slot_index=1, "
                "page_size=1, num_pages=434132), mamba max_slots=384 (min_slot_index=1), full_available=434131, "
                "mamba_available=383",
                "0.5.15..0.5.23",
                {"pools": "Mamba", "full_slots": "434132", "mamba_slots": "384"},
            ),
        ),
    ),
    Extractor(
        kind="unified_layers",
        phase="pools",
        anchors=("[unified-memory-pool]",),
        pattern=(
            _UNIFIED
            + rf"(?:full_layers={num('full_layers')}, (?=(?:swa|mamba)_layers=)"
            + clause(rf"\bswa_layers={num('swa_layers')}")
            + clause(rf"\b(?:mamba|state)_layers={num('state_layers')}")
            + clause(rf"\bkv_lora_rank={num('kv_lora_rank')}")
            + clause(rf"\bqk_rope_head_dim={num('rope_dim')}")
            + clause(rf", head_num={num('heads')}")
            + clause(rf", head_dim={num('head_dim')}")
            + clause(rf"\bpage_size={num('page_size')}")
            + clause(rf"\bentry_bytes={num('entry_bytes')}")
            + rf"|mamba_full_memory_ratio=(?P<ratio>{NUMBER}) governs the total budget only)"
        ),
        fields=(
            Field("full_layers", "count"),
            Field("swa_layers", "count"),
            Field("state_layers", "count"),
            Field("kv_lora_rank", "count"),
            Field("rope_dim", "count"),
            Field("heads", "count"),
            Field("head_dim", "count"),
            Field("page_size", "tokens"),
            Field("entry_bytes", "bytes"),
            Field("ratio", "ratio"),
        ),
        releases="0.5.15..0.5.23",
        samples=(
            Sample(
                "[unified-memory-pool]   full_layers=12, mamba_layers=36, head_num=2, head_dim=256, page_size=1, "
                "is_draft_worker=False",
                "0.5.15..0.5.18",
                {"full_layers": "12", "state_layers": "36", "heads": "2", "head_dim": "256", "page_size": "1"},
            ),
            Sample(
                "[unified-memory-pool]   full_layers=12, mamba_layers=36, head_num=2, head_dim=256, page_size=1, "
                "is_draft_worker=False (token-major views, entry_bytes=24576 B)",
                "0.5.19..0.5.23",
                {
                    "full_layers": "12",
                    "state_layers": "36",
                    "heads": "2",
                    "head_dim": "256",
                    "page_size": "1",
                    "entry_bytes": "24576",
                },
            ),
            Sample(
                "[unified-memory-pool]   full_layers=16, mamba_layers=45, kv_lora_rank=512, qk_rope_head_dim=64, "
                "page_size=64 (dense views, kernel_page_multiplier=16, view_tail_pad=0 B)",
                "0.5.17..0.5.18",
                {
                    "full_layers": "16",
                    "state_layers": "45",
                    "kv_lora_rank": "512",
                    "rope_dim": "64",
                    "page_size": "64",
                },
            ),
            Sample(
                "[unified-memory-pool]   full_layers=16, mamba_layers=45, kv_lora_rank=512, qk_rope_head_dim=64, "
                "page_size=64 (per-layer views, kernel_page_multiplier=16, view_tail_pad=0 B)",
                "0.5.19..0.5.21",
                {
                    "full_layers": "16",
                    "state_layers": "45",
                    "kv_lora_rank": "512",
                    "rope_dim": "64",
                    "page_size": "64",
                },
            ),
            Sample(
                "[unified-memory-pool]   full_layers=16, mamba_layers=45, kv_lora_rank=512, qk_rope_head_dim=64, "
                "page_size=64 (token-major views, entry_bytes=18432 B)",
                "0.5.22..0.5.23",
                {
                    "full_layers": "16",
                    "state_layers": "45",
                    "kv_lora_rank": "512",
                    "rope_dim": "64",
                    "page_size": "64",
                    "entry_bytes": "18432",
                },
            ),
            Sample(
                "[unified-memory-pool]   full_layers=12, swa_layers=12, head_num=8, head_dim=64, v_head_dim=64, "
                "swa_head_num=8, swa_head_dim=64, swa_v_head_dim=64, page_size=1",
                "0.5.15..0.5.23",
                {"full_layers": "12", "swa_layers": "12", "heads": "8", "head_dim": "64", "page_size": "1"},
            ),
            Sample(
                "[unified-memory-pool]   full_layers=12, swa_layers=12, state_layers=24, head_num=8/4, head_dim=64/64, "
                "page_size=1",
                "0.5.19..0.5.23",
                {
                    "full_layers": "12",
                    "swa_layers": "12",
                    "state_layers": "24",
                    "heads": "8",
                    "head_dim": "64",
                    "page_size": "1",
                },
            ),
            Sample(
                "[unified-memory-pool]   mamba_full_memory_ratio=0.9 governs the total budget only, not the runtime "
                "split.",
                "0.5.15..0.5.23",
                {"ratio": "0.9"},
            ),
        ),
    ),
    Extractor(
        kind="dsv4_swa_layout",
        phase="pools",
        anchors=("direct SWA KV layout enabled",),
        pattern=(
            rf"DeepSeek-V4 SM120 direct SWA KV layout enabled: logical_page_size={num('page_size')} "
            rf"physical_page_size={num('physical_page_size')}"
        ),
        fields=(Field("page_size", "tokens"), Field("physical_page_size", "tokens")),
        releases="0.5.21..0.5.23",
        samples=(
            Sample(
                "DeepSeek-V4 SM120 direct SWA KV layout enabled: logical_page_size=256 physical_page_size=64",
                "0.5.21..0.5.23",
                {"page_size": "256", "physical_page_size": "64"},
            ),
        ),
    ),
    Extractor(
        kind="kernel_workspace",
        phase="pools",
        anchors=("fused DSA indexer: workspace preallocated", "gluon prefill scratch of"),
        pattern=(
            rf"(?:(?P<name>\S+ fused DSA indexer): workspace preallocated \(max_cols={num('max_cols')}, "
            rf"{fig('workspace_gib', MB)}\) before pool sizing"
            rf"|.{{0,200}}?(?P<name>gluon prefill) scratch of {num('pages')} pages\b(?=.*does not fit))"
            + clause(rf"\({fig('lacking_gib', MB)}\) does not fit")
        ),
        fields=(
            Field("name", "text"),
            Field("max_cols", "count"),
            Field("workspace_gib", "mib"),
            Field("pages", "count"),
            Field("lacking_gib", "mib"),
        ),
        releases="0.5.21..0.5.23",
        note=(
            "The indexer's is taken before the pools are sized, so that the free memory that they share is less by it."
        ),
        samples=(
            Sample(
                "gluon prefill scratch of 2048 pages (512 MiB) does not fit; lower --mem-fraction-static",
                "0.5.21..0.5.22",
                {"name": "gluon prefill", "pages": "2048", "lacking_gib": "512"},
            ),
            Sample(
                "gfx950 fused DSA indexer: workspace preallocated (max_cols=131072, 640 MiB) before pool sizing",
                "0.5.23",
                {"name": "gfx950 fused DSA indexer", "max_cols": "131072", "workspace_gib": "640"},
            ),
        ),
    ),
    Extractor(
        kind="dsv4_pool_init",
        phase="pools",
        anchors=("Initialize DeepSeekV4TokenToKVPool with",),
        pattern=(
            rf"Initialize DeepSeekV4TokenToKVPool with max_num_reqs={num('requests')} swa_size={num('swa_tokens')} "
            rf"c4_size={num('c4_slots')} (?:c4_logical_size={num('c4_logical_slots')} )?c128_size={num('c128_slots')}"
            + clause(rf"c4_state_pool_size={num('c4_state_slots')}")
            + clause(rf"c128_state_pool_size={num('c128_state_slots')}")
        ),
        fields=(
            Field("requests", "requests"),
            Field("swa_tokens", "tokens"),
            Field("c4_slots", "slots"),
            Field("c4_logical_slots", "slots"),
            Field("c128_slots", "slots"),
            Field("c4_state_slots", "slots"),
            Field("c128_state_slots", "slots"),
        ),
        releases="0.5.12..0.5.23",
        note="This pool prints no size of its own. Builds before 0.5.12 leave c4_logical_size out.",
        samples=(
            Sample(
                "Initialize DeepSeekV4TokenToKVPool with max_num_reqs=128 swa_size=211712 c4_size=66176 c128_size=2068 "
                "c4_state_pool_size=26464 c128_state_pool_size=423424",
                "",
                {
                    "requests": "128",
                    "swa_tokens": "211712",
                    "c4_slots": "66176",
                    "c128_slots": "2068",
                    "c4_state_slots": "26464",
                    "c128_state_slots": "423424",
                },
            ),
            Sample(
                "Initialize DeepSeekV4TokenToKVPool with max_num_reqs=256 swa_size=1259520 c4_size=3148800 "
                "c4_logical_size=3148801 c128_size=98400 c4_state_pool_size=4096 c128_state_pool_size=2048",
                "0.5.12..0.5.20",
                {
                    "requests": "256",
                    "swa_tokens": "1259520",
                    "c4_slots": "3148800",
                    "c4_logical_slots": "3148801",
                    "c128_slots": "98400",
                    "c4_state_slots": "4096",
                    "c128_state_slots": "2048",
                },
            ),
            Sample(
                "Initialize DeepSeekV4TokenToKVPool with max_num_reqs=256 swa_size=1053440 c4_size=0 c4_logical_size=0 "
                "c128_size=0 c4_state_pool_size=0 c128_state_pool_size=0 unified=False unified_fp8=False",
                "0.5.21..0.5.23",
                {
                    "requests": "256",
                    "swa_tokens": "1053440",
                    "c4_slots": "0",
                    "c4_logical_slots": "0",
                    "c128_slots": "0",
                    "c4_state_slots": "0",
                    "c128_state_slots": "0",
                },
            ),
        ),
    ),
    Extractor(
        kind="memory_pool_end",
        phase="pools",
        anchors=("Memory pool end.",),
        pattern=rf"Memory pool end\. avail mem={fig('avail_gib', GB)}",
        fields=(Field("avail_gib", "gib"),),
        releases="0.1.17..0.5.23",
        printed_by="every rank, again for the draft runner",
        samples=(
            Sample("[gpu_id=0] Memory pool end. avail mem=9.76 GB", "0.1.17..0.2.0", {"avail_gib": "9.76"}),
            Sample("Memory pool end. avail mem=9.76 GB", "0.2.15..0.5.23", {"avail_gib": "9.76"}),
        ),
    ),
    Extractor(
        kind="page_shard_scratch",
        phase="pools",
        anchors=("Page-interleave KV sharding enabled:",),
        pattern=(
            rf"Page-interleave KV sharding enabled: shard_rank={num('shard_rank')} shard_size={num('shard_size')} "
            rf".*?\({fig('scratch_gib', MB)} per rank"
        ),
        fields=(Field("shard_rank", "count"), Field("shard_size", "count"), Field("scratch_gib", "mib")),
        releases="0.5.21..0.5.23",
        samples=(
            Sample(
                "Page-interleave KV sharding enabled: shard_rank=0 shard_size=4 page_size=64 prefix_tokens=131072 "
                "chunk_tokens=8192 scratch_rows=139264 x2 (160.00 MiB per rank, charged against the KV budget). Batch "
                "admission is limited by this scratch capacity.",
                "0.5.21..0.5.22",
                {"shard_rank": "0", "shard_size": "4", "scratch_gib": "160.00"},
            ),
            Sample(
                "Page-interleave KV sharding enabled: shard_rank=0 shard_size=4 page_size=64 prefix_tokens=131072 "
                "chunk_tokens=8192 scratch_rows=139264 x2 (160.00 MiB per rank, charged against the KV budget), NCCL "
                "symmetric scratch=True. Batch admission is limited by this scratch capacity.",
                "0.5.23",
                {"shard_rank": "0", "shard_size": "4", "scratch_gib": "160.00"},
            ),
        ),
    ),
    Extractor(
        kind="vmm_arena",
        phase="pools",
        anchors=("KvVmmArena[",),
        pattern=(
            rf"KvVmmArena\[(?P<name>[^\]]*)\] ready: device={num('device')} reserved(?:_va)?={fig('reserved_gib', GB)}"
        ),
        fields=(Field("name", "text"), Field("device", "count"), Field("reserved_gib", "gib")),
        releases="0.5.16..0.5.23",
        note="Address space, not memory.",
        samples=(
            Sample(
                "KvVmmArena[abc] ready: device=0 reserved=60.0 GiB granularity=2048 KiB",
                "0.5.16..0.5.17",
                {"name": "abc", "device": "0", "reserved_gib": "60.0"},
            ),
            Sample(
                "KvVmmArena[abc] ready: device=0 reserved_va=60.0 GiB granularity=2048 KiB handle_type=FABRIC",
                "0.5.18..0.5.23",
                {"name": "abc", "device": "0", "reserved_gib": "60.0"},
            ),
        ),
    ),
    Extractor(
        kind="host_pool",
        phase="pools",
        anchors=("GB host memory",),
        pattern=(
            rf"Allocating (?:(?P<label>.{{1,60}}?) hierarchical KV host pool: {num('tokens')} tokens, )?"
            rf"{fig('host_gb')} GB host memory(?: for (?P<what>[^.(]{{0,200}}?))?(?=[.,]|\s\(|\s{{0,50}}$)"
            r"(?: \((?P<detail>[^)]*)\))?"
        ),
        fields=(
            Field("label", "text"),
            Field("tokens", "tokens"),
            Field("host_gb", "gb_decimal"),
            Field("what", "text"),
            Field("detail", "text"),
        ),
        releases="0.4.1.post5..0.5.23",
        note="Decimal GB.",
        samples=(
            Sample(
                "Allocating 131.07 GB host memory for hierarchical KV cache.",
                "0.4.1.post5..0.5.16",
                {"host_gb": "131.07", "what": "hierarchical KV cache"},
            ),
            Sample(
                "Allocating kv hierarchical KV host pool: 868264 tokens, 131.07 GB host memory.",
                "0.5.17..0.5.23",
                {"label": "kv", "tokens": "868264", "host_gb": "131.07"},
            ),
            Sample(
                "Allocating kv hierarchical KV host pool: 868264 tokens, 131.07 GB host memory, packed MTP KV layers: "
                "target_layers=61, draft_layers=1, total_layers=62.",
                "0.5.18..0.5.23",
                {"label": "kv", "tokens": "868264", "host_gb": "131.07"},
            ),
            Sample(
                "Allocating 12.30 GB host memory for hierarchical Mamba cache (layout=layer_first).",
                "0.5.10..0.5.22",
                {"host_gb": "12.30", "what": "hierarchical Mamba cache", "detail": "layout=layer_first"},
            ),
            Sample(
                "Allocating 12.30 GB host memory for hierarchical Mamba cache (384 state slots, layout=layer_first).",
                "0.5.23",
                {
                    "host_gb": "12.30",
                    "what": "hierarchical Mamba cache",
                    "detail": "384 state slots, layout=layer_first",
                },
            ),
            Sample(
                "Allocating 1.30 GB host memory for NSA indexer (layout=page_first).",
                "0.5.11..0.5.12.post1",
                {"host_gb": "1.30", "what": "NSA indexer", "detail": "layout=page_first"},
            ),
            Sample(
                "Allocating 1.30 GB host memory for DSA indexer (layout=page_first).",
                "0.5.13..0.5.23",
                {"host_gb": "1.30", "what": "DSA indexer", "detail": "layout=page_first"},
            ),
            Sample(
                "Allocating 1.30 GB host memory for V4 paged pool 'c4' (layers=30, pages=1000, item_bytes=37376).",
                "0.5.12..0.5.23",
                {"host_gb": "1.30", "what": "V4 paged pool 'c4'", "detail": "layers=30, pages=1000, item_bytes=37376"},
            ),
        ),
    ),
    Extractor(
        kind="host_pool_dummy",
        phase="pools",
        anchors=("dummy mode: allocator-only",),
        pattern=(
            rf"(?P<pool>\w+) dummy mode: allocator-only, size={num('tokens')} tokens, saving {fig('saved_gb')} GB host "
            rf"memory"
        ),
        fields=(Field("pool", "text"), Field("tokens", "tokens"), Field("saved_gb", "gb_decimal")),
        releases="0.5.20..0.5.23",
        note="This rank keeps no host copy. Decimal GB.",
        samples=(
            Sample(
                "MLATokenToKVPoolHost dummy mode: allocator-only, size=868264 tokens, saving 61.01 GB host memory",
                "0.5.20..0.5.23",
                {"pool": "MLATokenToKVPoolHost", "tokens": "868264", "saved_gb": "61.01"},
            ),
        ),
    ),
    Extractor(
        kind="host_backing",
        phase="pools",
        anchors=(
            "UMBPHostTensorAllocator: allocated",
            "memfabric host memory initialized",
            "SGLANG_HUGEPAGE_SIZE=",
        ),
        pattern=(
            rf"(?:(?P<what>UMBPHostTensorAllocator): allocated {fig('host_gb')} GB at \w+"
            + clause(r"\bactual_backing=(?P<backing>[\w.]+)")
            + clause(rf"\bmapped_size={num('mapped_bytes')}")
            + clause(r"\bnuma_node=(?P<numa_node>-?\d{1,6})")
            + rf"|\[HiCache\] (?P<what>memfabric) host memory initialized: reserve={fig('reserve_gib', GB)} "
            rf"device={num('device')}"
            r"|(?P<what>Hugepage mmap) (?:requested but|via libc failed).*?SGLANG_HUGEPAGE_SIZE=(?P<backing>\w*)"
            r"|Unrecognized SGLANG_HUGEPAGE_SIZE=(?P<backing>\S*?); expected)"
        ),
        fields=(
            Field("what", "text"),
            Field("host_gb", "gb_decimal"),
            Field("reserve_gib", "gib"),
            Field("backing", "text"),
            Field("mapped_bytes", "bytes"),
            Field("numa_node", "count"),
            Field("device", "count"),
        ),
        releases="0.5.15..0.5.23",
        note="Where the memory of a host pool comes from; the pool itself prints host_pool.",
        samples=(
            Sample(
                "UMBPHostTensorAllocator: allocated 131.07 GB at 0x7f0000000000 requested_backing=HugeTlb "
                "actual_backing=HugeTlb actual_alignment=2097152 mapped_size=131071999999 numa_node=0",
                "0.5.15..0.5.23",
                {
                    "what": "UMBPHostTensorAllocator",
                    "host_gb": "131.07",
                    "backing": "HugeTlb",
                    "mapped_bytes": "131071999999",
                    "numa_node": "0",
                },
            ),
            Sample(
                "[HiCache] memfabric host memory initialized: reserve=122.07GB device=0 (physically reserved up to "
                "123GB after C++-side GB alignment)",
                "0.5.20..0.5.23",
                {"what": "memfabric", "reserve_gib": "122.07", "device": "0"},
            ),
            Sample(
                "Hugepage mmap requested but libc.so.6 could not be loaded; falling back to plain mmap. "
                "SGLANG_HUGEPAGE_SIZE=2MB will be ignored.",
                "0.5.17..0.5.23",
                {"what": "Hugepage mmap", "backing": "2MB"},
            ),
            Sample(
                "Hugepage mmap via libc failed ([Errno 12] Cannot allocate memory); falling back to plain mmap. "
                "SGLANG_HUGEPAGE_SIZE=1GB will be ignored.",
                "0.5.17..0.5.23",
                {"what": "Hugepage mmap", "backing": "1GB"},
            ),
            Sample(
                "Unrecognized SGLANG_HUGEPAGE_SIZE='4MB'; expected '2MB' or '1GB'. Falling back to plain page-size "
                "mmap.",
                "0.5.17..0.5.23",
                {"backing": "'4MB'"},
            ),
        ),
    ),
    Extractor(
        kind="hicache_storage",
        phase="pools",
        anchors=("HiCacheHF3FS ", "UMBPStore initialized:", "UMBPStore: registered host", "UMBPStore: setting master"),
        pattern=(
            rf"(?:\[Rank {num('rank')}\] )?(?:(?P<backend>HiCacheHF3FS) (?:Client Initializing: )?file_path ?= ?"
            rf"(?P<path>.*?), file_size ?= ?{fig('file_gib', GB)}"
            + clause(rf"\bbytes_per_page = {fig('page_gib', MB)}")
            + clause(rf"\bnum_pages ?= ?{num('pages')}")
            + rf"|(?P<backend>UMBPStore) initialized: dram={fig('dram_gib', MB)}"
            + rf"|(?P<backend>UMBPStore): registered host (?:KV )?buffer for .*?size={fig('buffer_gib', MB)}"
            + rf"|(?P<backend>UMBPStore): setting master dram_page_size={num('page_bytes')})"
        ),
        fields=(
            Field("rank", "count"),
            Field("backend", "text"),
            Field("path", "text"),
            Field("file_gib", "gib"),
            Field("page_gib", "mib"),
            Field("pages", "count"),
            Field("dram_gib", "mib"),
            Field("buffer_gib", "mib"),
            Field("page_bytes", "bytes"),
        ),
        releases="0.4.10..0.5.23",
        note="The third level of the hierarchical cache: a file, or memory of a store beside the server.",
        samples=(
            Sample(
                "HiCacheHF3FS file_path = /data/hicache.0.bin, file_size = 512.00 GB, numjobs = 16, bytes_per_page = "
                "4.50 MB, entries = 8, num_pages = 116508",
                "0.4.10..0.4.10.post2",
                {
                    "backend": "HiCacheHF3FS",
                    "path": "/data/hicache.0.bin",
                    "file_gib": "512.00",
                    "page_gib": "4.50",
                    "pages": "116508",
                },
            ),
            Sample(
                "[Rank 0] HiCacheHF3FS Client Initializing: file_path=/data/hicache.0.bin, file_size=512.00 GB, "
                "num_pages=116508",
                "0.5.1..0.5.2",
                {
                    "rank": "0",
                    "backend": "HiCacheHF3FS",
                    "path": "/data/hicache.0.bin",
                    "file_gib": "512.00",
                    "pages": "116508",
                },
            ),
            Sample(
                "[Rank 0] HiCacheHF3FS Client Initializing: file_path=/data/hicache.0.bin, file_size=512.00 GB, "
                "num_pages=116508, is_mla_model=False",
                "0.5.3..0.5.23",
                {
                    "rank": "0",
                    "backend": "HiCacheHF3FS",
                    "path": "/data/hicache.0.bin",
                    "file_gib": "512.00",
                    "pages": "116508",
                },
            ),
            Sample(
                "UMBPStore initialized: dram=65536 MB, ssd=True, mla=False, rank=0, ssd_backend=posix",
                "0.5.15..0.5.23",
                {"backend": "UMBPStore", "dram_gib": "65536"},
            ),
            Sample(
                "UMBPStore: registered host KV buffer for RDMA zero-copy (ptr=0x7f0000000000, size=125000 MB)",
                "0.5.15..0.5.19",
                {"backend": "UMBPStore", "buffer_gib": "125000"},
            ),
            Sample(
                "UMBPStore: registered host buffer for zero-copy (ptr=0x7f0000000000, size=125000 MB, mode=rdma)",
                "0.5.20..0.5.23",
                {"backend": "UMBPStore", "buffer_gib": "125000"},
            ),
            Sample(
                "UMBPStore: setting master dram_page_size=4718592 (ksize_per_token=73728 × page_size=64)",
                "0.5.15..0.5.23",
                {"backend": "UMBPStore", "page_bytes": "4718592"},
            ),
        ),
    ),
    Extractor(
        kind="embedding_pool",
        phase="pools",
        anchors=(" embedding pool: dim=", " embedding pool has zero pages"),
        pattern=(
            rf"\[Rank {num('rank')}\] (?:Registered (?P<modality>\w+) embedding pool: dim={num('dim')}, "
            rf"pages={num('pages')}, page_tokens={num('page_tokens')}, capacity={fig('pool_gib', MB)}"
            rf"|(?P<modality>\w+) embedding pool has zero pages; dim={num('dim')}, budget={num('budget_bytes')} bytes)"
        ),
        fields=(
            Field("rank", "count"),
            Field("modality", "text"),
            Field("dim", "count"),
            Field("pages", "count"),
            Field("page_tokens", "tokens"),
            Field("pool_gib", "mib"),
            Field("budget_bytes", "bytes"),
        ),
        releases="0.5.15..0.5.23",
        note="Host memory for the embeddings of images and audio.",
        samples=(
            Sample(
                "[Rank 0] Registered vision embedding pool: dim=4096, pages=8192, page_tokens=64, capacity=4096.00 MB",
                "0.5.15..0.5.23",
                {
                    "rank": "0",
                    "modality": "vision",
                    "dim": "4096",
                    "pages": "8192",
                    "page_tokens": "64",
                    "pool_gib": "4096.00",
                },
            ),
            Sample(
                "[Rank 0] audio embedding pool has zero pages; dim=4096, budget=262144 bytes",
                "0.5.15..0.5.23",
                {"rank": "0", "modality": "audio", "dim": "4096", "budget_bytes": "262144"},
            ),
        ),
    ),
    Extractor(
        kind="host_pool_small",
        phase="pools",
        anchors=("is smaller than the device pool",),
        pattern=(
            rf"HiCache (?P<label>.{{0,60}}?)\s?host (?:KV )?pool \({num('host_tokens')} tokens\) is smaller than the "
            rf"device pool "
            rf"\({num('device_tokens')} tokens\)"
        ),
        fields=(Field("label", "text"), Field("host_tokens", "tokens"), Field("device_tokens", "tokens")),
        releases="0.5.15..0.5.23",
        samples=(
            Sample(
                "HiCache host KV pool (1000 tokens) is smaller than the device pool (434132 tokens);L2 cache "
                "effectiveness "
                "is reduced.Consider increasing --hicache-ratio (or --hicache-size)",
                "0.5.15..0.5.23",
                {"host_tokens": "1000", "device_tokens": "434132"},
            ),
            Sample(
                "HiCache kv host pool (1000 tokens) is smaller than the device pool (434132 tokens);L2 cache "
                "effectiveness "
                "is reduced.Consider increasing --hicache-ratio",
                "0.5.17..0.5.23",
                {"label": "kv", "host_tokens": "1000", "device_tokens": "434132"},
            ),
        ),
    ),
    Extractor(
        kind="hicache_autosize",
        phase="pools",
        anchors=("HiCache auto-sizing: ratio", "HiCache memory headroom:", "HiCache staging prepared"),
        pattern=(
            rf"HiCache (?:auto-sizing: ratio {fig('asked_ratio')} -> {fig('ratio')}; {fig('host_gib', GB)} host memory "
            rf"per "
            rf"rank \(fraction {fig('fraction')}, {num('ranks')} ranks on this host\), host pools "
            rf"{fig('pools_gib', GB)}"
            rf"|memory headroom: host {fig('host_free_gib', GB)}, cgroup {fig('cgroup_free_gib', GB)}"
            rf"|staging prepared before KV sizing: {fig('staging_gib', MB)})"
        ),
        fields=(
            Field("asked_ratio", "ratio"),
            Field("ratio", "ratio"),
            Field("host_gib", "gib"),
            Field("fraction", "fraction_rounded"),
            Field("ranks", "count"),
            Field("pools_gib", "gib"),
            Field("host_free_gib", "gib"),
            Field("cgroup_free_gib", "gib"),
            Field("staging_gib", "mib"),
        ),
        releases="0.5.21..0.5.23",
        samples=(
            Sample(
                "HiCache auto-sizing: ratio 2.000 -> 1.512; 120.0 GiB host memory per rank (fraction 0.80, 8 ranks on "
                "this "
                "host), host pools 90.0 GiB.",
                "0.5.21..0.5.23",
                {
                    "asked_ratio": "2.000",
                    "ratio": "1.512",
                    "host_gib": "120.0",
                    "fraction": "0.80",
                    "ranks": "8",
                    "pools_gib": "90.0",
                },
            ),
            Sample(
                "HiCache memory headroom: host 960.0 GiB, cgroup 800.0 GiB",
                "0.5.21..0.5.23",
                {"host_free_gib": "960.0", "cgroup_free_gib": "800.0"},
            ),
            Sample(
                "HiCache staging prepared before KV sizing: 512.0 MiB, 61 layers",
                "0.5.21..0.5.23",
                {"staging_gib": "512.0"},
            ),
        ),
    ),
    Extractor(
        kind="hicache_sync_size",
        phase="pools",
        anchors=("HiCache host token capacity from",),
        pattern=rf"Sync fixed-size HiCache host token capacity from {num('old_tokens')} to {num('tokens')}\.",
        fields=(Field("old_tokens", "tokens"), Field("tokens", "tokens")),
        releases="0.5.15..0.5.23",
        samples=(
            Sample(
                "Sync fixed-size HiCache host token capacity from 868264 to 868000.",
                "0.5.15..0.5.23",
                {"old_tokens": "868264", "tokens": "868000"},
            ),
        ),
    ),
    Extractor(
        kind="tree_cache",
        phase="pools",
        anchors=("Tree cache initialized:",),
        pattern=r"Tree cache initialized: source=(?P<source>\S+) impl=(?P<impl>\w+)"
        + clause(r"\bhybrid_swa=(?P<hybrid_swa>\w+)")
        + clause(r"\bhybrid_ssm=(?P<hybrid_ssm>\w+)")
        + clause(r"\b(?:hierarchical|hicache_attached)=(?P<hicache>\w+)"),
        fields=(
            Field("source", "text"),
            Field("impl", "text"),
            Field("hybrid_swa", "text"),
            Field("hybrid_ssm", "text"),
            Field("hicache", "text"),
        ),
        releases="0.5.13..0.5.23",
        samples=(
            Sample(
                "Tree cache initialized: source=default impl=RadixCache hybrid_swa=False hybrid_ssm=False "
                "hierarchical=False streaming_wrapped=False",
                "0.5.13..0.5.17",
                {
                    "source": "default",
                    "impl": "RadixCache",
                    "hybrid_swa": "False",
                    "hybrid_ssm": "False",
                    "hicache": "False",
                },
            ),
            Sample(
                "Tree cache initialized: source=default impl=RadixCache hybrid_swa=False hybrid_ssm=False "
                "hicache_attached=False streaming_wrapped=False",
                "0.5.18..0.5.21",
                {
                    "source": "default",
                    "impl": "RadixCache",
                    "hybrid_swa": "False",
                    "hybrid_ssm": "False",
                    "hicache": "False",
                },
            ),
            Sample(
                "Tree cache initialized: source=default impl=UnifiedRadixCache hybrid_swa=True hybrid_ssm=False "
                "hicache_attached=False",
                "0.5.18..0.5.23",
                {
                    "source": "default",
                    "impl": "UnifiedRadixCache",
                    "hybrid_swa": "True",
                    "hybrid_ssm": "False",
                    "hicache": "False",
                },
            ),
        ),
    ),
    Extractor(
        kind="device_host_capture_cache",
        phase="pools",
        anchors=("DeviceCache[", "HostCache[", "Routing experts "),
        pattern=(
            rf"(?:DeviceCache\[(?P<name>[^\]]*)\] allocated: shape=(?P<shape>[^=]*), size={fig('device_gib', MB)}"
            rf"|HostCache\[(?P<name>[^\]]*)\] allocated: shape=(?P<shape>[^=]*), size={fig('host_gib', GB)}"
            rf"|Routing experts device buffer allocated\..*?size: {fig('device_gib', MB)}"
            rf"|Routing experts host buffer allocated\..*?size: {fig('host_gib', GB)})"
        ),
        fields=(
            Field("name", "text"),
            Field("shape", "text"),
            Field("device_gib", "mib"),
            Field("host_gib", "gib"),
        ),
        releases="0.5.7..0.5.23",
        samples=(
            Sample(
                "DeviceCache[routed_experts] allocated: shape=(8192, 61, 8), size=15.25 MB",
                "0.5.12..0.5.23",
                {"name": "routed_experts", "shape": "(8192, 61, 8)", "device_gib": "15.25"},
            ),
            Sample(
                "DeviceCache[indexer_topk] allocated: shape=(8192, 61, 2048), size=3904.00 MB",
                "0.5.12..0.5.23",
                {"name": "indexer_topk", "shape": "(8192, 61, 2048)", "device_gib": "3904.00"},
            ),
            Sample(
                "HostCache[routed_experts] allocated: shape=(434132, 61, 8), size=0.79 GB",
                "0.5.12..0.5.23",
                {"name": "routed_experts", "shape": "(434132, 61, 8)", "host_gib": "0.79"},
            ),
            Sample(
                "Routing experts device buffer allocated. #shape: (8192, 61, 8), size: 15.25 MB",
                "0.5.7..0.5.11",
                {"device_gib": "15.25"},
            ),
            Sample(
                "Routing experts host buffer allocated. #tokens: 434132, size: 0.79 GB",
                "0.5.7..0.5.11",
                {"host_gib": "0.79"},
            ),
        ),
    ),
    Extractor(
        kind="lora_load",
        phase="pools",
        anchors=("LoRA adapter ",),
        pattern=(
            r"LoRA adapter (?P<operation>loading|unloading) (?P<event>starts|completes): (?P<adapter>.*)\. avail mem="
            + fig("avail_gib", GB)
        ),
        fields=(
            Field("operation", "text"),
            Field("event", "text"),
            Field("adapter", "text"),
            Field("avail_gib", "gib"),
        ),
        releases="0.4.9..0.5.23",
        samples=(
            Sample(
                "LoRA adapter loading starts: name=a, path=org/a. avail mem=9.76 GB",
                "0.4.9..0.4.9.post5",
                {"operation": "loading", "event": "starts", "adapter": "name=a, path=org/a", "avail_gib": "9.76"},
            ),
            Sample(
                "LoRA adapter loading completes: LoRARef(lora_id='x', lora_name='a'). avail mem=9.60 GB",
                "0.4.9.post4..0.5.23",
                {
                    "operation": "loading",
                    "event": "completes",
                    "adapter": "LoRARef(lora_id='x', lora_name='a')",
                    "avail_gib": "9.60",
                },
            ),
        ),
    ),
    Extractor(
        kind="disagg_buffers",
        phase="pools",
        anchors=("StagingBuffer allocated:", "StagingAllocator (", "PD DCP pack buffers allocated:", "EmbeddingPool "),
        pattern=(
            rf"(?:StagingBuffer allocated: {fig('buffer_gib', MB)} on |StagingAllocator \([^)]*\): "
            rf"{fig('buffer_gib', MB)} on "
            rf"|PD DCP pack buffers allocated: {num('count')} x {fig('buffer_gib', MB)}"
            rf"|(?:Mooncake)?EmbeddingPool (?:registered|allocated): gpu={num('gpu')}, size={fig('buffer_gib', MB)})"
        ),
        fields=(Field("buffer_gib", "mib"), Field("count", "count"), Field("gpu", "count")),
        releases="0.5.10..0.5.23",
        note="With `count`, the size is of one of them.",
        samples=(
            Sample(
                "StagingAllocator (ring+overcommit): 4096.0 MB on cuda:0, ptr=0x7f00",
                "0.5.10..0.5.23",
                {"buffer_gib": "4096.0"},
            ),
            Sample(
                "PD DCP pack buffers allocated: 2 x 64.0 MB (max_tokens=8192)",
                "0.5.19..0.5.23",
                {"count": "2", "buffer_gib": "64.0"},
            ),
            Sample(
                "StagingBuffer allocated: 64.0 MB on cuda:0, method=cudaMalloc, ptr=0x7f00",
                "0.5.10..0.5.23",
                {"buffer_gib": "64.0"},
            ),
            Sample(
                "MooncakeEmbeddingPool registered: gpu=0, size=1024MB, base=0x7f00",
                "0.5.13..0.5.18",
                {"gpu": "0", "buffer_gib": "1024"},
            ),
            Sample(
                "EmbeddingPool allocated: gpu=0, size=1024MB, base=0x7f00, rdma_registered=True",
                "0.5.19..0.5.23",
                {"gpu": "0", "buffer_gib": "1024"},
            ),
        ),
    ),
    Extractor(
        kind="decode_mamba_raise",
        phase="pools",
        anchors=("is less than decode side's max_slots_needed",),
        pattern=(
            rf"mamba_size \({num('slots')}\) is less than decode side's max_slots_needed \({num('needed_slots')} = "
            + clause(rf"raising effective_mamba_size to {num('effective_slots')}")
        ),
        fields=(Field("slots", "slots"), Field("needed_slots", "slots"), Field("effective_slots", "slots")),
        releases="0.5.11..0.5.23",
        samples=(
            Sample(
                "mamba_size (100) is less than decode side's max_slots_needed (160 = 160 reqs * 1 slots/req), raising "
                "effective_mamba_size to 161",
                "0.5.11..0.5.23",
                {"slots": "100", "needed_slots": "160", "effective_slots": "161"},
            ),
        ),
    ),
    Extractor(
        kind="mlx_limits",
        phase="pools",
        anchors=("Wired memory limit set to", "MLX buffer cache limit set to", "MLX stub: initialized minimal pools"),
        pattern=(
            rf"(?:Wired memory limit set to {fig('wired_gib', GB)}"
            rf"|MLX buffer cache limit set to {fig('cache_gib', GB)}"
            rf"|MLX stub: initialized minimal pools \(max_total_num_tokens={num('tokens')}, "
            rf"max_running_requests={num('requests')})"
        ),
        fields=(
            Field("wired_gib", "gib"),
            Field("cache_gib", "gib"),
            Field("tokens", "tokens"),
            Field("requests", "requests"),
        ),
        releases="0.5.10..0.5.23",
        printed_by="every rank on Apple MLX",
        samples=(
            Sample("Wired memory limit set to 24.0 GB", "0.5.11..0.5.23", {"wired_gib": "24.0"}),
            Sample("MLX buffer cache limit set to 4.0 GB", "0.5.18..0.5.23", {"cache_gib": "4.0"}),
            Sample(
                "MLX stub: initialized minimal pools (max_total_num_tokens=131072, max_running_requests=64, zero GPU "
                "KV cache allocation)",
                "0.5.10..0.5.23",
                {"tokens": "131072", "requests": "64"},
            ),
        ),
    ),
    Extractor(
        kind="mlx_kv_pool",
        phase="pools",
        anchors=("Auto-sized KV pool:", "Auto-sized attention KV pool:", "MlxKVPool:", "MlxAttentionKVPool:"),
        pattern=(
            rf"(?:Auto-sized (?:attention )?KV pool: sys_available={fig('host_free_gib', GB)}, "
            rf"mlx_limit={fig('limit_gib', GB)}, "
            rf"mlx_used={fig('used_gib', GB)}, kv_budget={fig('budget_gib', GB)}, bytes_per_slot={num('slot_bytes')}, "
            rf"pool_size={num('slots')}"
            rf"|Mlx(?:Attention)?KVPool: {num('slots')} slots [x×] {num('layers')} layers.*?~{fig('kv_gib', MB)})"
        ),
        fields=(
            Field("host_free_gib", "gib"),
            Field("limit_gib", "gib"),
            Field("used_gib", "gib"),
            Field("budget_gib", "gib"),
            Field("slot_bytes", "bytes"),
            Field("slots", "slots"),
            Field("layers", "count"),
            Field("kv_gib", "mib"),
        ),
        releases="0.5.11..0.5.23",
        printed_by="every rank on Apple MLX",
        samples=(
            Sample(
                "Auto-sized KV pool: sys_available=20.00 GB, mlx_limit=24.0 GB, mlx_used=4.00 GB, kv_budget=14.00 GB, "
                "bytes_per_slot=114688, pool_size=131072",
                "0.5.11..0.5.12.post1",
                {
                    "host_free_gib": "20.00",
                    "limit_gib": "24.0",
                    "used_gib": "4.00",
                    "budget_gib": "14.00",
                    "slot_bytes": "114688",
                    "slots": "131072",
                },
            ),
            Sample(
                "Auto-sized attention KV pool: sys_available=20.00 GB, mlx_limit=24.0 GB, mlx_used=4.00 GB, "
                "kv_budget=14.00 GB, bytes_per_slot=114688, pool_size=131072",
                "0.5.13..0.5.23",
                {
                    "host_free_gib": "20.00",
                    "limit_gib": "24.0",
                    "used_gib": "4.00",
                    "budget_gib": "14.00",
                    "slot_bytes": "114688",
                    "slots": "131072",
                },
            ),
            Sample(
                "MlxKVPool: 131072 slots × 32 layers × 8 heads × 128 dim, dtype=mlx.core.bfloat16, ~16384.0 MB",
                "0.5.11..0.5.12.post1",
                {"slots": "131072", "layers": "32", "kv_gib": "16384.0"},
            ),
            Sample(
                "MlxAttentionKVPool: 131072 slots x 32 layers x 8 heads x 128 dim, dtype=mlx.core.bfloat16, ~16384.0 "
                "MB",
                "0.5.13..0.5.23",
                {"slots": "131072", "layers": "32", "kv_gib": "16384.0"},
            ),
        ),
    ),
)
