"""The functions that size the pools and choose the memory fraction, as code that only a real change alters."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from upkeep.release import Release

FIGURES = re.compile(
    r"^(?:cell_size\w*|\w*cell_size(?:_\w+)?|\w*cell_bytes|rest_memory|total_rest_memory|available_bytes|bytes_per_\w*token\w*|slack\w*|"
    r"mem_fraction_static|reserved_mem\w*|max_total_num_tokens|full_max_total_num_tokens|swa_max_total_num_tokens|max_total_tokens|"
    r"full_tokens?|swa_tokens?|swa_full_tokens_ratio|full_layer_tokens|swa_layer_tokens|max_mamba_cache_size|mamba_cache_per_req|"
    r"mamba_full_memory_ratio|max_num_reqs|max_num_token|token_capacity|kv_cache_dim|draft_runner_cache_size|max_running_requests|"
    r"hybrid_kvcache_ratio|full_attention_layer_ids|c4_state\w*|c128_state\w*|num_effective_layers|total_gpu_memory|min_per_gpu_memory|"
    r"pre_model_load_memory|extra_max_context_len|extra_context_len)$"
)
"""Names that SGLang gives to the figures of the sizing: a function that computes one of them is part of the formula."""
NAMED = re.compile(
    r"^(?:profile_max_num_token|get_num_kv_heads|get_total_num_kv_heads|get_num_attention_heads|get_swa_num_kv_heads|mamba2?_cache_(?:per_req|params)|"
    r"mamba_cache_per_req|get_available_gpu_memory|get_device_memory_capacity|get_\w+_memory_capacity|is_hybrid_(?:swa_)?model|get_hybrid_layer_ids|"
    r"calculate_mla_kv_cache_dim|compute_swa_request_cap|mm_runtime_reservation_gb|resolve_max_num_reqs|adjust_mem_fraction_for_vlm|"
    r"handle_gpu_memory_settings|_handle_gpu_memory_settings|reserve_for_\w+|\w*(?:pool_configurator|pool_config)|get_kv_size_bytes|get_dsa_\w+|get_nsa_\w+|"
    r"\w*set_num_token_hybrid|\w*mamba_ratio|\w*token_constraints|\w*_max_num_reqs?|generate_\w*cuda_graph_batch_sizes|_generate_\w*graph_bs\w*|"
    r"init_torch_distributed|measure_pre_model_load_memory|get_mamba_tracking_slots|_pp_local_per_request_bytes|_should_elide_dsa_index_k|configure_kv_cache_dtype|get_pp_indices|get_req_to_token_extra_context_len|get_alloc_len_per_decode|get_alloc_reserve_per_decode)$"
)
"""Functions that the formula calls for its inputs."""
OWNERS = re.compile(
    r"(?:^|\.)(?:\w*PoolConfigurator|MemoryPoolConfig|BaseLinearStateParams|\w+StateShape|\w+CacheParams|ReqToTokenPool\.__init__)(?:\.|$)"
)
"""Classes all of whose functions belong to the formula."""
SLICED_LINES = 120
"""Functions longer than this are cut down to the statements that touch the sizing's figures."""
CONTEXT = re.compile(
    r"^(?:gpu_mem\w*|chunked_prefill_size|cuda_graph_max_bs\w*|cuda_graph_bs\w*|disable_hybrid_swa_memory|page_size|parallel_size)$"
)
"""Names beside `FIGURES` that keep a statement of a long function."""
ASIDE = re.compile(
    r"^srt/(?:layers|models|lora|managers|mem_cache/allocator|mem_cache/pool_host|mem_cache/hybrid_cache|disaggregation|debug_utils|multimodal|mem_cache/(?:storage|cpp_utils|rust_tree_core)|sampling|"
    r"entrypoints|ray|session|kv_canary|hardware_backend/mlx|connector|grpc|metrics|observability|eplb|elastic_ep|constrained|rust_server|multiplex|profiler|weight_\w+)/"
)
"""Folders that use the pools or serve requests, but do not size anything."""
SILENT = re.compile(r"(?:^|\.|_)(?:log|logger|print|warn|info|warning|debug|error)(?:$|\.|_)")


@dataclass(frozen=True, slots=True)
class Function:
    """One function of the formula."""

    name: str
    """`Class.function`, without the module."""
    path: str
    line: int
    code: str
    """Normalised: no comments, docstrings, annotations, messages or local names; module constants come first."""

    stored_digest: str = ""
    """The digest of code that is not at hand."""

    @property
    def digest(self) -> str:
        """Twelve hex digits of the normalised code."""
        return self.stored_digest or hashlib.sha256(self.code.encode()).hexdigest()[:12]

    @property
    def short(self) -> str:
        """The name without the class."""
        return self.name.rpartition(".")[2]


def functions(release: Release) -> list[Function]:
    """The functions of the formula, sorted by name; the same name in several modules keeps each."""
    found = []
    for path in sorted(release.texts):
        if not path.startswith("srt/") or ASIDE.match(path):
            continue
        tree = release.tree(path)
        if tree is None:
            continue
        constants = _constants(tree)
        for name, node in _defined(tree, ""):
            if NAMED.match(node.name) or OWNERS.search(name) or _computes(node):
                found.append(Function(name, path, node.lineno, normalised(node, constants)))
    return sorted(found, key=lambda f: (f.name, f.path))


