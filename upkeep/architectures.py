"""Which models a release treats specially in memory: hybrid, sliding-window, sparse, compressed, latent attention."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from upkeep.release import Release

ARCHITECTURE = re.compile(r"^(?=.*[a-z])[A-Z][A-Za-z0-9_]*(?:For[A-Z]\w*|NextN|MTP|LMHeadModel|Model)$")
CONFIG = re.compile(r"^[A-Z]\w*Config$")
TRAIT = re.compile(
    r"hybrid|swa|sliding|(?:^|_)(?:dsa|nsa|qsa|mla|gdn|kda)(?:_|$)|sparse|compress|mamba|linear_attn|lightning|deepseek_v\d|minimax",
)
"""Functions with one of these words in their name answer the question for the models that they name."""
SETTINGS = re.compile(
    r"^(?:attention_arch|disable_hybrid_swa_memory|is_hybrid\w*|swa_full_tokens_ratio|page_size|kv_cache_dtype|use_mla_backend|"
    r"hybrid_kvcache_ratio|max_running_requests|disable_radix_cache|has_\w*(?:swa|mamba)\w*)$"
)
"""Attributes and arguments that are set for named models and change the pools."""
SCOPE = re.compile(
    r"^srt/(?:server_args|configs/|arg_groups/|model_executor/|mem_cache/[^/]+\.py|utils/|utils\.py|hf_transformers_utils)"
)
GENERIC = {
    "PretrainedConfig",
    "ModelConfig",
    "MemoryPoolConfig",
    "LoadConfig",
    "DeviceConfig",
    "LoRAConfig",
    "SpecAuxHiddenStateConfig",
}


@dataclass(frozen=True, slots=True, order=True)
class Treatment:
    """One model that the release treats specially."""

    trait: str
    """The function that says so (`is_hybrid_swa_model`) or what is set (`attention_arch = MLA`)."""
    model: str
    """Architecture (`GptOssForCausalLM`) or configuration class (`Qwen3NextConfig`)."""


def treatments(release: Release) -> list[Treatment]:
    """Every special treatment of a named model, sorted."""
    found: set[Treatment] = set()
    for path in sorted(release.texts):
        if not SCOPE.match(path):
            continue
        tree = release.tree(path)
        if tree is None:
            continue
        lists = _named_lists(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and TRAIT.search(node.name):
                found |= {Treatment(node.name, model) for model in _models(node, lists)}
            elif isinstance(node, ast.If):
                found |= set(_set_for(node, lists))
            elif isinstance(node, ast.Assign):
                found |= set(_flag(node, lists))
    return sorted(found)


def _set_for(node: ast.If, lists: dict[str, set[str]]) -> Iterator[Treatment]:
    models = _models(node.test, lists, configs=False)
    if not models:
        return
    for statement in node.body:
        for child in ast.walk(statement):
            if not isinstance(child, ast.Assign):
                continue
            for target in child.targets:
                name = (
                    target.attr
                    if isinstance(target, ast.Attribute)
                    else target.id
                    if isinstance(target, ast.Name)
                    else ""
                )
                if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
                    name = str(target.slice.value)
                if SETTINGS.match(name):
                    value = (
                        ast.unparse(child.value).rpartition(".")[2]
                        if isinstance(child.value, ast.Attribute)
                        else ast.unparse(child.value)
                    )
                    if len(value) <= 40:
                        yield from (Treatment(f"{name} = {value}", model) for model in models)


def _flag(node: ast.Assign, lists: dict[str, set[str]]) -> Iterator[Treatment]:
    """`self.is_hybrid_swa = architecture in [...]`."""
    for target in node.targets:
        name = target.attr if isinstance(target, ast.Attribute) else target.id if isinstance(target, ast.Name) else ""
        if TRAIT.search(name) and isinstance(node.value, ast.Compare | ast.BoolOp | ast.Call):
            yield from (Treatment(name, model) for model in _models(node.value, lists, configs=False))


def _models(node: ast.AST, lists: dict[str, set[str]], *, configs: bool = True) -> set[str]:
    found: set[str] = set()
    for child in ast.walk(node):
        if isinstance(child, ast.Constant) and isinstance(child.value, str) and ARCHITECTURE.match(child.value):
            found.add(child.value)
        elif isinstance(child, ast.Name) and child.id in lists:
            found |= lists[child.id]
        elif configs and isinstance(child, ast.Call) and ast.unparse(child.func) == "isinstance":
            found |= {
                n.id
                for a in child.args[1:]
                for n in ast.walk(a)
                if isinstance(n, ast.Name) and CONFIG.match(n.id) and n.id not in GENERIC
            }
    return found


def _named_lists(tree: ast.Module) -> dict[str, set[str]]:
    """Module-level names of collections of architectures."""
    lists: dict[str, set[str]] = {}
    for node in tree.body:
        value = getattr(node, "value", None)
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if value is None:
            continue
        names = {
            c.value
            for c in ast.walk(value)
            if isinstance(c, ast.Constant) and isinstance(c.value, str) and ARCHITECTURE.match(c.value)
        }
        if names:
            lists |= {t.id: names for t in targets if isinstance(t, ast.Name)}
    return lists
