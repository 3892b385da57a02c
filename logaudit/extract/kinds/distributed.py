"""Kinds of lines printed while the process groups and their buffers come up."""

from __future__ import annotations

from logaudit.extract.extractor import Extractor, Field, Sample
from logaudit.extract.patterns import GB, MB, RAISED, clause, fig, num

EXTRACTORS = (
    Extractor(
        kind="dist_init_begin",
        phase="distributed",
        anchors=("Init nccl begin.", "Init torch distributed begin."),
        pattern=r"Init (?P<backend>nccl|torch distributed) begin\.",
        fields=(Field("backend", "text"),),
        releases="0.1.17..0.5.20",
        samples=(
            Sample("[gpu_id=0] Init nccl begin.", "0.1.17..0.2.0", {"backend": "nccl"}),
            Sample("Init nccl begin.", "0.2.15..0.3.0", {"backend": "nccl"}),
            Sample("Init torch distributed begin.", "0.3.6..0.5.20", {"backend": "torch distributed"}),
        ),
    ),
    Extractor(
        kind="dist_init_end",
        phase="distributed",
        anchors=("Init torch distributed ends.",),
        pattern=(
            r"Init torch distributed ends\."
            + clause(rf"elapsed={fig('elapsed_s')} s\b")
            + rf".*?mem usage={fig('used_gib', GB)}"
        ),
        fields=(Field("elapsed_s", "s"), Field("used_gib", "gib")),
        releases="0.4.3.post3..0.5.20",
        samples=(
            Sample("Init torch distributed ends. mem usage=0.83 GB", "0.4.3.post3..0.5.8.post1", {"used_gib": "0.83"}),
            Sample(
                "Init torch distributed ends. elapsed=1.52 s, mem usage=1.17 GB",
                "0.5.9..0.5.20",
                {"elapsed_s": "1.52", "used_gib": "1.17"},
            ),
        ),
    ),
    Extractor(
        kind="parallel_init_begin",
        phase="distributed",
        anchors=("Init parallel begin.",),
        pattern=r"Init parallel begin\.",
        fields=(),
        releases="0.5.21..0.5.23",
        samples=(Sample("Init parallel begin.", "0.5.21..0.5.23"),),
    ),
    Extractor(
        kind="parallel_init_end",
        phase="distributed",
        anchors=("Init parallel ends.",),
        pattern=rf"Init parallel ends\. elapsed={fig('elapsed_s')} s\b",
        fields=(Field("elapsed_s", "s"),),
        releases="0.5.21..0.5.23",
        note="Carries no memory figure any more.",
        samples=(Sample("Init parallel ends. elapsed=1.62 s", "0.5.21..0.5.23", {"elapsed_s": "1.62"}),),
    ),
    Extractor(
        kind="mem_baseline",
        phase="distributed",
        anchors=("Memory baseline taken.",),
        pattern=rf"Memory baseline taken\. mem usage={fig('used_gib', GB)}",
        fields=(Field("used_gib", "gib"),),
        releases="0.5.21..0.5.23",
        note="Measured after the process groups exist, so it is not their cost.",
        samples=(Sample("Memory baseline taken. mem usage=0.00 GB", "0.5.21..0.5.23", {"used_gib": "0.00"}),),
    ),
    Extractor(
        kind="mem_unbalanced",
        phase="distributed",
        anchors=("The memory capacity is unbalanced.", "local_gpu_memory * 0.9="),
        pattern=(
            rf"{RAISED}(?:The memory capacity is unbalanced\. Some GPUs may be occupied by other processes\.\s*)?"
            rf"(?:(?:min_per_gpu_memory|pre_model_load_memory)={fig('least_gib')}, "
            rf"local_gpu_memory={fig('local_gib')}, "
            rf"local_gpu_memory \* 0\.9={fig('threshold_gib')}|(?<=processes\.\s*))"
        ),
        fields=(Field("least_gib", "gib"), Field("local_gib", "gib"), Field("threshold_gib", "gib")),
        releases="0.1.17..0.5.23",
        printed_by="every rank that fails",
        note=(
            "Unrounded figures. ValueError to 0.5.6, RuntimeError since; a mere warning when the check is switched off."
        ),
        samples=(
            Sample(
                "The memory capacity is unbalanced. Some GPUs may be occupied by other processes.",
                "0.1.17..0.4.3.post4",
            ),
            Sample(
                "ValueError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes. "
                "min_per_gpu_memory=45.123046875, local_gpu_memory=78.5791015625, local_gpu_memory * "
                "0.9=70.72119140625",
                "0.4.3.post1..0.5.9",
                {"least_gib": "45.123046875", "local_gib": "78.5791015625", "threshold_gib": "70.72119140625"},
            ),
            Sample(
                "The memory capacity is unbalanced. Some GPUs may be occupied by other processes. "
                "pre_model_load_memory=45.123046875, local_gpu_memory=78.5791015625, "
                "local_gpu_memory * 0.9=70.72119140625",
                "0.5.10..0.5.23",
                {"least_gib": "45.123046875", "local_gib": "78.5791015625", "threshold_gib": "70.72119140625"},
            ),
            Sample(
                "pre_model_load_memory=45.123046875, local_gpu_memory=78.5791015625, local_gpu_memory * "
                "0.9=70.72119140625",
                "0.5.10..0.5.23",
                {"least_gib": "45.123046875", "local_gib": "78.5791015625", "threshold_gib": "70.72119140625"},
            ),
        ),
    ),
    Extractor(
        kind="symm_mem_prealloc",
        phase="distributed",
        anchors=("symmetric memory pool with", "symmetric memory prealloc size"),
        pattern=(
            rf"(?:Pre-allocating symmetric memory pool with {fig('pool_gib', GB)}"
            rf"|Symmetric memory is enabled, setting symmetric memory prealloc size to {fig('pool_gib')}GB)"
        ),
        fields=(Field("pool_gib", "gib"),),
        releases="0.5.9..0.5.23",
        samples=(
            Sample("Pre-allocating symmetric memory pool with 4 GiB", "0.5.9..0.5.23", {"pool_gib": "4"}),
            Sample(
                "Symmetric memory is enabled, setting symmetric memory prealloc size to 4GB as default.Use environment "
                "variable SGLANG_SYMM_MEM_PREALLOC_GB_SIZE to change the prealloc size.",
                "0.5.9..0.5.23",
                {"pool_gib": "4"},
            ),
        ),
    ),
    Extractor(
        kind="custom_ar_buffers",
        phase="distributed",
        anchors=("All Reduce config: symmetric_memory",),
        pattern=(
            rf"All Reduce config: symmetric_memory = {fig('symmetric_gib', MB)}, local_buffer = "
            rf"{fig('local_gib', MB)}, "
            r"multicast = (?P<multicast>\w+)(?:, pull = (?P<pull>\w+))?"
        ),
        fields=(
            Field("symmetric_gib", "mib"),
            Field("local_gib", "mib"),
            Field("multicast", "text"),
            Field("pull", "text"),
        ),
        releases="0.5.16..0.5.23",
        samples=(
            Sample(
                "All Reduce config: symmetric_memory = 64.00 MB, local_buffer = 0.50 MB, multicast = True",
                "0.5.16..0.5.18",
                {"symmetric_gib": "64.00", "local_gib": "0.50", "multicast": "True"},
            ),
            Sample(
                "All Reduce config: symmetric_memory = 64.00 MB, local_buffer = 0.50 MB, multicast = True, pull = "
                "False",
                "0.5.19..0.5.23",
                {"symmetric_gib": "64.00", "local_gib": "0.50", "multicast": "True", "pull": "False"},
            ),
        ),
    ),
    Extractor(
        kind="comm_buffer",
        phase="distributed",
        anchors=("K3 symm buffer ", "NVLink vocab gather: pull output", "gva space."),
        pattern=(
            rf"(?:K3 symm buffer (?P<name>[^:]*): {num('rows')} rows x \d+, {fig('buffer_gib', MB)}"
            rf"|NVLink (?P<name>vocab gather): pull output [^\n]*?\({fig('buffer_gib', MB)}\)"
            rf"|\[(?P<name>ZBAL)\] rank {num('rank')} allocated {fig('buffer_gib', MB)} gva space)"
        ),
        fields=(
            Field("name", "text"),
            Field("rows", "count"),
            Field("rank", "count"),
            Field("buffer_gib", "mib"),
        ),
        releases="0.5.12..0.5.23",
        note="Device memory for one kind of collective. ZBAL maps what the other processes of an NPU left free.",
        samples=(
            Sample(
                "K3 symm buffer attn: 8192 rows x 7168, 112.0 MB (rendezvoused once on first use; no per-forward "
                "symmetric allocation)",
                "0.5.17..0.5.23",
                {"name": "attn", "rows": "8192", "buffer_gib": "112.0"},
            ),
            Sample(
                "NVLink vocab gather: pull output (256, 151936) (74 MB)",
                "0.5.21..0.5.23",
                {"name": "vocab gather", "buffer_gib": "74"},
            ),
            Sample(
                "[ZBAL] rank 0 allocated 51200 MB gva space.",
                "0.5.12..0.5.23",
                {"name": "ZBAL", "rank": "0", "buffer_gib": "51200"},
            ),
        ),
    ),
    Extractor(
        kind="cpu_mem_undetermined",
        phase="distributed",
        anchors=("memory amount of each rank cannot be determined", "memory amounts of the ranks cannot be determined"),
        pattern=(
            rf"(?:TP size \({num('tp')}\)\s?is larger than numa node number \({num('numa_nodes')}\), in this case "
            r"the available memory amount of each rank cannot be determined"
            r"|SGLANG_CPU_OMP_THREADS_BIND is set .*memory amounts of the ranks cannot be determined)"
        ),
        fields=(Field("tp", "count"), Field("numa_nodes", "count")),
        releases="0.5.2..0.5.23",
        note="On a CPU: the budget of a rank is not its own memory, so only --max-total-tokens bounds the pool.",
        samples=(
            Sample(
                "TP size (4)is larger than numa node number (2), in this case the available memory amount of each rank "
                "cannot be determined in prior. Please set proper `--max-total-tokens` to avoid the out-of-memory "
                "error.",
                "0.5.2..0.5.18",
                {"tp": "4", "numa_nodes": "2"},
            ),
            Sample(
                "SGLANG_CPU_OMP_THREADS_BIND is set for explicit control of CPU cores for each TP rank.Please beware "
                "that in this case the available memory amounts of the ranks cannot be determined in prior.You need to "
                "set proper --max-total-tokens to avoid the out-of-memory error.",
                "0.5.23",
            ),
        ),
    ),
    Extractor(
        kind="eplb_prewarm",
        phase="distributed",
        anchors=("EPLB default-group P2P warmup completed",),
        pattern=(
            rf"EPLB default-group P2P warmup completed in {fig('elapsed_s')}s "
            rf"\(world_size={num('world_size')}, free memory delta={fig('used_gib', MB)}\)"
        ),
        fields=(Field("elapsed_s", "s"), Field("world_size", "count"), Field("used_gib", "mib")),
        releases="0.5.22..0.5.23",
        samples=(
            Sample(
                "EPLB default-group P2P warmup completed in 1.234s (world_size=8, free memory delta=210.00 MiB)",
                "0.5.22..0.5.23",
                {"elapsed_s": "1.234", "world_size": "8", "used_gib": "210.00"},
            ),
        ),
    ),
)
