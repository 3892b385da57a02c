"""How many requests run at once: the estimate from the tokens, the user's flag, and what caps both."""

from __future__ import annotations

from packaging.version import Version

from logaudit.interval import Interval
from logaudit.sizing.arguments import Arguments, speculation
from logaudit.sizing.model import Input, Term
from logaudit.sizing.parallel import Layout

_EXTRA_SLOT_UNTIL = Version("0.4.7")
_FROM_FINAL_SINCE = Version("0.5.10")
_FLAG_UNBOUNDED_SINCE = Version("0.5.14")
_SPECULATIVE_DEFAULTS = ((Version("0.4.4.post4"), 48), (Version("0.4.3.post3"), 32))


def speculative_default(args: Arguments, release: Version) -> int | None:
    """The max_running_requests that SGLang sets where speculation is on and the user gives none; None elsewhere.

    Source: ServerArgs.__post_init__ from 0.4.3.post3 (32), from 0.4.4.post4 (48), later _handle_speculative_decoding. A
    complete dump shows the value itself.
    """
    if speculation(args) is None or args.given("max_running_requests"):
        return None
    return next((count for since, count in _SPECULATIVE_DEFAULTS if release >= since), None)


def estimated(tokens: Interval, context_length: int) -> Interval:
    """512 requests for every context length that fits, kept within 2048 and 4096."""

    def one(count: float) -> float:
        return float(min(max(int(count / max(context_length, 1) * 512), 2048), 4096))

    return Interval(one(tokens.value), one(tokens.low), one(tokens.high))


def table_size(args: Arguments, profiled: Interval, context_length: int | None, release: Version) -> Interval | None:
    """Requests of the request table before mamba caps it, until 0.5.9: the flag as given, or the estimate."""
    flag = args.whole("max_running_requests")
    if flag is not None:
        return Interval.exact(flag)
    return None if context_length is None else estimated(profiled, context_length)


def _half(tokens: Interval) -> Interval:
    return Interval(*(float(int(x) // 2) for x in (tokens.value, tokens.low, tokens.high)))


def running(
    args: Arguments,
    layout: Layout,
    release: Version,
    *,
    profiled: Interval,
    final: Interval,
    context_length: int | None,
    mamba_cap: Interval | None,
) -> tuple[Interval, Interval, Term] | None:
    """max_running_requests, the rows of the request table, and the term that says which limit binds.

    Source: TpModelWorker and init_memory_pool (until 0.5.9), _resolve_max_num_reqs (0.5.10+). The estimate stands on
    the tokens before the user's cap until 0.5.9 and on the final ones from 0.5.10; from 0.5.14 the flag is not held
    to the estimate any more. None without a flag and a context length.
    """
    flag = args.whole("max_running_requests")
    per_worker = None if flag is None else flag // layout.attn_dp
    shown = [args.input("max_running_requests", flag)] if flag is not None else []
    if context_length is not None:
        shown.append(Input("context length", str(context_length), "log"))
    shown.append(Input("tokens", f"{final.value:.0f}", "computed"))
    if release < _FROM_FINAL_SINCE:
        table = table_size(args, profiled, context_length, release)
        if table is None:
            return None
        if mamba_cap is not None:
            table = Interval.minimum(table, mamba_cap)
        if release < _EXTRA_SLOT_UNTIL:
            table = table + 1
        asked = _half(final) if per_worker is None else Interval.exact(per_worker)
        result = Interval.minimum(asked, table)
        limits = {"the request table": table.value, "half the tokens" if flag is None else "the flag": asked.value}
        source = "init_memory_pool, TpModelWorker"
    else:
        half = _half(final)
        if per_worker is not None and release >= _FLAG_UNBOUNDED_SINCE:
            parts = {"the flag": Interval.exact(max(1, per_worker)), "half the tokens": half}
        else:
            if context_length is None:
                return None
            estimate = estimated(final, context_length)
            asked = half if per_worker is None else Interval.exact(per_worker)
            name = "half the tokens" if per_worker is None else "the flag"
            parts = {"512 x tokens / context, within 2048 and 4096": estimate, name: asked}
        if mamba_cap is not None:
            parts["the mamba state slots"] = mamba_cap
        result = Interval.minimum(*parts.values())
        table = result
        limits = {name: part.value for name, part in parts.items()}
        source = "_resolve_max_num_reqs"
    binding = min(limits, key=lambda name: limits[name])
    text = "min(" + ", ".join(f"{name} {value:.0f}" for name, value in limits.items()) + f"): {binding} binds"
    return result, table, Term("max_running_requests", text, tokens=result, inputs=tuple(shown), source=source)
