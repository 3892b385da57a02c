"""The state that linear-attention and Mamba layers keep per request, in SGLang's shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Json = Mapping[str, Any]
Get = Callable[..., Any]
Kind = Literal["mamba2", "gdn", "kda", "lightning", "short_conv", "mamba1"]

_GDN_TYPES = {"qwen3_next", "qwen3_5", "qwen3_5_text", "qwen3_5_moe", "qwen3_5_moe_text"}
_LFM2_TYPES = {"lfm2", "lfm2_moe", "lfm2_vl"}


@dataclass(frozen=True, slots=True)
class LinearState:
    """The recurrent layers of a hybrid model and the shape of their state (BaseLinearStateParams, Mamba2StateShape)."""

    kind: Kind
    layers: tuple[int, ...]
    """Ids of the layers with a recurrent state."""
    attention_layers: tuple[int, ...]
    """Ids of the layers that hold KV."""
    heads: int
    head_dim: int
    state_size: int
    groups: int
    intermediate: int
    conv_kernel: int
    ssm_dtype: str | None = None
    """`mamba_ssm_dtype` of the config, where SGLang reads it for this model."""

    def elements_per_layer(self, tp: int) -> tuple[int, int]:
        """Convolution and recurrent elements of one layer and request on one of `tp` ranks.

        Key/value groups that do not divide among the ranks are repeated (extra_groups_for_head_shards).
        """
        tp = max(1, tp)
        if self.kind == "kda":
            width = self.heads * self.head_dim // tp + 2 * (self.groups * self.state_size // tp)
            return width * (self.conv_kernel - 1), max(1, self.heads // tp) * self.head_dim * self.head_dim
        groups = self.groups if self.groups % tp == 0 else self.groups + tp - self.groups
        conv = (self.intermediate + 2 * groups * self.state_size) // tp * (self.conv_kernel - 1)
        return conv, max(1, self.heads // tp) * self.head_dim * self.state_size

    def bytes_per_request(self, tp: int, *, ssm_bytes: int = 4, conv_bytes: int = 2) -> int:
        """State of one request over all recurrent layers on one rank, in bytes (mamba_cache_per_req)."""
        conv, recurrent = self.elements_per_layer(tp)
        return (conv * conv_bytes + recurrent * ssm_bytes) * len(self.layers)


def linear_state(architectures: tuple[str, ...], data: Json, text: Json, get: Get, layers: int) -> LinearState | None:
    """The recurrent part of a hybrid model's config; None for a model without one."""
    kind = str(text.get("model_type") or data.get("model_type") or "")
    if kind in _GDN_TYPES or any(name.startswith(("Qwen3Next", "Qwen3_5")) for name in architectures):
        return _gdn(get, layers)
    if kind.startswith("nemotron_h") or any(name.startswith("NemotronH") for name in architectures):
        return _nemotron_h(get)
    if kind == "falcon_h1" or "FalconH1ForCausalLM" in architectures:
        return _falcon_h1(get, layers)
    if kind == "granitemoehybrid" or any(name.startswith("GraniteMoeHybrid") for name in architectures):
        return _granite(get, layers)
    if get("linear_attn_config") and isinstance(get("linear_attn_config"), Mapping):
        return _kda(get, layers)
    if kind in _LFM2_TYPES or any(name.startswith("Lfm2") for name in architectures):
        return _short_conv(get, layers)
    if any(name.startswith(("JetNemotron", "JetVLM")) for name in architectures):
        return _jet(get)
    if any(name.startswith(("BailingMoeV2_5", "BailingMoeV3", "BailingMoeLinear")) for name in architectures):
        return _bailing(get, layers)
    return None


