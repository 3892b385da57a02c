"""What would let the cache hold more: each change with its gain, cost and risk, computed by the same formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from packaging.version import Version

from logaudit.interval import GIB, Interval
from logaudit.reconcile import measures
from logaudit.reconcile.case import Case
from logaudit.reconcile.whatif import WhatIf, what_if

TOO_HIGH = 0.99
"""A fraction from here on is no option."""
STEP = 0.02
"""How far the fraction is raised where the release's own rule gives no higher one."""
LEAST_STEP = 0.005
"""A higher fraction by less than this is not worth a restart."""
LEAST_GAIN = 0.01
"""An option that adds less than this share of today's tokens is not worth a row."""
DECIMAL_GB = 1e9
HICACHE_RATIO = 2.0
HICACHE_SINCE = Version("0.4.5")


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing that could be changed."""

    change: str
    flag: str
    tokens: Interval | None
    headroom_gib: Interval | None
    risk: str
    why: str


def _flag(changes: Mapping[str, object]) -> str:
    parts = []
    for name, value in changes.items():
        spelled = f"--{name.replace('_', '-')}"
        parts.append(spelled if value is True else f"{spelled} {value}")
    return " ".join(parts)


def _gain(result: WhatIf) -> str:
    now, then = result.today.tokens, result.changed.tokens
    if now is None or then is None or now.value <= 0:
        return ""
    return f"× {then.value / now.value:.2f}"


def _worth(result: WhatIf) -> bool:
    now, then = result.today.tokens, result.changed.tokens
    left = result.changed.headroom_gib
    if result.missing or now is None or then is None or (left is not None and left.value <= 0):
        return False
    return then.value > now.value * (1 + LEAST_GAIN)


def _room(case: Case, keep_gib: float) -> float | None:
    """The fraction, with three decimals, at which what is left at the end falls to `keep_gib`; None without room."""
    left, start = measures.left(case), measures.before(case)
    if case.fraction is None or left is None or start is None or start.value <= 0 or left.value <= keep_gib:
        return None
    now = case.fraction.interval.value
    target = min(measures.down(now + (left.value - keep_gib) / start.value), TOO_HIGH)
    while target > now:
        result = what_if(case, {"mem_fraction_static": target})
        if result.changed.headroom_gib is None or result.changed.headroom_gib.value >= keep_gib:
            break
        target = measures.down(target - 0.001)
    return target if target >= now + LEAST_STEP else None


def _fraction(case: Case) -> Choice | None:
    """A higher fraction: to where the rest meets the release's own reserve, else one step with its warning."""
    if case.fraction is None:
        return None
    now, stick = case.fraction.interval.value, measures.yardstick(case)
    room = None if stick is None else _room(case, stick.gib)
    target = room if room is not None else round(now + STEP, 3)
    if target >= TOO_HIGH:
        return None
    result = what_if(case, {"mem_fraction_static": target})
    left = result.changed.headroom_gib
    if not _worth(result) or left is None:
        return None
    card = " (card size guessed)" if stick is not None and stick.guessed else ""
    if room is not None and stick is not None:
        risk = "low: the release's own rule keeps no more"
        why = f"leaves the {stick.gib:.2f} GiB that SGLang {case.release}'s own rule keeps for activations{card}"
    elif stick is not None:
        risk = "less room for activations than SGLang's own rule keeps: out of memory at run time"
        why = f"SGLang {case.release}'s own rule would keep {stick.gib:.2f} GiB for activations{card}"
    else:
        risk, why = "less room for activations", f"{now:g} is what runs today"
    return Choice(
        "raise the fraction",
        f"--mem-fraction-static {target:g}",
        result.changed.tokens,
        left,
        risk,
        f"{_gain(result)}: {why}",
    )


def _fp8(case: Case) -> Choice | None:
    """An 8-bit cache, where it is 16 bits wide today."""
    inputs = case.inputs
    if inputs is None or inputs.device not in {"cuda", "hip", "rocm"}:
        return None
    printed = str(inputs.kv_dtype or inputs.args.get("kv_cache_dtype") or "")
    if any(mark in printed for mark in ("fp8", "float8", "fp4", "float4", "int8")):
        return None
    changes = {"kv_cache_dtype": "fp8_e4m3"}
    result = what_if(case, changes)
    if not _worth(result):
        return None
    return Choice(
        "8-bit KV cache",
        _flag(changes),
        result.changed.tokens,
        result.changed.headroom_gib,
        "check accuracy on your own prompts",
        f"{_gain(result)}: half the bytes a token",
    )


