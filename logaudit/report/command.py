"""A launch command to copy: the log's own arguments, with only what the findings change, and without secrets."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence

from packaging.version import Version

from logaudit.reconcile.case import Case, Found
from logaudit.report.secret_names import holds_nothing, is_number, strength
from logaudit.report.secrets import TooSlow, spans
from logaudit.sglang.versions import defaults

PROGRAM = ("python", "-m", "sglang.launch_server")

DERIVED = frozenset(
    {
        "boundary_reduction",
        "cuda_graph_bs",
        "cuda_graph_config",
        "custom_weight_loader",
        "dcp_comm_backend",
        "deepep_mode",
        "device",
        "dsa_decode_backend",
        "dsa_prefill_backend",
        "dsv4_attn_backend",
        "enable_flashinfer_allreduce_fusion",
        "enable_tf32_matmul",
        "enable_tp_lm_head_all_to_all",
        "encoder_transfer_backend",
        "ep_dispatch_algorithm",
        "expert_distribution_recorder_buffer_size",
        "flashinfer_allreduce_fusion_backend",
        "grammar_backend",
        "grpc_worker_threads",
        "hicache_host_memory_mode",
        "kt_amx_method",
        "kt_method",
        "kt_threadpool_count",
        "load_balance_method",
        "max_queued_requests",
        "mm_enable_dp_encoder",
        "mm_feature_transport",
        "mm_process_config",
        "moe_runner_backend",
        "nsa_decode_backend",
        "nsa_prefill_backend",
        "piecewise_cuda_graph_max_tokens",
        "piecewise_cuda_graph_tokens",
        "pre_warm_nccl",
        "prefill_decode_interval",
        "random_seed",
        "sampling_backend",
        "speculative_draft_model_revision",
        "speculative_moe_runner_backend",
        "use_mla_backend",
        "uses_mamba_radix_cache",
        "uvicorn_access_log_exclude_prefixes",
    }
)
"""Arguments that SGLang fills in by itself in its dump: it will do so again."""

DERIVED_PREFIXES = ("_", "watermark_")

USUAL: Mapping[str, frozenset[object]] = {
    "chunked_prefill_size": frozenset({2048, 4096, 8192, 16384}),
    "cuda_graph_max_bs": frozenset({8, 16, 24, 32, 48, 80, 160, 256, 512}),
    "hicache_ratio": frozenset({2.0}),
    "mamba_full_memory_ratio": frozenset({0.9}),
    "mamba_scheduler_strategy": frozenset({"no_buffer"}),
    "mamba_radix_cache_strategy": frozenset({"extra_buffer", "no_buffer"}),
    "page_size": frozenset({1}),
    "swa_full_tokens_ratio": frozenset({0.8}),
}
"""Values that SGLang chooses where none is given: left to it."""

FLAG_FIRST = ("model_path", "tp_size", "pp_size", "dp_size")
"""What the command names first."""


def corrected_command(case: Case, found: Sequence[Found]) -> str | None:
    """The command with the changes that the findings call for, worst first; None where they change nothing.

    Arguments that a person may have set are taken over; those that SGLang resolves by itself are left to it. A secret
    stands as the name of an environment variable. Quoted for a POSIX shell, on one line.
    """
    changes = _changes(found)
    if not changes or not case.launch.args:
        return None
    known = {} if case.release is None else defaults(case.release)
    automatic = any(finding.code == "fraction_automatic" for finding in found)
    kept = _kept(case, known, automatic)
    merged = {**kept, **changes}
    order = [name for name in FLAG_FIRST if name in merged] + [name for name in merged if name not in FLAG_FIRST]
    if "model_path" not in merged:
        return None
    words = list(PROGRAM)
    for name in order:
        words.extend(_words(name, merged[name]))
    return " ".join(words)


def _changes(found: Sequence[Found]) -> dict[str, object]:
    """What all findings change; of two that change the same argument the worse one counts."""
    ranks = {"critical": 0, "warning": 1, "notice": 2, "info": 3}
    merged: dict[str, object] = {}
    for finding in sorted(found, key=lambda one: ranks.get(one.severity, 9)):
        for name, value in finding.changes.items():
            merged.setdefault(name, value)
    return merged


def _kept(case: Case, known: Mapping[str, object], automatic: bool) -> dict[str, object]:
    """The arguments that somebody set, as far as a resolved dump shows it."""
    args = case.launch.args
    if case.launch.args_origin == "command_line":
        return dict(args)
    kept = {}
    for name, value in args.items():
        if name in DERIVED or name.startswith(DERIVED_PREFIXES) or _is_usual(name, value) or _echoes(args, name, value):
            continue
        if value is None or (name in known and known[name] == value):
            continue
        if known and name not in known and strength(name) != "strong" and name != "model_path":
            continue
        if name == "mem_fraction_static" and automatic:
            continue
        kept[name] = value
    return _undivided(args, kept, case.release)


def _is_usual(name: str, value: object) -> bool:
    return isinstance(value, int | float | str) and value in USUAL.get(name, frozenset())


def _echoes(args: Mapping[str, object], name: str, value: object) -> bool:
    """Whether an argument only repeats or follows from another."""
    speculative = args.get("speculative_algorithm") is not None
    return (
        (name in {"tokenizer_path", "served_model_name"} and value == args.get("model_path"))
        or (name == "speculative_draft_model_path" and value == args.get("model_path"))
        or (name == "max_running_requests" and value == 48 and speculative)
        or (name == "schedule_conservativeness" and value == 0.3)
        or (name == "dtype" and value == "bfloat16")
    )


def _undivided(args: Mapping[str, object], kept: dict[str, object], release: Version | None) -> dict[str, object]:
    """Attention data parallelism as it is given on the command line: the dump shows it divided."""
    groups = args.get("attn_dp_size")
    if isinstance(groups, int) and groups > 1:
        kept = {**kept, "dp_size": groups, "enable_dp_attention": True}
        kept.pop("attn_dp_size", None)
    size, chunk = kept.get("dp_size"), kept.get("chunked_prefill_size")
    if kept.get("enable_dp_attention") is True and isinstance(size, int) and isinstance(chunk, int) and chunk > 0:
        kept["chunked_prefill_size"] = chunk * size
    return kept


def _words(name: str, value: object) -> Iterator[str]:
    """The words of one argument, quoted; none for one that is off, absent or not to be written down."""
    flag = "--" + name.replace("_", "-")
    if value is None or value is False:
        return
    if _is_secret(name, value):
        yield flag
        yield f'"${name.upper()}"'
    elif value is True:
        yield flag
    elif isinstance(value, Mapping):
        yield flag
        yield shlex.quote(json.dumps(dict(value), default=str))
    elif isinstance(value, list | tuple):
        if value and all(isinstance(part, str | int | float) for part in value):
            yield flag
            yield from (shlex.quote(str(part)) for part in value)
    elif isinstance(value, int | float):
        yield flag
        yield f"{value:g}" if isinstance(value, float) else str(value)
    elif isinstance(value, str) and value.isprintable() and not _is_repr(value):
        yield flag
        yield shlex.quote(value)


def _is_repr(value: str) -> bool:
    """An object as Python prints it, which no command line takes."""
    return value.startswith("<") and value.endswith(">")


def _is_secret(name: str, value: object) -> bool:
    if value is True:
        return False
    how, text = strength(name), str(value)
    if how == "strong" and text:
        return True
    if how != "none" and not is_number(text) and not text.startswith(("/", "./", "~/")) and not holds_nothing(text):
        return True
    try:
        return bool(spans(text)) or bool(spans(f"{name}={text}"))
    except (TooSlow, TimeoutError):
        return True
