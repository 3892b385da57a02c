"""The type that the KV cache is kept in, and what one element of it costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from packaging.version import Version

from logaudit.sglang.model_config import ModelConfig
from logaudit.sizing.arguments import Arguments
from logaudit.sizing.model import Input, SizingInputs

Scheme = Literal["plain", "fp4", "mxfp8"]

_BYTES = {
    "bfloat16": 2,
    "bf16": 2,
    "float16": 2,
    "half": 2,
    "fp16": 2,
    "float32": 4,
    "float": 4,
    "fp8_e5m2": 1,
    "fp8_e4m3": 1,
    "float8_e5m2": 1,
    "float8_e4m3fn": 1,
    "float8_e4m3fnuz": 1,
    "float8_e5m2fnuz": 1,
    "mxfp8": 1,
    "int8": 1,
}
_FP4 = {"fp4_e2m1", "float4_e2m1fn_x2", "nvfp4", "fp4_mx_block16"}
_FP4_BY_BACKEND = {"nvfp4", "fp4_mx_block16"}
_CHECKPOINT_SCHEME_SINCE = Version("0.5.3")


@dataclass(frozen=True, slots=True)
class KvDtype:
    """How one KV element is stored."""

    name: str
    element_bytes: int
    """Bytes of one element as SGLang counts them before the scheme's correction (FP4 counts 1)."""
    scheme: Scheme
    origin: Input

    @property
    def scales_by_backend(self) -> bool:
        """An FP4 recipe that keeps one or two sets of scales and a workspace as its attention backends need."""
        return self.name in _FP4_BY_BACKEND

    @property
    def is_fp8(self) -> bool:
        """A plain 8-bit float."""
        return self.element_bytes == 1 and self.scheme == "plain"


def named(text: str, origin: str = "server_args") -> KvDtype | None:
    """The type of this name, None for a name that says nothing of its size."""
    name = text.removeprefix("torch.").lower()
    shown = Input("KV cache dtype", name, origin)
    if name in _FP4:
        return KvDtype(name, 1, "fp4", shown)
    if name == "mxfp8":
        return KvDtype(name, 1, "mxfp8", shown)
    size = _BYTES.get(name)
    return None if size is None else KvDtype(name, size, "plain", shown)


def resolve(inputs: SizingInputs, args: Arguments) -> KvDtype | None:
    """The KV dtype: what the log printed, else the argument, else the checkpoint's own scheme, else the model's type.

    Source: configure_kv_cache_dtype. `uint8` and other storage names decide nothing. None when nothing tells.
    """
    asked = args.text("kv_cache_dtype") or "auto"
    argument = None if asked == "auto" else named(asked, "server_args")
    if argument is not None and argument.scheme != "plain":
        printed = named(inputs.kv_dtype, "log") if inputs.kv_dtype else None
        return printed if printed is not None and printed.element_bytes > 1 else argument
    if inputs.kv_dtype:
        printed = named(inputs.kv_dtype, "log")
        if printed is not None:
            return printed
    if argument is not None:
        return argument
    config = inputs.config
    if config is None:
        weights = args.text("dtype")
        return named(weights, "server_args") if weights and weights != "auto" and inputs.kv_dtype is None else None
    if config.is_dsv4:
        return named("fp8_e4m3", f"default of {inputs.release}")
    if inputs.release >= _CHECKPOINT_SCHEME_SINCE and (config.kv_cache_quant_algo or "").startswith("FP8"):
        return named("fp8_e4m3", "model_config")
    return named(weight_dtype(config, args), "model_config")


def weight_dtype(config: ModelConfig, args: Arguments) -> str:
    """The model's type: --dtype, or the checkpoint's."""
    asked = args.text("dtype") or "auto"
    return config.dtype if asked in {"auto", ""} else asked
