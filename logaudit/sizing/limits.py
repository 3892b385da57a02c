"""What bounds the token count after profiling: the user's cap, pages, pipeline stages, speculative headroom."""

from __future__ import annotations

import math

from packaging.version import Version

from logaudit.interval import GIB, Interval

_INTEGER_FLOOR_SINCE = Version("0.5.7")


def profiled_tokens(budget: Interval, cell: Interval, release: Version) -> Interval:
    """Tokens that a budget in GiB holds at `cell` bytes each; a pool that prints 0.00 GiB still takes a byte a token.

    profile_max_num_token: a float floor until 0.5.6, a floor of whole bytes from 0.5.7 (they differ by at most one).
    """

    def count(gib: float, each: float) -> int:
        if release < _INTEGER_FLOOR_SINCE:
            return int(gib * GIB // each)
        return int(int(gib * GIB) // each)

    least, middle, most = (max(1.0, each) for each in (cell.low, cell.value, cell.high))
    low, high = count(budget.low, most), count(budget.high, least)
    return Interval(min(max(count(budget.value, middle), low), high), low, high)


def whole(interval: Interval) -> Interval:
    """int() of each end, toward zero as Python does."""
    return Interval(*(float(int(x)) for x in (interval.value, interval.low, interval.high)))


def floor_page(tokens: Interval, page_size: int) -> Interval:
    """Whole pages."""
    return tokens.floor(max(1, page_size))


def ceil_page(tokens: int, page_size: int) -> int:
    """Up to whole pages."""
    return math.ceil(tokens / page_size) * page_size


def minimum(parts: list[Interval]) -> Interval:
    """The minimum over pipeline stages."""
    return Interval.minimum(*parts)
