"""Numbers as words: thousands separated, two decimals for GiB, `unknown` for what is not known."""

from __future__ import annotations

from datetime import datetime

from logaudit.report.document import Bounds, RankInfo, SourceInfo, VersionBracket

UNKNOWN = "unknown"


def gib(value: float | None) -> str:
    """GiB with the two decimals that SGLang prints."""
    if value is None:
        return UNKNOWN
    text = f"{value:,.2f}"
    return "0.00" if text == "-0.00" else text.replace("-", "−")


def count(value: float | None) -> str:
    """A whole number of tokens, slots or requests."""
    return UNKNOWN if value is None else f"{value:,.0f}".replace("-", "−")


def number(value: float | None) -> str:
    """Any figure: whole ones without decimals, small ones with four significant digits."""
    if value is None:
        return UNKNOWN
    if float(value).is_integer() or abs(value) >= 10_000:
        return count(value)
    return f"{value:,.4g}".replace("-", "−")


def range_of(bounds: Bounds | None, unit: str) -> str:
    """`10.41 to 10.43` where rounding leaves an interval; empty where the figure is exact or unknown."""
    if bounds is None:
        return ""
    show = gib if unit == "GiB" else number
    low, high = show(bounds.low), show(bounds.high)
    if low == high:
        return ""
    return f"{low} to {high}"


def rank_name(rank: RankInfo) -> str:
    """`TP0`, `DP1 TP0`, `node 1 TP8`; `GPU` where the log names no rank."""
    parts = [f"node {rank.node}"] if rank.node is not None else []
    for label, value in (("PP", rank.pp), ("DP", rank.dp), ("TP", rank.tp), ("EP", rank.ep)):
        if value is not None:
            parts.append(f"{label}{value}")
    return " ".join(parts) or "GPU"


def rank_names(ranks: list[RankInfo]) -> str:
    """Several ranks in one label: `TP0 to TP7`, `TP0, TP2`, `DP0 TP0, … (16 ranks)`."""
    names = list(dict.fromkeys(rank_name(rank) for rank in ranks))
    if len(names) == 1:
        return names[0]
    alone = [rank.tp for rank in ranks if rank.tp is not None and (rank.pp, rank.dp, rank.ep, rank.node) == (None,) * 4]
    if len(alone) == len(names) and sorted(alone) == list(range(min(alone), max(alone) + 1)) and len(names) > 2:
        return f"TP{min(alone)} to TP{max(alone)}"
    if len(names) <= 4:
        return ", ".join(names)
    return f"{names[0]} … {names[-1]} ({len(names)} ranks)"


def moment(iso: str | None) -> str:
    """`2026-11-29 13:35:05` from an ISO 8601 time."""
    return iso.replace("T", " ") if iso else UNKNOWN


def clock(iso: str | None) -> str:
    """`13:35:05` from an ISO 8601 time; empty when unknown."""
    if not iso:
        return ""
    return iso.partition("T")[2] or iso


def seconds_between(first: str | None, last: str | None) -> float | None:
    """Seconds from one ISO 8601 time to another; None when either is unknown or not a time."""
    if not first or not last:
        return None
    try:
        return (datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds()
    except (ValueError, TypeError):
        return None


def duration(seconds: float | None) -> str:
    """`7 s`, `2 min 05 s`, `1 h 02 min`; empty when unknown or negative."""
    if seconds is None or seconds < 0:
        return ""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"


def size(count_of_bytes: int) -> str:
    """`12 B`, `34.5 KiB`, `1.2 GiB`."""
    value = float(count_of_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            return f"{value:,.0f} {unit}" if unit == "B" else f"{value:,.1f} {unit}"
        value /= 1024
    return ""


def lines_of(source: SourceInfo) -> str:
    """`1 line`, `159 lines`."""
    return f"{source.lines:,} {'line' if source.lines == 1 else 'lines'}"


def extent(source: SourceInfo) -> str:
    """`159 lines, 24.9 KiB`."""
    return f"{lines_of(source)}, {size(source.bytes)}"


def release(version: VersionBracket) -> str:
    """`0.5.9`, `0.5.6 to 0.5.9`, `0.5.11 or newer`."""
    low, high = version.low, version.high
    if low is None and high is None:
        return "release unknown"
    if low is None:
        return f"{high} or older"
    if high is None:
        return f"{low} or newer"
    return low if low == high else f"{low} to {high}"
