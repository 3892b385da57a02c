"""The mem_fraction_static that a release chooses when the user gives none, with the parts of its reserve."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from packaging.version import Version

from logaudit.interval import Interval
from logaudit.sglang.architectures import MULTIMODAL_OFF_BY_DEFAULT
from logaudit.sglang.model_config import ModelConfig
from logaudit.sizing.arguments import Arguments, speculation
from logaudit.sizing.model import Input, Term
from logaudit.sizing.parallel import Layout, layout

_MIB_PER_GIB = 1024
_TABLE = ((16, 0.79), (8, 0.81), (4, 0.85), (2, 0.87), (1, 0.88))
_LARGEST_OF_TABLE_MIB = 81920
_LARGEST_CAPTURE = 1 << 20
_WITHOUT_GPU = 0.88


@dataclass(frozen=True, slots=True)
class AutomaticFraction:
    """The fraction, what it reserves, and why."""

    value: float
    """As SGLang computes it, unrounded where SGLang does not round."""
    gpu_memory_mib: float
    reserved_mib: float | None
    """What the rule keeps free; None for the tables of the early releases."""
    terms: tuple[Term, ...]
    """Parts of the reserve (GiB in `gib`), then the fraction (in `number`)."""
    rule: str
    """Releases and function of the rule."""
    assumptions: tuple[str, ...] = ()


@dataclass(slots=True)
class _Reserve:
    """The reserve as it is added up, in MiB."""

    args: Arguments
    config: ModelConfig | None
    groups: Layout
    gpu: float
    release: Version
    mla: bool | None
    parts: list[Term] = field(default_factory=list)
    total: float = 0.0
    assumptions: list[str] = field(default_factory=list)

    def add(self, name: str, mib: float, text: str, *inputs: Input) -> None:
        if mib:
            self.total += mib
            self.parts.append(Term(name, text, gib=Interval.exact(mib / _MIB_PER_GIB), inputs=inputs))

    def floor(self, mib: float, text: str) -> None:
        if self.total < mib:
            self.parts.append(Term("floor", text, gib=Interval.exact((mib - self.total) / _MIB_PER_GIB)))
            self.total = mib


def automatic_fraction(
    release: Version,
    args: Mapping[str, object],
    config: ModelConfig | None,
    gpu_memory_gib: float,
    device: str = "cuda",
    *,
    mla: bool | None = None,
    multimodal: bool | None = None,
) -> AutomaticFraction | None:
    """The fraction that `release` chooses without --mem-fraction-static on a GPU of this size.

    `args` are the server arguments as dumped (resolved) or as given; `gpu_memory_gib` is the card's total as nvidia-smi
    counts it. `mla` and `multimodal` stand in for a config. Source: ServerArgs.__post_init__ (until 0.5.2),
    _handle_gpu_memory_settings (0.5.3+). None where the rule needs what is not known.
    """
    view = Arguments(args, known=True, release=release)
    if device != "cuda" or gpu_memory_gib <= 0 or release < Version("0.4.0"):
        return None
    gpu = float(math.floor(gpu_memory_gib * _MIB_PER_GIB))
    groups = layout(view)
    uses_latent = config.mla if config is not None else mla
    reserve = _Reserve(view, config, groups, gpu, release, uses_latent)
    rule = next(make for until, make in _RULES if until is None or release < until)
    value = rule(reserve)
    if value is None:
        return None
    final = _multimodal(reserve, value, multimodal)
    if final is None:
        return None
    terms = [*reserve.parts]
    terms.append(
        Term(
            "mem_fraction_static",
            f"({gpu:.0f} - {reserve.total:.0f}) / {gpu:.0f} MiB = {value:.3f}"
            if reserve.total
            else f"table of {release}: {value:g}",
            number=Interval.exact(final),
            unit="fraction",
            inputs=(Input("GPU memory", f"{gpu_memory_gib:g} GiB", "given"),),
            source=_source(release),
        )
    )
    return AutomaticFraction(
        final, gpu, reserve.total or None, tuple(terms), _source(release), tuple(reserve.assumptions)
    )


def _source(release: Version) -> str:
    return "ServerArgs.__post_init__" if release < Version("0.5.3") else "_handle_gpu_memory_settings"


def _table(ranks: int) -> float:
    return next(value for least, value in _TABLE if ranks >= least)


def _until_045(reserve: _Reserve) -> float:
    return _table(reserve.groups.tp)


def _045_post3_to_046_post1(reserve: _Reserve) -> float:
    if reserve.gpu <= _LARGEST_OF_TABLE_MIB:
        return _table(reserve.groups.tp)
    reserve.add("activations and graphs", 13312, "13 GiB on cards above 80 GiB")
    return (reserve.gpu - reserve.total) / reserve.gpu


def _046_post2_to_047(reserve: _Reserve) -> float:
    gpu = reserve.gpu
    base = _table(reserve.groups.tp * reserve.groups.pp) if gpu <= _LARGEST_OF_TABLE_MIB else 0.88
    since_047 = reserve.release >= Version("0.4.7")
    speculative = since_047 and speculation(reserve.args) is not None
    if since_047 and gpu > 180 * 1000:
        return 0.79
    if gpu > 96 * 1024:
        kept = 1024 * (20 if speculative else 18)
        by_reserve = (gpu - kept) / gpu
        by_table = base + 48 * 1024 * (1 - base) / gpu
        if by_reserve <= by_table:
            reserve.add("activations and graphs", kept, "20 GiB with speculation (0.4.7), else 18 GiB")
        return min(by_table, by_reserve)
    return base * 0.95 if speculative else base


def _047_post1_to_052(reserve: _Reserve) -> float:
    ranks = reserve.groups.tp * reserve.groups.pp
    gpu = reserve.gpu
    if gpu < 35 * 1024:
        reserve.add("activations and graphs", (2.8 + ranks / 10) * 1024, f"2.8 GiB + {ranks} ranks / 10")
    elif gpu < 90 * 1024:
        reserve.add("activations and graphs", (9.5 + ranks / 2) * 1024, f"9.5 GiB + {ranks} ranks / 2")
    elif gpu < 160 * 1024:
        reserve.add("activations and graphs", (12 + ranks / 2) * 1024, f"12 GiB + {ranks} ranks / 2")
    else:
        reserve.add("activations and graphs", 32 * 1024, "32 GiB on cards from 160 GiB")
    _speculative(reserve, eagle_gib=2, standalone_gib=6 if reserve.release >= Version("0.5.2") else 2)
    if reserve.groups.dp_attention:
        reserve.add("DP attention", 4 * 1024, "4 GiB")
    return round((gpu - reserve.total) / gpu, 3)


def _speculative(reserve: _Reserve, *, eagle_gib: int, standalone_gib: int) -> None:
    algorithm = speculation(reserve.args)
    if algorithm is None:
        return
    if algorithm == "STANDALONE":
        reserve.add("speculation", standalone_gib * 1024, f"{standalone_gib} GiB for the draft and its graphs")
    elif algorithm != "NGRAM" or reserve.release < Version("0.5.3"):
        reserve.add("speculation", eagle_gib * 1024, f"{eagle_gib} GiB for the draft and its graphs")


_SIZES: tuple[tuple[float, int, int, int], ...] = (
    (20 * 1024, 2048, 8, 8),
    (35 * 1024, 2048, 24, 80),
    (60 * 1024, 4096, 32, 160),
    (160 * 1024, 8192, 256, 512),
    (math.inf, 16384, 512, 512),
)
"""Card size below which, prefill chunk, largest graph batch for tp < 4 and for tp >= 4."""


def _defaults(reserve: _Reserve) -> tuple[int, int]:
    """Prefill chunk and largest graph batch that the card's size gives."""
    _, chunk, small, large = next(row for row in _SIZES if reserve.gpu < row[0])
    if 20 * 1024 <= reserve.gpu < 35 * 1024:
        if reserve.release >= Version("0.5.19"):
            chunk, small, large = 4096, 48, 160
        elif reserve.release < Version("0.5.4.post1"):
            small = 16
    return chunk, small if reserve.groups.tp < 4 else large


