"""Numbers that carry their rounding: a printed figure is an interval, and so is all that follows from it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Union

GIB = 1 << 30
"""Bytes in one GiB; every `GB` on one of SGLang's GPU lines is this."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A closed interval [low, high] with the value that was printed or computed inside it."""

    value: float
    """The printed or nominal figure."""
    low: float
    """Smallest value it can stand for."""
    high: float
    """Largest value it can stand for."""

    @classmethod
    def exact(cls, value: float) -> Interval:
        """An interval without width."""
        return cls(value, value, value)

    @classmethod
    def printed(cls, text: str, *, scale: float = 1.0) -> Interval:
        """What a decimal text can stand for: `21.71` is any value in [21.705, 21.715]; `scale` converts its unit."""
        value = float(text)
        decimals = len(text.partition(".")[2]) if "." in text else 0
        half = 0.5 * 10.0**-decimals
        return cls(value * scale, (value - half) * scale, (value + half) * scale)

    @classmethod
    def hull(cls, *parts: Interval) -> Interval:
        """The smallest interval that holds all of `parts`; its value is the first one's."""
        return cls(parts[0].value, min(p.low for p in parts), max(p.high for p in parts))

    @classmethod
    def minimum(cls, *parts: Interval) -> Interval:
        """The minimum of independent intervals."""
        return cls(min(p.value for p in parts), min(p.low for p in parts), min(p.high for p in parts))

    @property
    def width(self) -> float:
        """high - low."""
        return self.high - self.low

    def holds(self, value: float) -> bool:
        """Whether `value` lies inside."""
        return self.low <= value <= self.high

    def gap(self, value: float) -> float:
        """How far `value` lies outside: negative below, positive above, 0 inside."""
        if value < self.low:
            return value - self.low
        if value > self.high:
            return value - self.high
        return 0.0

    def floor(self, step: int = 1) -> Interval:
        """Round all three down to a multiple of `step`."""
        return Interval(*(math.floor(x / step) * step for x in (self.value, self.low, self.high)))

    def clamp_high(self, limit: float) -> Interval:
        """The minimum with an exact limit."""
        return Interval(min(self.value, limit), min(self.low, limit), min(self.high, limit))

    def __add__(self, other: Number) -> Interval:
        o = of(other)
        return Interval(self.value + o.value, self.low + o.low, self.high + o.high)

    __radd__ = __add__

    def __neg__(self) -> Interval:
        return Interval(-self.value, -self.high, -self.low)

    def __sub__(self, other: Number) -> Interval:
        return self + -of(other)

    def __rsub__(self, other: Number) -> Interval:
        return of(other) + -self

    def __mul__(self, other: Number) -> Interval:
        o = of(other)
        ends = (self.low * o.low, self.low * o.high, self.high * o.low, self.high * o.high)
        return Interval(self.value * o.value, min(ends), max(ends))

    __rmul__ = __mul__

    def __truediv__(self, other: Number) -> Interval:
        """Quotient by an interval that does not hold 0; raises ZeroDivisionError when it does."""
        o = of(other)
        if o.low <= 0 <= o.high:
            raise ZeroDivisionError("the divisor's interval holds 0")
        ends = (self.low / o.low, self.low / o.high, self.high / o.low, self.high / o.high)
        return Interval(self.value / o.value, min(ends), max(ends))

    def __rtruediv__(self, other: Number) -> Interval:
        return of(other) / self


Number = Union[Interval, int, float]


def of(number: Number) -> Interval:
    """`number` as an interval; a plain number is exact."""
    return number if isinstance(number, Interval) else Interval.exact(float(number))
