"""What lines say about the arguments, where the arguments themselves do not."""

from __future__ import annotations

import pytest

from logaudit.extract import extract_all
from logaudit.extract.extractor import Record
from logaudit.launches import read_launches
from logaudit.launches.model import Launch
from logaudit.reconcile.inputs import page_size, resolved_args
from logaudit.scan.line import Line

COMMAND = "python -m sglang.launch_server --model-path m --tp 2 --page-size 64"
RANK = "Load weight begin. avail mem=78.57 GB"


def launch(*texts: str) -> Launch:
    lines = [Line(number, text, text) for number, text in enumerate((*texts, RANK), start=1)]
    (found,) = read_launches([record for record in extract_all(lines) if isinstance(record, Record)])
    return found


@pytest.mark.parametrize(
    ("line", "size"),
    [
        (
            "Qwen3NextForCausalLM with radix cache requires page_size=1 in the current Mamba scheduling mode "
            "(no_buffer), but got 64. Automatically setting page_size=1.",
            1,
        ),
        ("WARNING: The page size 64 should not be larger than dllm block size 32.Page size now falls back to 32", 32),
        ("MiniMax-M3 on SM100: attention_backend=fa4, page_size=128, moe_runner_backend=deep_gemm.", 128),
        ("MiniMax-M3 on Hopper: attention_backend=fa3, page_size=None (MSA is SM100-only)", 64),
    ],
)
def test_a_line_that_sets_the_page_size_overrules_the_command(line: str, size: int) -> None:
    assert page_size(launch(COMMAND, line)) == size


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        (
            "Disable hybrid SWA memory for Step3p5ForCausalLM model with hierarchical cache",
            "disable_hybrid_swa_memory",
            True,
        ),
        (
            "Disabling radix cache since trtllm_mha does not support page_size = 1, which is required by "
            "MambaRadixCache. Try to use --attention-backend triton if radix cache is necessary.",
            "disable_radix_cache",
            True,
        ),
        (
            "Kimi-K3 DCP with tokenspeed mla backend overrides KV cache dtype: 'auto' -> 'fp8_e4m3'.",
            "kv_cache_dtype",
            "fp8_e4m3",
        ),
        ("Setting KV cache dtype to fp8.", "kv_cache_dtype", "fp8_e4m3"),
        ("Max running requests is reset to 48 for speculative decoding.", "max_running_requests", 48),
        (
            "Rounding --chunked-prefill-size up from 8200 to 8256 (a multiple of page_size = 64) for KV sharding.",
            "chunked_prefill_size",
            8256,
        ),
    ],
)
def test_settings_that_only_a_line_tells(line: str, name: str, value: object) -> None:
    assert resolved_args(launch(COMMAND, line))[name] == value


def test_a_dump_has_the_last_word_on_values() -> None:
    dump = "server_args=ServerArgs(model_path='m', tokenizer_path='m', tp_size=2, kv_cache_dtype='bfloat16')"
    found = launch("Setting KV cache dtype to fp8_e4m3 for DeepSeek DSA on SM10 device.", dump)
    assert resolved_args(found)["kv_cache_dtype"] == "bfloat16"
