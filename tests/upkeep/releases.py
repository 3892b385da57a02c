"""A tiny made-up release of the server, and wheels of it with changes planted."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

RUNNER = '''
"""The model runner."""
import logging

from sglang.srt.utils import free_memory

logger = logging.getLogger(__name__)

REQUESTS_PER_SLOT = 3


class Runner:
    """Runs a model."""

    def load(self):
        logger.info(f"Load weight begin. avail mem={free_memory(self.gpu):.2f} GB")
        logger.info("Memory pool end. avail mem=%.2f GB", free_memory(self.gpu))
        print(f"The runner has {self.name}")

    def profile_max_num_token(self, total_gpu_memory):
        """How many tokens fit."""
        available = free_memory(self.gpu)  # after the weights
        cell_size = self.heads * self.head_dim * self.layers * 2
        rest_memory = available - total_gpu_memory * (1 - self.mem_fraction_static)
        return int(rest_memory * (1 << 30) // cell_size)

    def max_requests(self, max_total_num_tokens):
        max_num_reqs = max_total_num_tokens // REQUESTS_PER_SLOT
        return min(max_num_reqs, 4096)

    def describe(self, name: str) -> str:
        return "runner of " + name
'''
POOL = '''
"""The pools."""
import logging

logger = logging.getLogger(__name__)


class Pool:
    """Keys and values."""

    def __init__(self, size, dtype):
        k_gib, v_gib = self.sizes()
        logger.info(f"KV Cache is allocated. #tokens: {size}, K size: {k_gib:.2f} GB, V size: {v_gib:.2f} GB")
        if size <= 0:
            raise RuntimeError("Not enough memory. Please try to increase --mem-fraction-static.")
'''
ARGUMENTS = '''
"""The arguments."""
import dataclasses
from typing import ClassVar, List, Optional


@dataclasses.dataclass
class ServerArgs:
    """All of them."""

    KINDS: ClassVar[list] = ["a"]
    model_path: str
    tokenizer_path: Optional[str] = None
    mem_fraction_static: Optional[float] = None
    tp_size: int = 1
    page_size: int = 1
    watch: List[str] = dataclasses.field(default_factory=list)
    buffer_bytes: int = 4 * 1024

    def __post_init__(self):
        if self.mem_fraction_static is None:
            self.mem_fraction_static = 0.88
'''
ENGINE = '''
"""The launcher."""
import logging

logger = logging.getLogger(__name__)


def launch(server_args):
    logger.info(f"{server_args=}")
'''
MODELS = '''
"""Models."""


def is_hybrid_swa_model(architectures):
    return any(a in ("GptOssForCausalLM", "Llama4ForConditionalGeneration") for a in architectures)
'''
UTILS = '''
"""Helpers."""


def free_memory(gpu):
    return 1.0
'''
FILES: Mapping[str, str] = {
    "sglang/__init__.py": "",
    "sglang/srt/server_args.py": ARGUMENTS,
    "sglang/srt/model_executor/runner.py": RUNNER,
    "sglang/srt/mem_cache/pool.py": POOL,
    "sglang/srt/entrypoints/engine.py": ENGINE,
    "sglang/srt/configs/models.py": MODELS,
    "sglang/srt/utils.py": UTILS,
}
"""The release without any change."""


def changed(path: str, before: str, after: str) -> dict[str, str]:
    """The files with one text replaced, which must be there."""
    assert before in FILES[path]
    return {**FILES, path: FILES[path].replace(before, after)}


def wheel(folder: Path, version: str, files: Mapping[str, str]) -> Path:
    """A wheel of `files` in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"sglang-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path
