"""Turns a case of the oracle into sizing inputs: its figures as its log prints them, its arguments as dumped."""

from __future__ import annotations

import ast
import functools
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.version import Version

from logaudit.interval import Interval
from logaudit.sglang.model_config import ModelConfig, load
from logaudit.sizing import PrintedPool, SizingInputs, StageReadings

SPLIT_POOL_NAMES = ("full", "swa", "mamba")
_DRAFT_CONFIGS = {
    "/models/llama31-8b-eagle": "llama31-8b-eagle",
    "/models/llama31-8b-eagle3": "llama31-8b-eagle3",
    "/models/kimi-k25-eagle3": "kimi-k25-eagle3",
}
_FIELDS = (
    "model_path",
    "dtype",
    "kv_cache_dtype",
    "context_length",
    "mem_fraction_static",
    "max_running_requests",
    "max_total_tokens",
    "chunked_prefill_size",
    "tp_size",
    "dp_size",
    "ep_size",
    "pp_size",
    "attention_backend",
    "page_size",
    "speculative_algorithm",
    "speculative_num_steps",
    "speculative_num_draft_tokens",
    "speculative_eagle_topk",
    "speculative_draft_model_path",
    "disable_radix_cache",
    "enable_dp_attention",
    "attn_dp_size",
    "disable_hybrid_swa_memory",
    "swa_full_tokens_ratio",
    "hybrid_kvcache_ratio",
    "mamba_ssm_dtype",
    "max_mamba_cache_size",
    "mamba_full_memory_ratio",
    "mamba_scheduler_strategy",
    "mamba_radix_cache_strategy",
    "disable_overlap_schedule",
    "cuda_graph_max_bs",
    "disable_cuda_graph",
    "disable_piecewise_cuda_graph",
    "enable_piecewise_cuda_graph",
    "piecewise_cuda_graph_max_tokens",
    "nsa_prefill_backend",
    "nsa_decode_backend",
    "dsa_prefill_backend",
    "dsa_decode_backend",
    "moe_a2a_backend",
    "nnodes",
    "disaggregation_mode",
    "enable_mixed_chunk",
)