def _split(kinds: list[str], recurrent: set[str], attention: set[str]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return (
        tuple(i for i, kind in enumerate(kinds) if kind in recurrent),
        tuple(i for i, kind in enumerate(kinds) if kind in attention),
    )


def _gdn(get: Get, layers: int) -> LinearState:
    types = get("layer_types")
    if not (isinstance(types, list) and len(types) >= layers):
        every = int(get("full_attention_interval", 4))
        types = ["full_attention" if (i + 1) % every == 0 else "linear_attention" for i in range(layers)]
    recurrent, attention = _split(types[:layers], {"linear_attention"}, {"full_attention", "attention"})
    value_heads, value_dim = int(get("linear_num_value_heads", 32)), int(get("linear_value_head_dim", 128))
    return LinearState(
        kind="gdn",
        layers=recurrent,
        attention_layers=attention,
        heads=value_heads,
        head_dim=value_dim,
        state_size=int(get("linear_key_head_dim", 128)),
        groups=int(get("linear_num_key_heads", 16)),
        intermediate=value_heads * value_dim,
        conv_kernel=int(get("linear_conv_kernel_dim", 4)),
        ssm_dtype=get("mamba_ssm_dtype"),
    )


def _nemotron_h(get: Get) -> LinearState:
    blocks = get("layers_block_type")
    if isinstance(blocks, list):
        recurrent, attention = _split(blocks, {"mamba"}, {"attention"})
    else:
        recurrent, attention = _split(list(get("hybrid_override_pattern") or ""), {"M"}, {"*"})
    heads, head_dim = int(get("mamba_num_heads", 128)), int(get("mamba_head_dim", 64))
    return LinearState(
        kind="mamba2",
        layers=recurrent,
        attention_layers=attention,
        heads=heads,
        head_dim=head_dim,
        state_size=int(get("ssm_state_size", 128)),
        groups=int(get("n_groups", 8)),
        intermediate=heads * head_dim,
        conv_kernel=int(get("conv_kernel", 4)),
        ssm_dtype=get("mamba_ssm_dtype"),
    )


def _falcon_h1(get: Get, layers: int) -> LinearState:
    expand, hidden = float(get("mamba_expand", 2)), int(get("hidden_size", 4096))
    inner = get("mamba_d_ssm")
    return LinearState(
        kind="mamba2",
        layers=tuple(range(layers)),
        attention_layers=tuple(range(layers)),
        heads=int(get("mamba_n_heads", 128)),
        head_dim=_head_dim(get, int(inner) if inner else int(expand * hidden), 128),
        state_size=int(get("mamba_d_state", 256)),
        groups=int(get("mamba_n_groups", 1)),
        intermediate=int(inner) if inner else int(expand * hidden),
        conv_kernel=int(get("mamba_d_conv", 4)),
        ssm_dtype=get("mamba_ssm_dtype"),
    )


def _head_dim(get: Get, intermediate: int, default_heads: int) -> int:
    size = get("mamba_d_head")
    return intermediate // int(get("mamba_n_heads", default_heads)) if size in (None, "auto") else int(size)


def _granite(get: Get, layers: int) -> LinearState | None:
    types = get("layer_types") or get("layers_block_type")
    if not isinstance(types, list) or "mamba" not in types:
        return None
    recurrent, attention = _split(types[:layers], {"mamba"}, {"attention"})
    inner = int(float(get("mamba_expand", 2)) * int(get("hidden_size", 4096)))
    return LinearState(
        kind="mamba2",
        layers=recurrent,
        attention_layers=attention,
        heads=int(get("mamba_n_heads", 128)),
        head_dim=_head_dim(get, inner, 128),
        state_size=int(get("mamba_d_state", 256)),
        groups=int(get("mamba_n_groups", 1)),
        intermediate=inner,
        conv_kernel=int(get("mamba_d_conv", 4)),
    )


def _kda(get: Get, layers: int) -> LinearState:
    shape = get("linear_attn_config")
    recurrent = tuple(sorted(int(i) - 1 for i in shape.get("kda_layers") or ()))
    heads, head_dim = int(shape["num_heads"]), int(shape["head_dim"])
    return LinearState(
        kind="kda",
        layers=recurrent,
        attention_layers=tuple(i for i in range(layers) if i not in set(recurrent)),
        heads=heads,
        head_dim=head_dim,
        state_size=head_dim,
        groups=heads,
        intermediate=heads * head_dim,
        conv_kernel=int(shape.get("short_conv_kernel_size", 4)),
    )


def _short_conv(get: Get, layers: int) -> LinearState | None:
    types = get("layer_types")
    if not isinstance(types, list):
        full = get("full_attn_idxs")
        if not isinstance(full, list):
            return None
        types = ["full_attention" if i in full else "conv" for i in range(layers)]
    recurrent, attention = _split(types, {"conv", "short_conv"}, {"full_attention"})
    hidden = int(get("hidden_size"))
    return LinearState("short_conv", recurrent, attention, 1, hidden, 0, 1, hidden, int(get("conv_L_cache", 3)))


def _jet(get: Get) -> LinearState | None:
    types = get("layer_types")
    blocks = get("efficient_attention_config")
    if not isinstance(types, list) or not isinstance(blocks, Mapping) or "jet" not in blocks:
        return None
    shape = blocks["jet"]
    recurrent, attention = _split(types, {"jet"}, {"attn", "swa"})
    heads, key_dim = int(shape["num_heads"]), int(shape["head_dim"])
    value_dim = int(key_dim * float(shape["expand_v"]))
    return LinearState(
        kind="gdn",
        layers=recurrent,
        attention_layers=attention,
        heads=heads,
        head_dim=value_dim,
        state_size=key_dim,
        groups=heads,
        intermediate=heads * value_dim,
        conv_kernel=int(shape["conv_size"]),
        ssm_dtype=get("mamba_ssm_dtype"),
    )


def _bailing(get: Get, layers: int) -> LinearState:
    group = get("layer_group_size", 1)
    if isinstance(group, list):
        kinds = ["linear" if mark == 1 else "full" for mark in group]
    else:
        kinds = ["full" if (i + 1) % int(group) == 0 else "linear" for i in range(layers)]
    recurrent, attention = _split(kinds, {"linear"}, {"full"})
    heads = int(get("num_attention_heads"))
    head_dim = int(get("head_dim") or int(get("hidden_size")) // heads)
    kernel = get("short_conv_kernel_size")
    if kernel is not None:
        return LinearState("kda", recurrent, attention, heads, head_dim, head_dim, heads, heads * head_dim, int(kernel))
    return LinearState("lightning", recurrent, attention, heads, head_dim, head_dim, 0, 0, 1)