def normalised(node: ast.FunctionDef | ast.AsyncFunctionDef, constants: dict[str, str]) -> str:
    """The code of a function with everything taken off that does not change what it computes."""
    copy = ast.parse(ast.unparse(node)).body[0]
    assert isinstance(copy, ast.FunctionDef | ast.AsyncFunctionDef)
    copy = _Plain().visit(copy)
    copy.decorator_list = []
    if len(ast.unparse(copy).splitlines()) > SLICED_LINES:
        copy.body = _sliced(copy.body)
    names = _local_names(copy)
    copy = _Renamed(names).visit(copy)
    copy.name = "f"
    used = sorted({n.id for n in ast.walk(copy) if isinstance(n, ast.Name) and n.id in constants})
    ast.fix_missing_locations(copy)
    return "\n".join([f"{name} = {constants[name]}" for name in used] + [ast.unparse(copy)])


def _sliced(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements that touch a figure of the sizing, nested blocks cut down alike."""
    kept = []
    for statement in body:
        names = {_tail(n) for n in ast.walk(statement)}
        if not any(FIGURES.match(n) or CONTEXT.match(n) for n in names):
            continue
        if isinstance(statement, ast.If | ast.For | ast.While | ast.With | ast.Try):
            for block in ("body", "orelse", "finalbody"):
                if getattr(statement, block, None):
                    setattr(
                        statement,
                        block,
                        _sliced(getattr(statement, block)) or ([ast.Pass()] if block == "body" else []),
                    )
        kept.append(statement)
    return kept or [ast.Pass()]


def _defined(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield (prefix + child.name, child)
        elif isinstance(child, ast.ClassDef):
            yield from _defined(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.If | ast.Try):
            yield from _defined(child, prefix)


def _computes(node: ast.AST) -> bool:
    """Whether the function chooses the memory fraction, or does arithmetic on at least two figures of the sizing."""
    figures: set[str] = set()
    arithmetic = False
    for child in ast.walk(node):
        if isinstance(child, ast.BinOp | ast.AugAssign) and not isinstance(child.op, ast.Mod):
            inside = _figures(child)
            arithmetic = arithmetic or bool(inside)
            figures |= inside
        elif isinstance(child, ast.Assign):
            assigned = {_tail(t) for t in child.targets if FIGURES.match(_tail(t))}
            if "mem_fraction_static" in assigned and not isinstance(child.value, ast.Name | ast.Attribute):
                return True
            figures |= assigned
    return arithmetic and len(figures) >= 2


def _figures(node: ast.AST) -> set[str]:
    return {name for name in (_tail(n) for n in ast.walk(node)) if FIGURES.match(name)}


def _tail(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    return ""


def _constants(tree: ast.Module) -> dict[str, str]:
    """Upper-case module names with a literal or arithmetic value."""
    found = {}
    for node in tree.body:
        target = (
            node.targets[0]
            if isinstance(node, ast.Assign) and len(node.targets) == 1
            else node.target
            if isinstance(node, ast.AnnAssign)
            else None
        )
        value = getattr(node, "value", None)
        if (
            isinstance(target, ast.Name)
            and value is not None
            and target.id.strip("_").isupper()
            and len(ast.unparse(value)) < 2000
        ):
            found[target.id] = ast.unparse(value)
    return found


def _local_names(node: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, str]:
    """Arguments and assigned names of a function in order of appearance, each with its stand-in."""
    names: dict[str, str] = {}
    for child in _in_order(node):
        name: str | None = None
        if isinstance(child, ast.arg):
            name = child.arg
        elif isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            name = child.id
        elif (isinstance(child, ast.ExceptHandler) and child.name) or (
            isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) and child is not node
        ):
            name = child.name
        if name and name not in ("self", "cls"):
            names.setdefault(name, f"v{len(names)}")
    return names


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _in_order(child)


class _Plain(ast.NodeTransformer):
    """Takes off what computes nothing: docstrings, annotations, log calls, wording of errors, local imports."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.returns = None
        node.body = node.body or [ast.Pass()]
        return node

    visit_AsyncFunctionDef = visit_FunctionDef  # type: ignore[assignment]  # noqa: N815

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        self.generic_visit(node)
        return ast.Assign([node.target], node.value, lineno=node.lineno) if node.value is not None else None

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        if isinstance(node.value, ast.Constant):
            return None
        if isinstance(node.value, ast.Call) and SILENT.search(ast.unparse(node.value.func)):
            return None
        return self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        return None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        return None

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        kind = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        return ast.Raise(exc=kind)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        node.msg = None
        return self.generic_visit(node)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for name in ("body", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and not block and not isinstance(node, ast.Module) and name == "body":
                setattr(node, name, [ast.Pass()])
        return node


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg = self.names.get(node.arg, node.arg)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = self.names.get(node.name, node.name)
        return self.generic_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        node.name = self.names.get(node.name, node.name) if node.name else None
        return self.generic_visit(node)