@dataclass(frozen=True, eq=False)
class Case:
    """One case: what SGLang computed, and what its log shows."""

    name: str
    data: dict[str, Any]
    log: str
    models: Path

    @property
    def release(self) -> Version:
        return Version(self.data["sglang_version"])

    @property
    def config(self) -> ModelConfig:
        return _config(self.models / self.data["model"])

    @functools.cached_property
    def arguments(self) -> dict[str, Any]:
        line = next((text for text in self.log.splitlines() if "server_args=" in text), "")
        found = {}
        for name in _FIELDS:
            match = re.search(rf"['( ,{{]{name}'?(?:=|: )('[^']*'|[^,)}}\]]+)", line)
            if match:
                found[name] = ast.literal_eval(match.group(1))
        return found

    @property
    def crashed(self) -> bool:
        return self.data["error"] is not None

    def rank(self, tp: int = 0, pp: int = 0) -> dict[str, Any]:
        return next(r for r in self.data["ranks"] if (r["tp"], r["pp"]) == (tp, pp))

    @property
    def draft_config(self) -> ModelConfig | None:
        path = self.arguments.get("speculative_draft_model_path")
        name = _DRAFT_CONFIGS.get(path)
        return _config(self.models / name) if name else None

    def inputs(self, *, with_config: bool = True) -> SizingInputs:
        """The inputs that a log of this case gives; two decimals for every figure in GiB."""
        return _inputs(self, with_config)

    def _build(self, with_config: bool) -> SizingInputs:
        args = self.arguments
        ranks = self.data["ranks"]
        count = max(len(ranks), 1)
        before, after = (_spread(self.data[key], count) for key in ("before_load_gib", "after_load_gib"))
        draft = self.data["draft_weights_gib"] or 0
        if self.release >= Version("0.5.14") and args.get("speculative_algorithm"):
            after = [value - draft for value in after]
        readings = tuple(
            StageReadings(
                tp=rank["tp"],
                pp=rank["pp"],
                dp=rank["dp"],
                before_load=Interval.printed(f"{b:.2f}"),
                before_line=1,
                after_load=Interval.printed(f"{a:.2f}"),
                after_line=2,
            )
            for rank, b, a in zip(ranks, before, after, strict=True)
        )
        first = ranks[0]
        fraction = first["mem_fraction_static"] or args.get("mem_fraction_static")
        reserve = re.search(r"Reserving ([\d.]+) GB of the KV budget", self.log)
        context = re.search(r"context_len=(\d+)", self.log)
        capacity = re.search(r"max_mamba_cache_size: (\d+)", self.log)
        kv_dtype = first["kv_dtype"]
        return SizingInputs(
            release=self.release,
            args=args,
            args_known=True,
            mem_fraction_static=None if fraction is None else Interval.exact(fraction),
            fraction_origin="server_args",
            readings=readings,
            all_ranks_print=True,
            pools=self.pools(),
            config=self.config if with_config else None,
            draft_config=self.draft_config if with_config else None,
            architecture=self._text(r"Load weight end\..*?type=(\w+)"),
            context_length=int(context.group(1)) if context else None,
            page_size=first["page_size"],
            kv_dtype=kv_dtype,
            mm_reserve_gib=Interval.printed(reserve.group(1)) if reserve else None,
            gpu_memory_gib=self.data["gpu_total_gib"],
            printed_mamba_slots=int(capacity.group(1)) if capacity else None,
            dsv4_bytes_per_token=self._printed(r"bytes_per_full_token=([\d.]+)"),
            dsv4_fixed_gib=self._fixed(),
        )

    def _text(self, pattern: str) -> str | None:
        found = re.search(pattern, self.log)
        return found.group(1) if found else None

    def _printed(self, pattern: str) -> Interval | None:
        found = re.search(pattern, self.log)
        return Interval.printed(found.group(1)) if found else None

    def _fixed(self) -> Interval | None:
        line = next((text for text in self.log.splitlines() if "DSV4 memory calculation" in text), "")
        parts = [Interval.printed(text) for text in re.findall(r"_fixed=([\d.]+) GB", line) if float(text)]
        return sum(parts[1:], parts[0]) if parts else None

    def _state(self) -> Interval | None:
        found = re.search(r"conv_state size: ([\d.]+)GB, ssm_state size: ([\d.]+)GB", self.log)
        return Interval.printed(found.group(1)) + Interval.printed(found.group(2)) if found else None

    def _line_gib(self, tokens: int | None) -> Interval | None:
        """The size that the first pool line of these tokens prints: K and V, or one latent figure."""
        line = next(
            (t for t in self.log.splitlines() if "KV Cache is allocated" in t and f"#tokens: {tokens}," in t), ""
        )
        parts = [Interval.printed(text) for text in re.findall(r"(?:K|V|KV) size: ([\d.]+) GB", line)]
        return sum(parts[1:], parts[0]) if parts else None

    def pools(self) -> tuple[PrintedPool, ...]:
        """The pools as the log prints them."""
        found = []
        for rank in self.data["ranks"]:
            if rank["tp"] != 0 or (rank["dp"] or 0) != 0:
                continue
            for draft, pools in ((False, rank["pools"] or {}), (True, (rank["draft"] or {}).get("pools") or {})):
                names = [name for name in SPLIT_POOL_NAMES if name in pools] or list(pools)
                for name in names:
                    pool = pools[name]
                    if draft and name == "mamba":
                        continue
                    gib = pool.get("gib")
                    mla = "MLA" in str(pools.get("kv", {}).get("class")) or "SA" in str(
                        pools.get("kv", {}).get("class")
                    )
                    found.append(
                        PrintedPool(
                            name=name,
                            tokens=pool.get("size"),
                            gib=self._line_gib(pool.get("size")) if gib is None else Interval.printed(f"{gib:.2f}"),
                            state_gib=self._state() if name == "mamba" else None,
                            line=3,
                            dtype=pool.get("dtype"),
                            mla=mla and "SWA" not in str(pools.get("kv", {}).get("class")),
                            draft=draft,
                            pp=rank["pp"],
                        )
                    )
        return tuple(found)


@functools.cache
def _inputs(case: Case, with_config: bool) -> SizingInputs:
    return case._build(with_config)


@functools.cache
def _config(folder: Path) -> ModelConfig:
    return load(folder)


def _spread(values: list[float], count: int) -> list[float]:
    return list(values) if len(values) == count else [values[0]] * count


@functools.cache
def read(path: Path) -> Case:
    """The case whose JSON is at `path`."""
    return Case(
        path.stem,
        json.loads(path.read_text()),
        path.with_suffix(".log").read_text(),
        path.parent / "models",
    )
