"""What changed between two starts of one source: arguments, free memory, tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from logaudit.reconcile import measures as m
from logaudit.reconcile.case import Case

MEMORY_ARGUMENTS = (
    "model_path",
    "mem_fraction_static",
    "max_total_tokens",
    "kv_cache_dtype",
    "tp_size",
    "pp_size",
    "dp_size",
    "attn_dp_size",
    "enable_dp_attention",
    "ep_size",
    "nnodes",
    "context_length",
    "max_running_requests",
    "chunked_prefill_size",
    "max_prefill_tokens",
    "page_size",
    "quantization",
    "dtype",
    "speculative_algorithm",
    "speculative_draft_model_path",
    "speculative_num_steps",
    "speculative_eagle_topk",
    "speculative_num_draft_tokens",
    "swa_full_tokens_ratio",
    "hybrid_kvcache_ratio",
    "disable_hybrid_swa_memory",
    "mamba_full_memory_ratio",
    "max_mamba_cache_size",
    "mamba_ssm_dtype",
    "disable_radix_cache",
    "disable_overlap_schedule",
    "enable_hierarchical_cache",
    "hicache_ratio",
    "hicache_size",
    "disable_cuda_graph",
    "cuda_graph_max_bs",
    "cuda_graph_max_bs_decode",
    "enable_piecewise_cuda_graph",
    "disable_piecewise_cuda_graph",
    "cpu_offload_gb",
    "attention_backend",
    "moe_a2a_backend",
    "enable_torch_compile",
    "enable_lora",
    "max_loras_per_batch",
    "device",
)
"""Arguments on which memory depends, the strongest first: only their values are told."""

IRRELEVANT = frozenset({"random_seed", "port", "nccl_port", "dist_init_addr", "log_level", "served_model_name"})
"""Arguments that differ between any two starts."""

NOTABLE_GIB = 0.25
"""Readings that differ by less are alike."""


@dataclass(frozen=True, slots=True)
class Change:
    """One figure or argument that differs."""

    name: str
    """The flag, or the reading in words."""
    before: str
    """In the earlier start."""
    now: str


@dataclass(frozen=True, slots=True)
class Differences:
    """A start against the last good one before it."""

    earlier: Case
    changes: tuple[Change, ...]
    """Memory arguments, then readings, then the tokens."""
    other_arguments: int
    """Arguments that differ as well and have no part in memory, as far as is known."""

    @property
    def arguments(self) -> tuple[Change, ...]:
        """Those that are flags."""
        return tuple(change for change in self.changes if change.name.startswith("--"))


def differences(case: Case) -> Differences | None:
    """What changed since the last good start in the same source; None when there was none."""
    earlier = case.previous
    if earlier is None:
        return None
    ours, theirs = case.launch.args, earlier.launch.args
    found: list[Change] = []
    if ours and theirs:
        found += [
            Change(m.flag(name), _shown(theirs.get(name)), _shown(ours.get(name)))
            for name in MEMORY_ARGUMENTS
            if ours.get(name) != theirs.get(name)
        ]
    found += _figures(earlier, case)
    return Differences(earlier, tuple(found), _others(ours, theirs))


def _figures(earlier: Case, case: Case) -> list[Change]:
    """The readings and counts that differ."""
    found = []
    for name, read in (("free before loading", m.before), ("free after loading", m.after)):
        old, new = read(earlier), read(case)
        if old is not None and new is not None and abs(old.value - new.value) >= NOTABLE_GIB:
            found.append(Change(name, f"{old.value:.2f} GiB", f"{new.value:.2f} GiB"))
    old_tokens, new_tokens = earlier.comparison.actual_tokens, case.comparison.actual_tokens
    if old_tokens is not None and new_tokens is not None and old_tokens != new_tokens:
        found.append(Change("tokens", f"{old_tokens:,}", f"{new_tokens:,}"))
    return found


def _others(ours: Mapping[str, object], theirs: Mapping[str, object]) -> int:
    if not ours or not theirs:
        return 0
    names = (set(ours) & set(theirs)) - set(MEMORY_ARGUMENTS) - IRRELEVANT
    return sum(ours[name] != theirs[name] for name in names if not name.startswith("_"))


def _shown(value: object) -> str:
    return "not given" if value is None else str(value)[:80]