def _dp_attention(case: Case) -> Choice | None:
    """Attention data parallelism: MLA stores the same tokens on every tensor-parallel rank."""
    inputs, expectation = case.inputs, case.expectation
    if inputs is None or expectation is None or expectation.attention not in {"mla", "dsa"}:
        return None
    tp = inputs.args.get("tp_size")
    if not isinstance(tp, int) or tp < 2 or inputs.args.get("enable_dp_attention"):
        return None
    changes: dict[str, object] = {"dp_size": tp, "enable_dp_attention": True}
    result = what_if(case, changes)
    if result.missing or result.changed.tokens is None:
        return None
    total = result.changed.tokens * tp
    return Choice(
        "DP attention",
        f"--dp {tp} --enable-dp-attention",
        total,
        result.changed.headroom_gib,
        "attention weights are copied to every GPU, which this sum leaves out; a request sees one replica's cache only",
        f"MLA keeps the same tokens on all {tp} GPUs; {tp} replicas hold {result.changed.tokens.value:,.0f} each",
    )


def _lower(case: Case, name: str, default: float, target: float) -> WhatIf | None:
    value = case.launch.args.get(name)
    now = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else default
    return what_if(case, {name: target}) if now > target else None


def _window_ratio(case: Case) -> Choice | None:
    """A smaller pool for the sliding-window layers."""
    if case.expectation is None or case.expectation.attention != "swa":
        return None
    result = _lower(case, "swa_full_tokens_ratio", 0.8, 0.4)
    if result is None or not _worth(result):
        return None
    return Choice(
        "smaller sliding-window pool",
        _flag(result.changes),
        result.changed.tokens,
        result.changed.headroom_gib,
        "many short requests can run out of window tokens first",
        f"{_gain(result)}: window layers need only their window",
    )


def _state_ratio(case: Case) -> Choice | None:
    """Less memory for recurrent state, more for tokens."""
    if case.expectation is None or case.expectation.attention != "hybrid":
        return None
    result = _lower(case, "mamba_full_memory_ratio", 0.9, 0.4)
    if result is None or not _worth(result):
        return None
    requests = result.changed.max_running_requests
    shown = "" if requests is None else f" ({requests:,} instead of {result.today.max_running_requests or 0:,})"
    return Choice(
        "less state, more tokens",
        _flag(result.changes),
        result.changed.tokens,
        result.changed.headroom_gib,
        f"fewer requests run at once{shown}",
        f"{_gain(result)}: the state pool is taken off before the KV cache",
    )


def _hicache(case: Case) -> Choice | None:
    """Reuse from host memory: nothing changes on the GPU."""
    now, release = case.comparison.actual_tokens, case.release
    if now is None or case.kv_gib is None or release is None or release < HICACHE_SINCE:
        return None
    args = case.launch.args
    if args.get("enable_hierarchical_cache") or args.get("disable_radix_cache"):
        return None
    ranks = max(1, len(case.launch.ranks))
    host_gb = HICACHE_RATIO * case.kv_gib.value * GIB * ranks / DECIMAL_GB
    left = case.ledgers[0].free if case.ledgers else None
    return Choice(
        "hierarchical cache",
        f"--enable-hierarchical-cache --hicache-ratio {HICACHE_RATIO:g}",
        Interval.exact(now),
        left,
        f"needs {host_gb:,.0f} GB of host memory over {ranks} rank{'s' if ranks > 1 else ''}",
        "the same tokens on the GPU; prefixes are reused from host memory",
    )


def _fewer_graphs(case: Case) -> Choice | None:
    """Smaller graphs: memory for activations or for a higher fraction."""
    rank, now = case.rank, case.comparison.actual_tokens
    if rank is None or now is None or not case.ledgers or case.release is None:
        return None
    taken = case.ledgers[0].total("graphs", "draft-graphs")
    free = case.ledgers[0].free
    if free is None or taken.value < 1.0:
        return None
    batch = measures.largest_graph_batch(case)
    if batch is None or batch < 2:
        return None
    gained = Interval(free.value + taken.value / 2, free.value, free.value + taken.value)
    return Choice(
        "fewer graphs",
        f"{measures.flag(measures.graph_argument(case))} {batch // 2}",
        Interval.exact(now),
        gained,
        "larger batches decode without graphs, slower",
        f"graphs take {taken.value:.2f} GiB; that half the sizes take half of it is an estimate",
    )


OPTIONS: tuple[Callable[[Case], Choice | None], ...] = (
    _fp8,
    _fraction,
    _dp_attention,
    _window_ratio,
    _state_ratio,
    _hicache,
    _fewer_graphs,
)


def options_of(case: Case) -> tuple[Choice, ...]:
    """Every option that applies to a start whose pools were sized; none where the log stops before the start ends."""
    if case.expectation is None or case.comparison.actual_tokens is None or case.launch.outcome == "incomplete":
        return ()
    return tuple(choice for make in OPTIONS if (choice := make(case)) is not None)
