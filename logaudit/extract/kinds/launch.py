"""Kinds of lines that the launcher prints before any scheduler runs."""

from __future__ import annotations

from logaudit.extract.extractor import Extractor, Field, Sample
from logaudit.extract.patterns import MB, NUMBER, clause, fig, num, word

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
        anchors=("model_path=", "server_args ...", "server_args …"),
        pattern=(
            r"(?:(?:ServerArgs\()?(?P<form>model_path=)['\"]"
            r"|(?P<form>server_args (?:\.\.\.|…)) [a-z][a-z0-9_]{1,60}=)"
        ),
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
            Sample("server_args ... tp_size=8 ... mem_fraction_static=0.88", "", {"form": "server_args ..."}),
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
        anchors=("hunked prefill size is adjusted", "Rounding --chunked-prefill-size up"),
        pattern=(
            r"(?:DP attention is enabled\. (?:The )?chunked prefill size is adjusted "
            rf"(?:from {num('old_tokens')} )?to {num('tokens')}"
            rf"|Rounding --chunked-prefill-size up from {num('old_tokens')} to {num('tokens')})"
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
            Sample(
                "Rounding --chunked-prefill-size up from 8200 to 8256 (a multiple of page_size = 64) for KV sharding.",
                "0.5.22..0.5.23",
                {"old_tokens": "8200", "tokens": "8256"},
            ),
        ),
    ),
    Extractor(
        kind="adjust_mem_fraction",
        phase="launch",
        anchors=("--mem-fraction-static", "mem fraction static"),
        pattern=(
            rf"(?:Automatically reduce --mem-fraction-static to {fig('fraction')} "
            r"(?:and turn off chunked prefill )?because"
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
                "Automatically reduce --mem-fraction-static to 0.836 and turn off chunked prefill because this is a "
                "multimodal model.",
                "0.4.0.post1",
                {"fraction": "0.836"},
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
            "setting page_size=",
            "Page size now falls back to",
            "MiniMax-M3 on ",
        ),
        pattern=(
            rf"(?:.*\b(?:change page_size to|changing page_size from (?P<old>\w+) to) {num('page_size')}"
            rf"|Setting page[ _]size(?: to |=){num('page_size')}"
            rf"|Use dsv4 attention backend for (?P<arch>\S+), setting page_size to {num('page_size')}"
            r"|(?P<arch>\S+) with radix cache requires page_size=1 in the current Mamba scheduling mode \([^)]*\), "
            rf"but got (?P<old>\w+)\. Automatically setting page_size={num('page_size')}"
            rf"|(?:WARNING: )?The page size (?P<old>\w+) should not be larger than dllm block size \w+\.\s?"
            rf"Page size now falls back to {num('page_size')}"
            rf"|MiniMax-M3 on (?:SM100|Hopper): attention_backend=[^,]*, page_size=(?:None|{num('page_size')}))"
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
            Sample(
                "Qwen3NextForCausalLM with radix cache requires page_size=1 in the current Mamba scheduling mode "
                "(no_buffer), but got 64. Automatically setting page_size=1.",
                "0.5.11..0.5.13.post1",
                {"page_size": "1", "old": "64", "arch": "Qwen3NextForCausalLM"},
            ),
            Sample(
                "WARNING: The page size 64 should not be larger than dllm block size 32.Page size now falls back to 32",
                "0.5.10..0.5.23",
                {"page_size": "32", "old": "64"},
            ),
            Sample(
                "MiniMax-M3 on SM100: attention_backend=fa4, page_size=128, moe_runner_backend=deep_gemm.",
                "0.5.16..0.5.23",
                {"page_size": "128"},
            ),
            Sample(
                "MiniMax-M3 on Hopper: attention_backend=fa3, page_size=128 (MSA is SM100-only; sparse attention runs "
                "on the Triton path).",
                "0.5.16..0.5.23",
                {"page_size": "128"},
            ),
        ),
    ),
    Extractor(
        kind="adjust_kv_cache_dtype",
        phase="launch",
        anchors=("Setting KV cache dtype to", "overrides KV cache dtype:"),
        pattern=(
            r"(?:Setting KV cache dtype to (?P<dtype>\w+(?:\.\w+)?)(?: for (?P<what>[^.]*))?\."
            r"|(?P<what>.{1,80}?) overrides KV cache dtype: '?[\w.]*'? -> '?(?P<dtype>\w+)'?)"
        ),
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
            Sample(
                "Kimi-K3 DCP with tokenspeed mla backend overrides KV cache dtype: 'auto' -> 'fp8_e4m3'.",
                "0.5.17..0.5.22",
                {"dtype": "fp8_e4m3", "what": "Kimi-K3 DCP with tokenspeed mla backend"},
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
            "MiB CUDA IPC pool on GPU",
        ),
        pattern=(
            rf"(?:Using CUDA (?P<transport>IPC|VMM) for multimodal features.*?reserving up to {fig('reserve_gib')} MiB "
            rf"on base GPU {num('gpu')}"
            rf"|CUDA (?P<transport>IPC|VMM) multimodal feature pools reserve {fig('reserve_gib')} MiB total on GPU "
            rf"{num('gpu')}"
            rf"|Preallocated {fig('reserve_gib')}MB GPU buffer"
            rf"|MmItemMemoryPool size per tokenizer worker: {fig('reserve_gib')} MiB"
            rf"|Creating a {fig('reserve_gib')} MiB CUDA (?P<transport>IPC) pool on GPU {num('gpu')} for)"
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
            Sample(
                "Creating a 1024 MiB CUDA IPC pool on GPU 0 for GPU-resident embedding overrides "
                "(SGLANG_MM_FEATURE_CACHE_MB).",
                "0.5.22..0.5.23",
                {"reserve_gib": "1024", "gpu": "0", "transport": "IPC"},
            ),
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
        kind="hybrid_swa_disabled",
        phase="launch",
        anchors=("hybrid SWA memory for",),
        pattern=(
            r"Disabl(?:e|ing) hybrid SWA memory for (?P<arch>[\w-]+)"
            r"(?: as (?P<reason>it is not yet supported)| model with (?P<reason>[^.]*\w))"
        ),
        fields=(Field("arch", "text"), Field("reason", "text")),
        releases="0.5.1..0.5.23",
        printed_by="the launcher",
        note="The window layers keep the whole context from here on: one pool of full size for all layers.",
        samples=(
            Sample(
                "Disable hybrid SWA memory for Gemma3ForConditionalGeneration as it is not yet supported.",
                "0.5.1..0.5.18",
                {"arch": "Gemma3ForConditionalGeneration", "reason": "it is not yet supported"},
            ),
            Sample(
                "Disabling hybrid SWA memory for Olmo2ForCausalLM as it is not yet supported.",
                "0.5.4..0.5.18",
                {"arch": "Olmo2ForCausalLM", "reason": "it is not yet supported"},
            ),
            Sample(
                "Disable hybrid SWA memory for GPT-OSS model with trtllm_mha attention backend.",
                "0.5.8..0.5.9",
                {"arch": "GPT-OSS", "reason": "trtllm_mha attention backend"},
            ),
            Sample(
                "Disable hybrid SWA memory for GPT-OSS model with speculative decoding.",
                "0.5.8..0.5.8.post1",
                {"arch": "GPT-OSS", "reason": "speculative decoding"},
            ),
            Sample(
                "Disable hybrid SWA memory for MiMoV2FlashForCausalLM model with hierarchical cache",
                "0.5.7..0.5.10.post1",
                {"arch": "MiMoV2FlashForCausalLM", "reason": "hierarchical cache"},
            ),
            Sample(
                "Disable hybrid SWA memory for MiMoV2 model with hierarchical cache",
                "0.5.11..0.5.13.post1",
                {"arch": "MiMoV2", "reason": "hierarchical cache"},
            ),
            Sample(
                "Disable hybrid SWA memory for Step3p5ForCausalLM model with hierarchical cache",
                "0.5.9..0.5.23",
                {"arch": "Step3p5ForCausalLM", "reason": "hierarchical cache"},
            ),
        ),
    ),
    Extractor(
        kind="radix_cache_disabled",
        phase="launch",
        anchors=("Disabling radix cache since", "--disable-radix-cache, and --disable-cuda-graph"),
        pattern=(
            r"(?:Disabling radix cache since (?P<reason>[^,.]*)"
            r"|(?P<reason>HRM-Text \(prefix_lm\)) detected: forcing .*--disable-radix-cache)"
        ),
        fields=(Field("reason", "text"),),
        releases="0.5.6.post1..0.5.23",
        printed_by="the launcher",
        note="A hybrid model then sizes its state pool by one slot per request.",
        samples=(
            Sample(
                "Disabling radix cache since trtllm_mha does not support page_size = 1, which is required by "
                "MambaRadixCache. Try to use --attention-backend triton if radix cache is necessary.",
                "0.5.6.post1..0.5.13.post1",
                {"reason": "trtllm_mha does not support page_size = 1"},
            ),
            Sample(
                "Disabling radix cache since speculative decoding for NemotronHForCausalLM is not supported with radix "
                "cache yet.",
                "0.5.8..0.5.9",
                {"reason": "speculative decoding for NemotronHForCausalLM is not supported with radix cache yet"},
            ),
            Sample(
                "HRM-Text (prefix_lm) detected: forcing --attention-backend triton, --chunked-prefill-size -1, "
                "--disable-radix-cache, and --disable-cuda-graph for correctness of the bidirectional prompt "
                "attention.",
                "0.5.15..0.5.23",
                {"reason": "HRM-Text (prefix_lm)"},
            ),
        ),
    ),
    Extractor(
        kind="context_parallel_opt",
        phase="launch",
        anchors=("Context Parallel opt",),
        pattern=(
            rf"Enable (?:DSA )?Context Parallel opt[^,]*, ?Setting (?:attn_)?dp_size == {num('dp')}"
            + clause(rf"\battn_cp_size == {num('attn_cp')}")
            + clause(rf"\bep_size == {num('ep')}")
            + clause(rf"\btp_size == {num('tp')}")
            + clause(r"\bkv_cache_dtype == (?P<dtype>\w+)")
        ),
        fields=(
            Field("dp", "count"),
            Field("attn_cp", "count"),
            Field("ep", "count"),
            Field("tp", "count"),
            Field("dtype", "text"),
        ),
        releases="0.5.6..0.5.23",
        printed_by="the launcher",
        samples=(
            Sample(
                "Enable Context Parallel opt for deeeseekv3.2-DSA, Setting dp_size == 1 and moe_dense_tp_size == 1, "
                "ep_size == 8, tp_size == 8, kv_cache_dtype == bfloat16, moe_a2a_backend deepep ",
                "0.5.6..0.5.12.post1",
                {"dp": "1", "ep": "8", "tp": "8", "dtype": "bfloat16"},
            ),
            Sample(
                "Enable DSA Context Parallel opt, Setting dp_size == 1 and moe_dense_tp_size == 1, ep_size == 8, "
                "tp_size == 8, kv_cache_dtype == bfloat16, moe_a2a_backend deepep, disable_piecewise_cuda_graph=True",
                "0.5.13..0.5.13.post1",
                {"dp": "1", "ep": "8", "tp": "8", "dtype": "bfloat16"},
            ),
            Sample(
                "Enable Context Parallel opt for MLA, Setting dp_size == 1 and attn_cp_size == 8, "
                "moe_dense_tp_size == 1, ep_size == 8, tp_size == 8, moe_a2a_backend deepep, "
                "disable_piecewise_cuda_graph=True",
                "0.5.13..0.5.13.post1",
                {"dp": "1", "attn_cp": "8", "ep": "8", "tp": "8"},
            ),
            Sample(
                "Enable Context Parallel opt for MLA, Setting dp_size == 1 and attn_cp_size == 8, "
                "moe_dense_tp_size == 1, ep_size == 8, tp_size == 8, moe_a2a_backend deepep, "
                "cuda_graph_config[prefill].backend=disabled",
                "0.5.14..0.5.21",
                {"dp": "1", "attn_cp": "8", "ep": "8", "tp": "8"},
            ),
            Sample(
                "Enable Context Parallel opt for MLA, Setting attn_dp_size == 1 and attn_cp_size == 8, "
                "moe_dense_tp_size == 1, ep_size == 8, tp_size == 8, moe_a2a_backend deepep, "
                "cuda_graph_config[prefill].backend=disabled",
                "0.5.22..0.5.23",
                {"dp": "1", "attn_cp": "8", "ep": "8", "tp": "8"},
            ),
        ),
    ),
    Extractor(
        kind="adjust_graph_sizes",
        phase="launch",
        anchors=("Expanding multimodal decode CUDA graph max_bs", "Page-aligning prefill CUDA graph max context"),
        pattern=(
            rf"(?:Expanding multimodal (?P<what>decode CUDA graph max_bs) from {num('old')} to "
            rf"max_running_requests={num('new')}"
            rf"|Page-aligning (?P<what>prefill CUDA graph max context size) {num('old')} -> {num('new')})"
        ),
        fields=(Field("what", "text"), Field("old", "count"), Field("new", "count")),
        releases="0.5.20..0.5.23",
        printed_by="the launcher",
        samples=(
            Sample(
                "Expanding multimodal decode CUDA graph max_bs from 32 to max_running_requests=64.",
                "0.5.20..0.5.23",
                {"what": "decode CUDA graph max_bs", "old": "32", "new": "64"},
            ),
            Sample(
                "Page-aligning prefill CUDA graph max context size 8200 -> 8256 (page_size=64).",
                "0.5.21..0.5.23",
                {"what": "prefill CUDA graph max context size", "old": "8200", "new": "8256"},
            ),
        ),
    ),
    Extractor(
        kind="mm_preprocess_cache",
        phase="launch",
        anchors=("Multimodal preprocess cache enabled for",),
        pattern=(
            rf"Multimodal preprocess cache enabled for (?P<processor>\w+): {fig('total_gib', MB)} total "
            rf"\({fig('worker_gib', MB)} per tokenizer worker\)"
        ),
        fields=(Field("processor", "text"), Field("total_gib", "mib"), Field("worker_gib", "mib")),
        releases="0.5.18..0.5.23",
        printed_by="the launcher",
        note="Host memory, used as it fills.",
        samples=(
            Sample(
                "Multimodal preprocess cache enabled for QwenVLImageProcessor: 1024 MiB total (512 MiB per tokenizer "
                "worker), at most 8192 entries; caller content hashes are verified.",
                "0.5.18..0.5.23",
                {"processor": "QwenVLImageProcessor", "total_gib": "1024", "worker_gib": "512"},
            ),
        ),
    ),
    Extractor(
        kind="shm_cleanup",
        phase="launch",
        anchors=("cleanup_stale_shm: removed",),
        pattern=rf"cleanup_stale_shm: removed {num('segments')} stale segment\(s\), freed {fig('freed_gib', MB)}",
        fields=(Field("segments", "count"), Field("freed_gib", "mib")),
        releases="0.5.14..0.5.23",
        printed_by="the launcher",
        note="What starts that died left in /dev/shm.",
        samples=(
            Sample(
                "cleanup_stale_shm: removed 3 stale segment(s), freed 512.0 MiB",
                "0.5.14..0.5.23",
                {"segments": "3", "freed_gib": "512.0"},
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
