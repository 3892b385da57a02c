"""Kinds of lines that the launcher prints before any scheduler runs."""

from __future__ import annotations

from logaudit.extract.extractor import Extractor, Field, Sample
from logaudit.extract.patterns import NUMBER, fig, num, word

EXTRACTORS = (
    Extractor(
        kind="server_args_dump",
        phase="launch",
        anchors=("server_args=",),
        pattern=r"server_args=\s*(?P<form>ServerArgs\(|\{)",
        fields=(Field("form", "text"),),
        releases="0.2.0..0.5.23",
        printed_by="the launcher of every node",
        note=(
            "The values are resolved ones; what a model runner changes later is not in it. Parsed by "
            "sglang.server_args."
        ),
        samples=(
            Sample(
                "server_args=ServerArgs(model_path='meta-llama/Llama-3.1-8B', "
                "tokenizer_path='meta-llama/Llama-3.1-8B', "
                "mem_fraction_static=0.88, tp_size=8)",
                "0.2.0..0.5.18",
                {"form": "ServerArgs("},
            ),
            Sample(
                "server_args={'model_path': 'meta-llama/Llama-3.1-8B', 'tokenizer_path': 'meta-llama/Llama-3.1-8B', "
                "'mem_fraction_static': 0.88, 'tp_size': 8}",
                "0.5.19..0.5.23",
                {"form": "{"},
            ),
        ),
    ),
    Extractor(
        kind="server_args_short",
        phase="launch",
        anchors=("model_path=",),
        pattern=r"(?:ServerArgs\()?(?P<form>model_path=)['\"]",
        fields=(Field("form", "text"),),
        releases="",
        printed_by="people who paste a shortened dump",
        samples=(
            Sample(
                "model_path='meta-llama/Llama-3.1-8B', tp_size=8, mem_fraction_static=0.88, ...",
                "",
                {"form": "model_path="},
            ),
            Sample("ServerArgs(model_path='meta-llama/Llama-3.1-8B', ..., tp_size=8)", "", {"form": "model_path="}),
        ),
    ),
    Extractor(
        kind="launch_command",
        phase="launch",
        anchors=("sglang.launch_server", "sglang serve", "launch_server.py"),
        pattern=(
            r"(?!.*<model>)(?:[^'\"]*[\s/]|)(?:-m sglang\.launch_server|sglang serve|sglang/\S*launch_server\.py)"
            r"\s+(?P<flags>.*?--[a-z].*|[\w./-]+/[\w./-]+)\s*$"
        ),
        fields=(Field("flags", "text"),),
        releases="",
        printed_by="the shell or the person that started the server",
        fallback=True,
        samples=(
            Sample(
                "$ python -m sglang.launch_server --model-path m --tp 8 --mem-fraction-static 0.8",
                "",
                {"flags": "--model-path m --tp 8 --mem-fraction-static 0.8"},
            ),
            Sample("+ exec sglang serve --model-path=m --tp=8", "", {"flags": "--model-path=m --tp=8"}),
        ),
    ),
    Extractor(
        kind="server_args_mode_dump",
        phase="launch",
        anchors=("server_args: enable_flashinfer=",),
        pattern=r"server_args: enable_flashinfer=(?P<enable_flashinfer>\w+)",
        fields=(Field("enable_flashinfer", "text"),),
        releases="0.1.17",
        printed_by="tp_rank 0",
        samples=(
            Sample(
                "[gpu_id=0] server_args: enable_flashinfer=True, attention_reduce_in_fp32=False, "
                "disable_radix_cache=False, disable_regex_jump_forward=False, disable_disk_cache=False, ",
                "0.1.17",
                {"enable_flashinfer": "True"},
            ),
        ),
    ),
    Extractor(
        kind="dp_launch",
        phase="launch",
        anchors=("Launch DP",),
        pattern=rf"Launch DP{num('dp')} starting at GPU #{num('gpu')}\.",
        fields=(Field("dp", "count"), Field("gpu", "count")),
        releases="0.3.6..0.5.23",
        printed_by="the launcher",
        samples=(Sample("Launch DP1 starting at GPU #4.", "0.3.6..0.5.23", {"dp": "1", "gpu": "4"}),),
    ),
    Extractor(
        kind="adjust_chunked_prefill_dp",
        phase="launch",
        anchors=("hunked prefill size is adjusted",),
        pattern=(
            r"DP attention is enabled\. (?:The )?chunked prefill size is adjusted "
            rf"(?:from {num('old_tokens')} )?to {num('tokens')}"
        ),
        fields=(Field("old_tokens", "tokens"), Field("tokens", "tokens")),
        releases="0.3.6..0.5.23",
        printed_by="the launcher",
        samples=(
            Sample(
                "DP attention is enabled. The chunked prefill size is adjusted to 2048 to avoid MoE kernel issues. ",
                "0.3.6..0.5.15.post1",
                {"tokens": "2048"},
            ),
            Sample(
                "DP attention is enabled. chunked prefill size is adjusted from 8192 to 1024.",
                "0.5.16..0.5.23",
                {"old_tokens": "8192", "tokens": "1024"},
            ),
        ),
    ),
    Extractor(
        kind="adjust_mem_fraction",
        phase="launch",
        anchors=("--mem-fraction-static", "mem fraction static"),
        pattern=(
            rf"(?:Automatically reduce --mem-fraction-static to {fig('fraction')} because"
            r"|Automatically turn off --chunked-prefill-size and adjust --mem-fraction-static"
            rf"|Multimodal model: Dynamically adjusted --mem-fraction-static from: {fig('old_fraction')} "
            rf"to: {fig('fraction')}(?=\.?\s|\.?$)"
            rf"|Setting mem fraction static to {fig('fraction')} for )"
        ),
        fields=(Field("old_fraction", "fraction_rounded"), Field("fraction", "fraction_rounded")),
        releases="0.2.15..0.4.0,0.4.2..0.4.8,0.4.9.post6..0.4.10,0.5.3",
        printed_by="the launcher; every rank in 0.2.15..0.4.10",
        note="The forms of 0.2.15..0.4.10 come after the dump, which still shows the value before the adjustment.",
        samples=(
            Sample(
                "Multimodal model: Dynamically adjusted --mem-fraction-static from: 0.880 to: 0.810.",
                "0.4.9.post3..0.4.10.post2",
                {"old_fraction": "0.880", "fraction": "0.810"},
            ),
            Sample("Setting mem fraction static to 0.8 for DeepSeek NSA.", "0.5.3", {"fraction": "0.8"}),
            Sample(
                "Automatically turn off --chunked-prefill-size and adjust --mem-fraction-static for multimodal models.",
                "0.2.15..0.4.0",
            ),
            Sample(
                "Automatically reduce --mem-fraction-static to 0.836 because this is a multimodal model.",
                "0.4.1.post5..0.4.8.post1",
                {"fraction": "0.836"},
            ),
        ),
    ),
    Extractor(
        kind="adjust_page_size",
        phase="launch",
        anchors=(
            "change page_size to",
            "changing page_size from",
            "Setting page size",
            "Setting page_size",
            "setting page_size to",
        ),
        pattern=(
            rf"(?:.*\b(?:change page_size to|changing page_size from (?P<old>\w+) to) {num('page_size')}"
            rf"|Setting page[ _]size(?: to |=){num('page_size')}"
            rf"|Use dsv4 attention backend for (?P<arch>\S+), setting page_size to {num('page_size')})"
        ),
        fields=(Field("page_size", "tokens"), Field("old", "text"), Field("arch", "text")),
        releases="0.4.4.post2..0.5.23",
        printed_by="the launcher",
        samples=(
            Sample(
                "FlashMLA only supports a page_size of 64, change page_size to 64.",
                "0.4.4.post2..0.5.23",
                {"page_size": "64"},
            ),
            Sample(
                "TensorRT-LLM MLA only supports page_size of 32 or 64, changing page_size from 1 to 64.",
                "0.4.10.post1..0.5.23",
                {"page_size": "64", "old": "1"},
            ),
            Sample("Setting page size to 64 for DeepSeek NSA.", "0.5.3..0.5.7", {"page_size": "64"}),
            Sample("Setting page size to 64 for DeepSeek DSA.", "0.5.8..0.5.23", {"page_size": "64"}),
            Sample(
                "Setting page_size=16 for aiter unified attention on Qwen3VLForConditionalGeneration.",
                "0.5.10..0.5.23",
                {"page_size": "16"},
            ),
            Sample(
                "Use dsv4 attention backend for DeepseekV4ForCausalLM, setting page_size to 256.",
                "0.5.12..0.5.23",
                {"page_size": "256", "arch": "DeepseekV4ForCausalLM"},
            ),
        ),
    ),
    Extractor(
        kind="adjust_kv_cache_dtype",
        phase="launch",
        anchors=("Setting KV cache dtype to",),
        pattern=r"Setting KV cache dtype to (?P<dtype>\w+(?:\.\w+)?)(?: for (?P<what>[^.]*))?\.",
        fields=(Field("dtype", "text"), Field("what", "text")),
        releases="0.5.3..0.5.23",
        printed_by="the launcher",
        samples=(
            Sample("Setting KV cache dtype to fp8.", "0.5.3..0.5.4.post1", {"dtype": "fp8"}),
            Sample(
                "Setting KV cache dtype to fp8_e4m3 for DeepSeek NSA.",
                "0.5.4.post2..0.5.7",
                {"dtype": "fp8_e4m3", "what": "DeepSeek NSA"},
            ),
            Sample(
                "Setting KV cache dtype to fp8_e4m3 for DeepSeek DSA on SM10 device.",
                "0.5.8..0.5.23",
                {"dtype": "fp8_e4m3", "what": "DeepSeek DSA on SM10 device"},
            ),
            Sample(
                "Setting KV cache dtype to fp8_e4m3 for DeepseekV4ForCausalLM.",
                "0.5.12..0.5.23",
                {"dtype": "fp8_e4m3", "what": "DeepseekV4ForCausalLM"},
            ),
        ),
    ),
    Extractor(
        kind="adjust_max_running_requests",
        phase="launch",
        anchors=("Max running requests is reset to", "Setting max_running_requests to"),
        pattern=(
            rf"(?:Max running requests is reset to {num('requests')} for speculative decoding\."
            rf"|Setting max_running_requests to {num('requests')} for (?P<what>[^.]*))"
        ),
        fields=(Field("requests", "requests"), Field("what", "text")),
        releases="0.5.4..0.5.23",
        printed_by="the launcher",
        samples=(
            Sample("Max running requests is reset to 48 for speculative decoding.", "0.5.4", {"requests": "48"}),
            Sample(
                "Max running requests is reset to 48 for speculative decoding. You can override this by explicitly "
                "setting --max-running-requests.",
                "0.5.4.post1..0.5.23",
                {"requests": "48"},
            ),
            Sample(
                "Setting max_running_requests to 256 for DeepseekV4ForCausalLM.",
                "0.5.12..0.5.23",
                {"requests": "256", "what": "DeepseekV4ForCausalLM"},
            ),
        ),
    ),
    Extractor(
        kind="adjust_swa_ratio",
        phase="launch",
        anchors=("swa_full_tokens_ratio to",),
        pattern=rf"(?:Setting|Reset) swa_full_tokens_ratio to {fig('ratio')} for {word('arch', '[A-Za-z0-9_]+')}",
        fields=(Field("ratio", "ratio"), Field("arch", "text")),
        releases="0.5.7..0.5.23",
        printed_by="the launcher",
        samples=(
            Sample(
                "Reset swa_full_tokens_ratio to 1.0 for MiMoV2FlashForCausalLM model with hierarchical cache",
                "0.5.7..0.5.23",
                {"ratio": "1.0", "arch": "MiMoV2FlashForCausalLM"},
            ),
            Sample(
                "Setting swa_full_tokens_ratio to 0.1 for DeepseekV4ForCausalLM.",
                "0.5.12..0.5.23",
                {"ratio": "0.1", "arch": "DeepseekV4ForCausalLM"},
            ),
        ),
    ),
    Extractor(
        kind="mm_pool_reserve",
        phase="launch",
        anchors=(
            "for multimodal features",
            "multimodal feature pools reserve",
            "Preallocated ",
            "MmItemMemoryPool size",
        ),
        pattern=(
            rf"(?:Using CUDA (?P<transport>IPC|VMM) for multimodal features.*?reserving up to {fig('reserve_gib')} MiB "
            rf"on base GPU {num('gpu')}"
            rf"|CUDA (?P<transport>IPC|VMM) multimodal feature pools reserve {fig('reserve_gib')} MiB total on GPU "
            rf"{num('gpu')}"
            rf"|Preallocated {fig('reserve_gib')}MB GPU buffer"
            rf"|MmItemMemoryPool size per tokenizer worker: {fig('reserve_gib')} MiB)"
        ),
        fields=(Field("reserve_gib", "mib"), Field("gpu", "count"), Field("transport", "text")),
        releases="0.5.6.post1..0.5.23",
        printed_by="the launcher",
        note="Taken on the base GPU by the launcher or tokenizer processes, outside of the scheduler's own accounting.",
        samples=(
            Sample(
                "Using CUDA IPC for multimodal features: reserving up to 1024 MiB on base GPU 0 across 1 tokenizer "
                "worker(s). This reduces KV cache headroom; a full pool falls back to CPU transport.",
                "0.5.16..0.5.23",
                {"reserve_gib": "1024", "gpu": "0", "transport": "IPC"},
            ),
            Sample(
                "CUDA IPC multimodal feature pools reserve 1024 MiB total on GPU 0 (1024 MiB per tokenizer worker × 1; "
                "configured budget 1024 MiB).",
                "0.5.16..0.5.23",
                {"reserve_gib": "1024", "gpu": "0", "transport": "IPC"},
            ),
            Sample(
                "MmItemMemoryPool size per tokenizer worker: 1024 MiB (budget 1024 MiB / 1 worker(s))",
                "0.5.11..0.5.15.post1",
                {"reserve_gib": "1024"},
            ),
            Sample("Preallocated 512MB GPU buffer", "0.5.6.post1..0.5.23", {"reserve_gib": "512"}),
        ),
    ),
    Extractor(
        kind="gpu_mem_fallback",
        phase="launch",
        anchors=("Reported total GPU memory per device",),
        pattern=(
            r".*Reported total GPU memory per device \(MiB\): (?P<devices>.*), using min: " + fig("total_gib") + " MiB"
        ),
        fields=(Field("total_gib", "mib"), Field("devices", "text")),
        releases="0.5.10..0.5.23",
        printed_by="the launcher",
        samples=(
            Sample(
                "Failed to run nvidia-smi. Falling back to torch.cuda.mem_get_info(). Reported total GPU memory per "
                "device "
                "(MiB): [81079, 81079], using min: 81079 MiB.",
                "0.5.10..0.5.23",
                {"total_gib": "81079", "devices": "[81079, 81079]"},
            ),
        ),
    ),
    Extractor(
        kind="stage_startup",
        phase="launch",
        anchors=("SGLang startup: gpu_id=",),
        pattern=(
            rf"(?P<stage>.{{1,80}}?) SGLang startup: gpu_id={num('gpu')}"
            rf"(?:(?=.*?total_gpu_memory_fraction=(?P<total_fraction>{NUMBER})))?"
            rf"(?:(?=.*?mem_fraction_static=(?P<fraction>{NUMBER})))?"
        ),
        fields=(
            Field("stage", "text"),
            Field("gpu", "count"),
            Field("total_fraction", "fraction"),
            Field("fraction", "fraction"),
        ),
        releases="",
        note="sglang-omni: one engine per stage of a pipeline; the share is of the whole card, not of what was free.",
        samples=(
            Sample(
                "Ming AR SGLang startup: gpu_id=0 tp_rank=0/1 total_gpu_memory_fraction=0.45 disable_cuda_graph=False "
                "cuda_graph_bs=[1, 2] radix_cache=True nccl_port=29500",
                "",
                {"stage": "Ming AR", "gpu": "0", "total_fraction": "0.45"},
            ),
        ),
    ),
)
