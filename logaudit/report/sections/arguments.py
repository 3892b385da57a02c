"""What SGLang was told, what bears on memory first."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from logaudit.report.blocks import Block, Cell, Column, Fold, Paragraph, Row, Table
from logaudit.report.document import Document, LaunchDoc
from logaudit.report.inline import Inline, clip, code, join, one_line, strong, words
from logaudit.report.links import Links
from logaudit.report.sections.reading import redacted_words

_MEMORY_ARGS = (
    "mem_fraction_static",
    "max_total_tokens",
    "max_running_requests",
    "context_length",
    "kv_cache_dtype",
    "page_size",
    "dtype",
    "quantization",
    "chunked_prefill_size",
    "max_prefill_tokens",
    "tp_size",
    "pp_size",
    "dp_size",
    "ep_size",
    "enable_dp_attention",
    "nnodes",
    "swa_full_tokens_ratio",
    "disable_hybrid_swa_memory",
    "hybrid_kvcache_ratio",
    "cuda_graph_max_bs",
    "disable_cuda_graph",
    "attention_backend",
    "disable_radix_cache",
    "enable_memory_saver",
    "cpu_offload_gb",
    "model_path",
)


_MEMORY_PREFIXES = ("speculative_", "mamba_", "max_mamba", "hicache_", "enable_hierarchical", "attn_cp", "cuda_graph_")


def matters(name: str) -> bool:
    """Whether an argument bears on memory."""
    return name in _MEMORY_ARGS or name.startswith(_MEMORY_PREFIXES)


def by_weight(args: Mapping[str, Any]) -> list[str]:
    """The names of the arguments, those that bear on memory most first, the others by name."""
    return list(dict.fromkeys(name for name in (*_MEMORY_ARGS, *sorted(args)) if name in args))


def argument_blocks(document: Document, launch: LaunchDoc, links: Links) -> tuple[Block, ...]:
    """The arguments that bear on memory, those that SGLang changed marked, the rest folded away."""
    args = launch.server_args
    adjusted = {str(entry.get("name")): entry for entry in launch.adjusted_args}
    weighty = [name for name in by_weight(args) if matters(name)]
    shown = [name for name in weighty if _says_something(args[name]) or name in adjusted]
    blocks: list[Block] = []
    if shown or adjusted:
        names = [*shown, *(name for name in adjusted if name not in shown)]
        rows = tuple(_argument(name, args.get(name), adjusted.get(name), links) for name in names)
        columns: tuple[Column, ...] = (Column("argument"), Column("value"), Column("changed by SGLang"))
        if not adjusted:
            columns = columns[:2]
            rows = tuple(Row(row.cells[:2], row.kind) for row in rows)
        blocks.append(Table("Arguments that bear on memory", columns, rows, "arguments"))
    rest = [name for name in args if name not in shown]
    if rest:
        rows = tuple(Row((Cell(code(name)), Cell(code(_argument_value(args[name]))))) for name in rest)
        table = Table("The other arguments", (Column("argument"), Column("value")), rows, "other-arguments")
        blocks.append(Fold(f"The other {len(rest)} arguments", (table,)))
    if not args:
        blocks.append(Paragraph(words("No server arguments were printed in this log.")))
    if document.redacted:
        blocks.append(Paragraph(words(redacted_words(document))))
    return tuple(blocks)


def _says_something(value: Any) -> bool:
    return value is not None and value is not False and value != ""


def _argument(name: str, value: Any, change: dict[str, Any] | None, links: Links) -> Row:
    said: Inline = ()
    if change is not None:
        line = change.get("line")
        reference = links.line(line) if isinstance(line, int) else ()
        said = join((strong("changed"), words(change.get("text") or ""), reference))
        value = change.get("value", value)
    return Row((Cell(code(name)), Cell(code(_argument_value(value))), Cell(said)), "mark" if change else "")


def _argument_value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return clip(one_line(text), 300)
