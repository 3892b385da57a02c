"""Which of SGLang's pool rules a launch falls under."""

from __future__ import annotations

from typing import Literal

from packaging.version import Version

from logaudit.sglang import architectures as archs
from logaudit.sizing.arguments import Arguments
from logaudit.sizing.model import SizingInputs
from logaudit.sizing.printed import find, shows_bf16_indexer

Attention = Literal["mha", "mla", "dsa", "swa", "hybrid", "dsv4", "unknown"]

_LINEAR_SINCE = Version("0.5.2")
_SPARSE_SINCE = Version("0.5.3")


def names(inputs: SizingInputs) -> tuple[str, ...]:
    """Architectures from the config, else the class that the load line names."""
    if inputs.config is not None and inputs.config.architectures:
        return inputs.config.architectures
    return (inputs.architecture,) if inputs.architecture else ()


def llama4_ratio(inputs: SizingInputs, args: Arguments) -> bool:
    """Whether --hybrid-kvcache-ratio splits Llama 4's pool (ModelConfig.is_hybrid, 0.4.9 to 0.5.7)."""
    if not (Version("0.4.9") <= inputs.release < Version("0.5.8")) or args.number("hybrid_kvcache_ratio", 0.0) <= 0:
        return False
    chunk = inputs.config.attention_chunk_size if inputs.config else None
    context = (
        args.whole("context_length") or inputs.context_length or (inputs.config.context_length if inputs.config else 0)
    )
    return "Llama4ForConditionalGeneration" in names(inputs) and (chunk is None or context > chunk)


def is_sparse(found: tuple[str, ...], args: Arguments) -> bool:
    """Whether a log without a config shows sparse attention: by the architecture's name, else by its backend.

    The load line names DeepSeek-V3.2's class like V3's; only the resolved attention backend tells them apart.
    """
    if not any(name in archs.DSA for name in found):
        return False
    return any("V32" in name or "Dsa" in name for name in found) or args.text("attention_backend") in {"nsa", "dsa"}


def may_be_sparse(found: tuple[str, ...], args: Arguments) -> bool:
    """Whether neither the name nor the arguments decide if the attention is sparse."""
    possible = args.release >= _SPARSE_SINCE and any(name in archs.DSA for name in found)
    return possible and args.text("attention_backend") is None


def classify(inputs: SizingInputs, args: Arguments) -> tuple[Attention, tuple[str, ...]]:
    """The kind of pool, and what was assumed to find it.

    The release's list of architectures decides; where the log shows the target's pools they have the last word on
    whether the window layers have one of their own.
    """
    found = names(inputs)
    config = inputs.config
    window_pool = bool(find(inputs.pools, ("swa", "SWA")))
    one_pool = bool(find(inputs.pools, ("kv",))) and not window_pool
    state_pool = bool(find(inputs.pools, ("mamba",)))
    if any(name in archs.DSV4 for name in found) or inputs.dsv4_bytes_per_token is not None:
        return "dsv4", ()
    if config is not None and config.linear is not None and config.linear.layers and inputs.release >= _LINEAR_SINCE:
        return "hybrid", ()
    if config is None and (state_pool or any(name.startswith(archs.RECURRENT_PREFIXES) for name in found)):
        return "hybrid", ()
    if args.flag("disable_hybrid_swa_memory") and not window_pool:
        split = False
    else:
        split = archs.splits_sliding_window(
            found,
            inputs.release,
            opted_in=config.swa_opted_in if config else False,
            has_window=bool(config.sliding_window and config.swa_layers) if config else True,
        ) or llama4_ratio(inputs, args)
    said: tuple[str, ...] = ()
    if split and one_pool:
        said = ("the log shows one KV pool, so the sliding-window layers are taken to have none of their own",)
        split = False
    elif not split and window_pool:
        said = ("the log shows a pool for the sliding-window layers",) if inputs.release >= Version("0.5.7") else ()
        split = True
    if split and (config is None or config.swa_layers):
        return "swa", said
    if config is not None:
        return ("dsa" if config.is_dsa else "mla" if config.mla else "mha"), said
    target = find(inputs.pools, ("kv", "full", "Full"))
    if is_sparse(found, args):
        return "dsa", said
    page = inputs.page_size or args.whole("page_size") or 1
    if any(name in archs.DSA for name in found) and shows_bf16_indexer(inputs, page):
        return "dsa", said
    if archs.is_mla(found, has_latent=any(p.mla for p in target)) or any(p.mla for p in target):
        return "mla", said
    if target or found:
        return "mha", said
    return "unknown", said