def _chunk(reserve: _Reserve) -> int:
    """The prefill chunk when the reserve was computed: DP attention divides the dumped one afterwards."""
    dumped = reserve.args.whole("chunked_prefill_size")
    if dumped is None:
        return _defaults(reserve)[0]
    return dumped * reserve.groups.attn_dp if dumped > 0 and reserve.groups.attn_dp > 1 else dumped


def _phase(reserve: _Reserve, name: str) -> Mapping[str, object]:
    graphs = reserve.args.get("cuda_graph_config")
    phase = graphs.get(name) if isinstance(graphs, Mapping) else None
    return phase if isinstance(phase, Mapping) else {}


def _largest_batch(reserve: _Reserve) -> int:
    """Largest decode batch that graphs are captured for."""
    value = _phase(reserve, "decode").get("max_bs")
    if isinstance(value, int):
        return value
    for key in ("cuda_graph_max_bs", "cuda_graph_max_bs_decode"):
        given = reserve.args.whole(key)
        if given is not None:
            return given
    default = _defaults(reserve)[1]
    running = reserve.args.whole("max_running_requests")
    if reserve.release >= Version("0.5.20") and running is not None:
        return min(default, running)
    return default


def capture_sizes(largest: int) -> list[int]:
    """Token counts that prefill graphs are captured for, up to `largest` (_generate_prefill_cuda_graph_batch_sizes)."""
    sizes = [
        *range(4, 33, 4),
        *range(48, 257, 16),
        *range(288, 513, 32),
        *range(576, 1025, 64),
        *range(1280, 4097, 256),
        *range(4608, min(largest, _LARGEST_CAPTURE) + 1, 512),
    ]
    return [size for size in sizes if size <= largest]


