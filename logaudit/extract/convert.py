"""Turning a printed figure into the value that a record carries."""

from __future__ import annotations

import regex

from logaudit.extract.extractor import Unit, Value
from logaudit.interval import GIB, Interval

_SCALE = {
    "gib": 1.0,
    "mib": 2.0**-10,
    "kib": 2.0**-20,
    "gb_decimal": 1.0,
    "bytes_rounded": 1.0,
    "fraction_rounded": 1.0,
}
_SIZE_BYTES = {"B": 1, "bytes": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
_RANGE = regex.compile(r"(-?\d+(?:\.\d+)?)\s?(?:-|–|…|\.\.\.?)\s?(\d+(?:\.\d+)?)$")
_LARGEST = 10**15


def convert(text: str, unit: Unit) -> Value:
    """The value of a printed figure: see `Unit` for the types.

    Raises ValueError for a text that is no figure, or one that nothing on a machine comes near.
    """
    if unit == "text":
        return text.strip()
    value = _converted(text, unit)
    if not abs(value.value if isinstance(value, Interval) else value) <= _LARGEST:
        raise ValueError(f"too large for a figure: {text[:40]}")
    return value


def _converted(text: str, unit: Unit) -> Interval | int | float:
    if unit == "size":
        number, suffix = regex.fullmatch(r"(-?[\d.]+)\s?(\w+)", text).groups()  # type: ignore[union-attr]
        return Interval.printed(number, scale=_SIZE_BYTES[suffix.replace("iB", "B")] / GIB)
    if unit in _SCALE:
        return printed(text, _SCALE[unit])
    if unit in ("s", "fraction", "ratio"):
        return float(text.strip("≈~ "))
    return int(text.strip("≈~ ").replace(",", ""))


def printed(text: str, scale: float = 1.0) -> Interval:
    """The interval of a printed decimal, also where a person wrote it as a range (`7.43-7.53`) or as about (`≈9.7`)."""
    about = text.lstrip()[:1] in ("≈", "~")
    plain = text.strip("≈~ ")
    spread = _RANGE.match(plain)
    if spread:
        low, high = (Interval.printed(part, scale=scale) for part in spread.groups())
        return Interval((low.value + high.value) / 2, low.low, high.high)
    interval = Interval.printed(plain, scale=scale)
    if about:
        # "About" promises less than rounding does: allow a whole unit of the last digit.
        half = interval.width / 2
        return Interval(interval.value, interval.low - half, interval.high + half)
    return interval
