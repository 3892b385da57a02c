"""Kinds of lines printed while a model's weights are loaded."""

from __future__ import annotations

from logaudit.extract.extractor import Extractor, Field, Sample
from logaudit.extract.patterns import GB, MB, NUMBER, clause, fig, num

EXTRACTORS = (
    Extractor(
        kind="load_weight_begin",
        phase="weights",
        anchors=("Load weight begin.",),
        pattern=rf"Load weight begin\.(?: avail mem={fig('avail_gib', GB)}|\s*$)",
        fields=(Field("avail_gib", "gib"),),
        releases="0.1.17..0.5.23",
        printed_by="every rank, again for every draft runner",
        samples=(
            Sample("[gpu_id=0] Load weight begin. avail mem=78.57 GB", "0.1.17..0.2.0", {"avail_gib": "78.57"}),
            Sample("Load weight begin. avail mem=78.57 GB", "0.2.15..0.5.23", {"avail_gib": "78.57"}),
        ),
    ),
    Extractor(
        kind="load_weight_end",
        phase="weights",
        anchors=("Load weight end",),
        pattern=(
            r"Load weight end(?:\.| ?…| \.\.\.)(?! Committed)"
            + clause(rf"\belapsed={fig('elapsed_s')} s\b")
            + clause(r"\b[Tt]ype=(?P<model_type>[\w\[\]<>]+)")
            + clause(r"\bdtype=(?P<dtype>[\w.]+)")
            + clause(r"\b(?P<quant>quant=[^,]+(?:, (?:bits|quant_algo|fmt|requantization_method)=[^,]*)*),")
            + clause(rf"\bmem usage={fig('used_gib', GB)}")
            + rf".*?\b[Aa]vail mem={fig('avail_gib', GB)}"
        ),
        fields=(
            Field("elapsed_s", "s"),
            Field("model_type", "text"),
            Field("dtype", "text"),
            Field("quant", "text"),
            Field("avail_gib", "gib"),
            Field("used_gib", "gib"),
        ),
        releases="0.1.17..0.5.23",
        printed_by="every rank, again for every draft runner",
        samples=(
            Sample(
                "[gpu_id=0] Load weight end. type=LlamaForCausalLM, avail mem=63.51 GB",
                "0.1.17",
                {"model_type": "LlamaForCausalLM", "avail_gib": "63.51"},
            ),
            Sample(
                "[rank=0] Load weight end. Type=LlamaForCausalLM. Avail mem=63.51 GB",
                "0.1.17",
                {"model_type": "LlamaForCausalLM", "avail_gib": "63.51"},
            ),
            Sample(
                "[gpu_id=0] Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=63.51 GB",
                "0.2.0",
                {"model_type": "LlamaForCausalLM", "dtype": "torch.bfloat16", "avail_gib": "63.51"},
            ),
            Sample(
                "Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=63.51 GB",
                "0.2.15..0.4.3.post2",
                {"model_type": "LlamaForCausalLM", "dtype": "torch.bfloat16", "avail_gib": "63.51"},
            ),
            Sample(
                "Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=63.51 GB, mem usage=15.06 GB.",
                "0.4.3.post3..0.5.8.post1",
                {
                    "model_type": "LlamaForCausalLM",
                    "dtype": "torch.bfloat16",
                    "avail_gib": "63.51",
                    "used_gib": "15.06",
                },
            ),
            Sample(
                "Load weight end. elapsed=4.32 s, type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=63.51 GB, "
                "mem usage=15.06 GB.",
                "0.5.9",
                {
                    "elapsed_s": "4.32",
                    "model_type": "LlamaForCausalLM",
                    "dtype": "torch.bfloat16",
                    "avail_gib": "63.51",
                    "used_gib": "15.06",
                },
            ),
            Sample(
                "Load weight end. elapsed=4.32 s, type=LlamaForCausalLM, avail mem=63.51 GB, mem usage=15.06 GB.",
                "0.5.10..0.5.23",
                {
                    "elapsed_s": "4.32",
                    "model_type": "LlamaForCausalLM",
                    "avail_gib": "63.51",
                    "used_gib": "15.06",
                },
            ),
            Sample(
                "Load weight end ... avail mem=63.51 GB, mem usage=15.06 GB.",
                "",
                {"avail_gib": "63.51", "used_gib": "15.06"},
            ),
            Sample(
                "Load weight end. elapsed=84.10 s, type=DeepseekV3ForCausalLM, quant=fp8, fmt=e4m3, "
                "avail mem=52.96 GB, mem usage=84.92 GB.",
                "0.5.10..0.5.23",
                {
                    "elapsed_s": "84.10",
                    "model_type": "DeepseekV3ForCausalLM",
                    "quant": "quant=fp8, fmt=e4m3",
                    "avail_gib": "52.96",
                    "used_gib": "84.92",
                },
            ),
            Sample(
                "Load weight end. elapsed=84.10 s, type=Qwen3ForCausalLM, quant=modelopt, quant_algo=NVFP4, "
                "avail mem=52.96 GB, mem usage=4.92 GB.",
                "0.5.10..0.5.23",
                {
                    "elapsed_s": "84.10",
                    "model_type": "Qwen3ForCausalLM",
                    "quant": "quant=modelopt, quant_algo=NVFP4",
                    "avail_gib": "52.96",
                    "used_gib": "4.92",
                },
            ),
        ),
    ),
    Extractor(
        kind="load_weight_commit",
        phase="weights",
        anchors=("Load weight end. Committed",),
        pattern=(
            rf"Load weight end\. Committed real weights after CUDA graph capture in {fig('elapsed_s')} s\b"
            + clause(rf"startup(?: overlap)? total {fig('total_s')} s")
        ),
        fields=(Field("elapsed_s", "s"), Field("total_s", "s")),
        releases="0.5.18..0.5.23",
        note="Stands in place of load_weight_end with --startup-weight-load-mode=overlap.",
        samples=(
            Sample(
                "Load weight end. Committed real weights after CUDA graph capture in 1.20 s (capture overlap window "
                "9.10 s, startup overlap total 15.00 s)",
                "0.5.18..0.5.23",
                {"elapsed_s": "1.20", "total_s": "15.00"},
            ),
        ),
    ),
    Extractor(
        kind="load_progress",
        phase="weights",
        anchors=("shards:", "% Completed"),
        bulk=True,
        pattern=(
            r"(?P<what>(?:Loading|Multi-thread loading)[\w ()_-]{0,80}?):\s+(?P<percent>\d{1,3})% "
            rf"(?:Completed \| )?\|?.*?{num('done')}/{num('total')} \["
        ),
        fields=(Field("what", "text"), Field("percent", "count"), Field("done", "count"), Field("total", "count")),
        releases="0.4.0..0.5.23",
        note="A progress bar on standard error, without SGLang's prefix.",
        samples=(
            Sample(
                "Loading safetensors checkpoint shards:  50% Completed | 2/4 [00:01<00:01,  1.72it/s]",
                "0.4.0..0.5.23",
                {"what": "Loading safetensors checkpoint shards", "percent": "50", "done": "2", "total": "4"},
            ),
            Sample(
                "Multi-thread loading shards:  50% Completed | 2/4 [00:01<00:01,  1.72it/s]",
                "0.4.8.post1..0.5.23",
                {"what": "Multi-thread loading shards", "percent": "50", "done": "2", "total": "4"},
            ),
        ),
    ),
    Extractor(
        kind="load_peak_debug",
        phase="weights",
        anchors=("Peak GPU memory before loading weights", "Memory increase during load_weights"),
        pattern=(
            r"(?P<what>Peak GPU memory before loading weights|Memory increase during load_weights): "
            + fig("used_gib", GB)
        ),
        fields=(Field("what", "text"), Field("used_gib", "gib")),
        releases="0.5.12.post1..0.5.23",
        printed_by="every rank, at debug level",
        samples=(
            Sample(
                "Peak GPU memory before loading weights: 15.056 GiB",
                "0.5.12.post1..0.5.23",
                {"what": "Peak GPU memory before loading weights", "used_gib": "15.056"},
            ),
            Sample(
                "Memory increase during load_weights: -0.250 GiB",
                "0.5.12.post1..0.5.23",
                {"what": "Memory increase during load_weights", "used_gib": "-0.250"},
            ),
        ),
    ),
    Extractor(
        kind="weights_quantized",
        phase="weights",
        anchors=("Quantization complete in",),
        pattern=(
            rf"Quantization complete in {fig('elapsed_s')}s\s?\W\s?weight bytes: {fig('before_gib', GB)} -> "
            rf"{fig('after_gib', GB)}"
        ),
        fields=(Field("elapsed_s", "s"), Field("before_gib", "gib"), Field("after_gib", "gib")),
        releases="0.5.12..0.5.23",
        printed_by="every rank on Apple MLX",
        samples=(
            Sample(
                "Quantization complete in 3.20s — weight bytes: 14.96 GB -> 4.21 GB (71.9% reduction)",
                "0.5.12..0.5.23",
                {"elapsed_s": "3.20", "before_gib": "14.96", "after_gib": "4.21"},
            ),
        ),
    ),
    Extractor(
        kind="host_table",
        phase="weights",
        anchors=("PLE table: file-backed mmap", "PLE table: resident", "engram host table ", "engram peer shards "),
        pattern=(
            rf"(?:PLE table: file-backed mmap (?P<name>.*?) \({fig('table_gib', GB)},"
            rf"|PLE table: resident set capped at {fig('cap_gib', GB)}"
            rf"|PLE table: resident-set trim off, .*? creep towards {fig('table_gib', GB)} resident"
            rf"|engram host table (?P<name>\S+): layout=(?P<layout>\w+), {fig('resident_gib', MB)} resident, "
            rf"{fig('huge_gib', MB)} in huge pages"
            rf"|engram peer shards (?P<name>\S+): {num('ranks')} ranks over (?P<layout>[\w ]+), "
            rf"{fig('device_gib', GB)} local)"
        ),
        fields=(
            Field("name", "text"),
            Field("layout", "text"),
            Field("table_gib", "gib"),
            Field("cap_gib", "gib"),
            Field("resident_gib", "mib"),
            Field("huge_gib", "mib"),
            Field("ranks", "count"),
            Field("device_gib", "gib"),
        ),
        releases="0.5.20..0.5.23",
        note="Embedding tables in host memory; `device_gib` is a shard kept on the device instead.",
        samples=(
            Sample(
                "PLE table: file-backed mmap /scratch/ple.bin (96.0 GiB, torch.float8_e4m3fn)",
                "0.5.20..0.5.23",
                {"name": "/scratch/ple.bin", "table_gib": "96.0"},
            ),
            Sample(
                "PLE table: resident set capped at 32.0 GiB, checked every 30 s", "0.5.20..0.5.23", {"cap_gib": "32.0"}
            ),
            Sample(
                "PLE table: resident-set trim off, /proc/self/smaps is not readable; the mapping will creep towards "
                "96.0 GiB resident",
                "0.5.20..0.5.23",
                {"table_gib": "96.0"},
            ),
            Sample(
                "engram host table layers.1: layout=shared, 20480 MiB resident, 20480 MiB in huge pages (100%)",
                "0.5.21..0.5.23",
                {"name": "layers.1", "layout": "shared", "resident_gib": "20480", "huge_gib": "20480"},
            ),
            Sample(
                "engram peer shards layers.1: 8 ranks over FABRIC, 2.50 GiB local, mapped in 0.4 s",
                "0.5.23",
                {"name": "layers.1", "ranks": "8", "layout": "FABRIC", "device_gib": "2.50"},
            ),
        ),
    ),
    Extractor(
        kind="kernel_weights",
        phase="weights",
        anchors=("monokernel ", "NVIDIA megakernel: active"),
        pattern=(
            rf"(?:monokernel (?P<name>\S+) on .*? built in {fig('elapsed_s')} s, {fig('used_gib', MB)}"
            rf"|NVIDIA megakernel: active \((?P<name>[^:;)]*):.*? built in {fig('elapsed_s')} s, {fig('used_gib', MB)})"
        ),
        fields=(Field("name", "text"), Field("elapsed_s", "s"), Field("used_gib", "mib")),
        releases="0.5.23",
        note="A fused kernel's own copies of the weights, on the device.",
        samples=(
            Sample(
                "monokernel qwen3_next on gfx950: widths [1, 2, 4] built in 12.3 s, 2048.5 MiB; wait deadline 30 s (a "
                "failed wait stops every rank with a GPU fault at address 0x0); weight copies: qkv 512.0 MiB",
                "0.5.23",
                {"name": "qwen3_next", "elapsed_s": "12.3", "used_gib": "2048.5"},
            ),
            Sample(
                "NVIDIA megakernel: active (qwen3_next: 48 layers; widths [1, 2]; exact numerics; built in 12.3 s, "
                "2048.5 MiB; wait deadline 30 s)",
                "0.5.23",
                {"name": "qwen3_next", "elapsed_s": "12.3", "used_gib": "2048.5"},
            ),
        ),
    ),
    Extractor(
        kind="calibration_offload",
        phase="weights",
        anchors=("Model does not fit to the GPU mem.",),
        pattern=(
            r"Model does not fit to the GPU mem\. We apply the following memory limit for calibration:\s+"
            r"(?P<limit>\{[^}]*\}|[^{}]*?)\s+If you hit GPU OOM issue, please adjust the memory fraction "
            rf"\(currently (?P<fraction>{NUMBER})\)"
        ),
        fields=(Field("limit", "text"), Field("fraction", "fraction")),
        releases="0.5.3.post1..0.5.23",
        samples=(
            Sample(
                "Model does not fit to the GPU mem. We apply the following memory limit for calibration: \n"
                "{0: 68000000000}\nIf you hit GPU OOM issue, please adjust the memory fraction (currently 0.8) or "
                "reduce the calibration `batch_size` manually.",
                "0.5.3.post1..0.5.23",
                {"limit": "{0: 68000000000}", "fraction": "0.8"},
            ),
        ),
    ),
    Extractor(
        kind="offload_hook",
        phase="weights",
        anchors=("[offloader] ",),
        pattern=r"\[offloader\] (?P<what>offload|post_init)\b"
        + clause(rf"memory_allocated(?:\(\))?={num('allocated_bytes')}"),
        fields=(Field("what", "text"), Field("allocated_bytes", "bytes")),
        releases="0.5.1..0.5.23",
        samples=(
            Sample(
                "[offloader] offload module_index=0 submodule=<class 'LlamaDecoderLayer'> "
                "params=['gate_up_proj.weight'] "
                "memory_allocated=1234567890",
                "0.5.1..0.5.23",
                {"what": "offload", "allocated_bytes": "1234567890"},
            ),
        ),
    ),
)