def _activations(reserve: _Reserve) -> None:
    args, release = reserve.args, reserve.release
    reserve.add("metadata", 512, "0.5 GiB for attention backends")
    if args.text("disaggregation_mode") == "decode" and release >= Version("0.5.15"):
        running = args.whole("max_running_requests") or _largest_batch(reserve) or 1
        tokens = running * (args.whole("speculative_num_draft_tokens") or 1)
        text = "1.5 MiB for each token of a decode batch"
    else:
        chunk = _chunk(reserve)
        tokens = chunk if chunk > 0 else args.whole("max_prefill_tokens") or 16384
        text = "1.5 MiB for each token of a prefill chunk"
    tokens = max(tokens, 2048)
    reserve.add("activations", tokens * 1.5, f"{text}: {tokens}", args.input("chunked_prefill_size", tokens))


def _parallel(reserve: _Reserve) -> None:
    ranks = reserve.groups.tp * reserve.groups.pp
    reserve.add("parallel ranks", ranks / 8 * 1024, f"{ranks} ranks / 8 GiB")


def _decode_graphs(reserve: _Reserve) -> None:
    largest = _largest_batch(reserve)
    by_mode = reserve.release >= Version("0.5.15")
    prefill_only = by_mode and reserve.args.text("disaggregation_mode") == "prefill"
    disabled = by_mode and _phase(reserve, "decode").get("backend") == "disabled"
    if not prefill_only and not disabled:
        reserve.add("decode graphs", largest * 2, f"2 MiB for each of {largest} requests")
    if reserve.groups.dp_attention and not prefill_only and not _switched_on_later(reserve):
        each = 4.5 if largest > 300 else 3
        reserve.add(
            "DP attention",
            largest * reserve.groups.attn_dp * each,
            f"{each:g} MiB x {largest} requests x {reserve.groups.attn_dp} groups",
        )


def _switched_on_later(reserve: _Reserve) -> bool:
    """Whether SGLang turned DP attention on after it had chosen the fraction: 0.5.4 and 0.5.5, sparse attention."""
    return (
        reserve.release < Version("0.5.6")
        and reserve.config is not None
        and reserve.config.is_dsa
        and reserve.groups.attn_dp == reserve.groups.tp
    )


def _prefill_graphs(reserve: _Reserve) -> bool:
    """Adds the reserve for prefill graphs; False when it hangs on whether the model is MLA, and that is not known."""
    release, args = reserve.release, reserve.args
    if release >= Version("0.5.14"):
        phase = _phase(reserve, "prefill")
        backend = phase.get("backend")
        if backend == "disabled" or args.flag("disable_prefill_cuda_graph"):
            return True
        if release >= Version("0.5.15") and args.text("disaggregation_mode") == "decode":
            return True
        sizes = phase.get("bs")
        largest = phase.get("max_bs")
    elif release >= Version("0.5.10"):
        if args.flag("disable_piecewise_cuda_graph"):
            return True
        sizes, largest, backend = (
            args.get("piecewise_cuda_graph_tokens"),
            args.whole("piecewise_cuda_graph_max_tokens"),
            "",
        )
    else:
        if release < Version("0.5.8") or not args.flag("enable_piecewise_cuda_graph"):
            return True
        sizes = args.get("piecewise_cuda_graph_tokens")
        count = len(sizes) if isinstance(sizes, list) else len(capture_sizes(_chunk(reserve)))
        reserve.add("prefill graphs", count * 8, f"8 MiB for each of {count} sizes")
        return True
    if reserve.mla is None:
        return False
    if reserve.mla:
        reserve.add("prefill graphs", 1.5 * 1024, "1.5 GiB for a model with latent attention")
    else:
        if isinstance(sizes, list):
            count = len(sizes)
        else:
            count = len(capture_sizes(largest if isinstance(largest, int) else _chunk(reserve)))
        reserve.add("prefill graphs", count * 8, f"8 MiB for each of {count} sizes")
    if release >= Version("0.5.16") and backend == "breakable" and args.text("moe_a2a_backend") == "deepep":
        reserve.add("DeepEP in prefill graphs", 1024, "1 GiB")
    return True


