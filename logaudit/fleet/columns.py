"""The columns of a fleet's table: the rank frame's, and beside them those of the log, the start and its expectation."""

from __future__ import annotations

from functools import cache
from typing import Any

from logaudit.frame import rank_columns

LOG_COLUMNS: dict[str, tuple[str, str]] = {
    "source": ("string", "the log: path, ssh:// address or object"),
    "host": ("string", "the machine: of an ssh address, else the folder that holds the log, or what --host-from finds"),
    "etag": ("string", "what told the log's state apart: the store's etag, device, inode and time of a file"),
    "size_bytes": ("int64", "its size as stored, compressed or not"),
    "modified_at": ("string", "when it was last written, ISO 8601"),
    "lines": ("int64", "lines in it"),
    "error": ("string", "why it could not be read; nothing else is known of it then"),
}
"""What is known of a log, the same in all its rows."""

LAUNCH_COLUMNS: dict[str, tuple[str, str]] = {
    "first_line": ("int64", "where the start begins"),
    "started_at": ("string", "its first time, ISO 8601"),
    "ready_at": ("string", "when it was ready"),
    "failure_kind": ("string", "memory, host_memory, unbalanced, not_memory, unknown"),
    "failure_phase": ("string", "load, sizing, capture, serving, …"),
    "failure_text": ("string", "the line that says why, redacted"),
    "sglang_low": ("string", "oldest release that the log allows"),
    "sglang_high": ("string", "newest one"),
    "model_path": ("string", "as the arguments name it, redacted"),
    "architecture": ("string", "class of the model"),
    "quantization": ("string", "of the weights"),
    "attention": ("string", "mha, mla, dsa, swa, hybrid, dsv4"),
    "tp_size": ("int64", "tensor parallelism"),
    "pp_size": ("int64", "pipeline parallelism"),
    "dp_size": ("int64", "data parallelism"),
    "nnodes": ("int64", "machines of the server"),
    "device": ("string", "cuda, npu, cpu, …"),
    "card_gib": ("double", "memory of one card: as given, else the smallest size sold that holds what was free"),
    "mem_fraction_static": ("double", "the fraction"),
    "fraction_origin": ("string", "server_args, command_line, log_line, inferred"),
    "kv_cache_dtype": ("string", "the argument"),
    "max_total_tokens": ("int64", "the user's cap"),
    "speculative_algorithm": ("string", "the argument"),
    "flags": ("string", "the arguments that bear on memory and are not off, as JSON, redacted"),
    "tokens": ("int64", "max_total_num_tokens of one replica"),
    "total_tokens": ("int64", "of all replicas together"),
    "status": ("string", "explained, explained_with_residual, unexplained, not_checkable"),
    "expected_tokens": ("double", "what the formula gives"),
    "expected_tokens_low": ("double", "its lower bound"),
    "expected_tokens_high": ("double", "its upper bound"),
    "gap_tokens": ("int64", "printed less expected, 0 inside the bounds"),
    "gap_gib": ("double", "the same in GiB"),
    "kv_budget_gib": ("double", "what the formula leaves for the KV cache"),
    "bytes_per_token": ("double", "on one rank"),
    "headroom_gib": ("double", "least free memory of a rank at its last reading"),
    "reserve_rule_gib": ("double", "what the release's own rule keeps free for the running server"),
    "causes": ("list", "codes of the causes"),
    "findings": ("list", "codes of the findings"),
    "warnings": ("list", "codes of those that are warnings or critical"),
}
"""What is known of a start, the same in all its rows."""

_RANK_TYPES = {"Int64": "int64", "Float64": "double", "string": "string", "boolean": "bool"}


@cache
def columns() -> dict[str, str]:
    """Column -> `string`, `int64`, `double`, `bool` or `list` (of strings), in order."""
    found = {name: kind for name, (kind, _) in LOG_COLUMNS.items()}
    ranks = {name: _RANK_TYPES[dtype] for name, dtype in rank_columns().items() if name != "source"}
    found |= {name: ranks.pop(name) for name in ("launch", "outcome")}
    found |= {name: kind for name, (kind, _) in LAUNCH_COLUMNS.items()}
    return found | ranks


@cache
def arrow_schema() -> Any:
    """The same as an Arrow schema."""
    import pyarrow as pa

    types = {
        "string": pa.string(),
        "int64": pa.int64(),
        "double": pa.float64(),
        "bool": pa.bool_(),
        "list": pa.list_(pa.string()),
    }
    return pa.schema([pa.field(name, types[kind]) for name, kind in columns().items()])
