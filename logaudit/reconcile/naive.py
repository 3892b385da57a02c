"""The sums that people do by hand, and why each is wrong."""

from __future__ import annotations

from dataclasses import dataclass

from logaudit.interval import GIB, Interval

CARD_SIZES_GB = (8, 10, 11, 12, 16, 20, 24, 32, 40, 44, 48, 64, 72, 80, 94, 96, 128, 141, 144, 180, 192, 256, 288)
"""Memory that accelerators are sold with, for guessing the card from what was free on it."""


@dataclass(frozen=True, slots=True)
class Naive:
    """One belief with the figure it gives."""

    belief: str
    gib: float
    tokens: float | None
    off_by_gib: float
    why: str


def card_size_gb(before_load_gib: float, gpu_memory_gib: float | None) -> tuple[float, bool]:
    """The card's memory and whether it was guessed: as given, else the smallest size sold that holds what was free."""
    if gpu_memory_gib is not None:
        return gpu_memory_gib, False
    return next((float(size) for size in CARD_SIZES_GB if size >= before_load_gib), before_load_gib), True


def naive_sums(
    fraction: Interval,
    before: Interval,
    after: Interval,
    weights: Interval | None,
    actual_gib: Interval | None,
    bytes_per_token: Interval | None,
    gpu_memory_gib: float | None,
) -> tuple[Naive, ...]:
    """The three beliefs met most often, against the KV budget that came out."""
    card, guessed = card_size_gb(before.value, gpu_memory_gib)
    taken = before.value - after.value if weights is None else weights.value
    shown = f"{card:.2f}".rstrip("0").rstrip(".")
    label = f"{shown} GB card" + (" (guessed)" if guessed else "")
    sums = [
        (
            f"{round(fraction.value, 4):g} × what is left after loading",
            fraction.value * after.value,
            "the fraction applies to the memory free before loading, weights included",
        ),
        (
            f"{round(fraction.value, 4):g} × {label} − weights",
            fraction.value * card - taken,
            f"{before.value:.2f} GiB were free before loading, not {shown}",
        ),
        (
            "all that is left after loading",
            after.value,
            f"{(1 - fraction.value) * 100:.3g} % of the memory free before loading is kept out of the cache",
        ),
    ]
    per_token = 0.0 if bytes_per_token is None else bytes_per_token.value
    out = []
    for belief, gib, why in sums:
        tokens = gib * GIB / per_token if per_token else None
        off = gib - (0.0 if actual_gib is None else actual_gib.value)
        out.append(Naive(belief, gib, tokens, off, why))
    return tuple(out)