def _since_053(reserve: _Reserve) -> float | None:
    release = reserve.release
    if reserve.args.flag("enable_post_capture_kv_sizing"):
        return None
    _activations(reserve)
    _parallel(reserve)
    _decode_graphs(reserve)
    if not _prefill_graphs(reserve):
        return None
    if reserve.gpu > 60 * 1024:
        reserve.floor(10 * 1024, "at least 10 GiB on cards above 60 GiB")
    if release < Version("0.5.14"):
        _speculative(reserve, eagle_gib=4 if release >= Version("0.5.10") else 2, standalone_gib=6)
    if Version("0.5.5.post1") <= release < Version("0.5.8") and reserve.args.flag("enable_piecewise_cuda_graph"):
        largest = reserve.args.whole("piecewise_cuda_graph_max_tokens") or _chunk(reserve)
        share = 4 if release < Version("0.5.7") else 8
        reserve.add("prefill graphs", largest // share, f"{largest} tokens / {share} MiB")
    decode_off = _phase(reserve, "decode").get("backend") == "disabled"
    if (
        release >= Version("0.5.15")
        and reserve.args.text("moe_a2a_backend") == "deepep"
        and reserve.args.text("disaggregation_mode") != "prefill"
        and not decode_off
    ):
        reserve.add("DeepEP buffers", 2 * 1024, "2 GiB")
    return round((reserve.gpu - reserve.total) / reserve.gpu, 3)


def _multimodal(reserve: _Reserve, value: float, told: bool | None) -> float | None:
    """The factor for models with a vision tower; None when it hangs on a config that is not given."""
    config, release, args = reserve.config, reserve.release, reserve.args
    if config is None and told is None:
        return value
    has_vision = config.multimodal if config is not None else bool(told)
    if config is not None and config.architecture in MULTIMODAL_OFF_BY_DEFAULT and not args.flag("enable_multimodal"):
        has_vision = False
    if args.get("enable_multimodal") is False or args.flag("language_only") or args.flag("language_model_only"):
        has_vision = False
    if not has_vision or (release >= Version("0.5.15") and args.text("disaggregation_mode") == "decode"):
        return value
    if release < Version("0.4.9.post3"):
        kept = 0.95 if release < Version("0.4.4.post4") else 0.90
        reserve.parts.append(Term("multimodal", f"x {kept:g} for the image processor", number=Interval.exact(kept)))
        return value * kept
    if config is None:
        return None
    if not config.has_vision_config:
        return value
    layers, hidden = config.vision_layers or 24, config.vision_hidden_size or 1024
    size = layers * hidden**2 / (24 * 1024**2)
    factor = 0.95 * max(0.8, min(1.05, 1.0 - 0.1 * (size - 1.0)))
    reserve.parts.append(
        Term(
            "multimodal",
            f"x {factor:.4f} for a vision tower of {layers} layers of {hidden} (adjust_mem_fraction_for_vlm)",
            number=Interval.exact(factor),
        )
    )
    return value * factor


_RULES: tuple[tuple[Version | None, Callable[[_Reserve], float | None]], ...] = (
    (Version("0.4.5.post3"), _until_045),
    (Version("0.4.6.post2"), _045_post3_to_046_post1),
    (Version("0.4.7.post1"), _046_post2_to_047),
    (Version("0.5.3"), _047_post1_to_052),
    (None, _since_053),
)
"""First release in which the rule no longer holds, and the rule."""


def infer_fraction(before: Interval, after: Interval, pools_gib: Interval) -> Interval | None:
    """The fraction under which pools of this size are left: 1 - (after - pools) / before; None without a reading."""
    if before.low <= 0:
        return None
    return 1 - (after - pools_gib) / before


def smallest_fraction(before: Interval, after: Interval) -> Interval | None:
    """The fraction above which anything is left for the pools: 1 - after / before; None without a reading."""
    if before.low <= 0:
        return None
    return 1 - after / before
