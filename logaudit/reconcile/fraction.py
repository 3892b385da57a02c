"""Which `mem_fraction_static` a start ran with, and how that is known."""

from __future__ import annotations

from dataclasses import dataclass

from logaudit.interval import Interval
from logaudit.launches.model import Launch


@dataclass(frozen=True, slots=True)
class Fraction:
    """The fraction with its rounding bounds and its origin."""

    interval: Interval
    origin: str
    """`server_args`, `command_line`, `log_line` or `inferred`."""
    line: int | None


ORIGIN_OF_ARGS = {"dump": "server_args", "short": "server_args", "command_line": "command_line"}


STATING = frozenset({"adjust_mem_fraction", "err_not_enough_memory", "memory_profiling", "stage_startup"})
"""Kinds of lines that state the fraction."""


def share_of_card(launch: Launch) -> float | None:
    """The share of the whole card that sglang-omni gave this stage, in place of a fraction of what was free."""
    for record in launch.records:
        share = record.fields.get("total_fraction") if record.kind == "stage_startup" else None
        if isinstance(share, int | float):
            return float(share)
    return None


def _from_lines(launch: Launch) -> Fraction | None:
    """A fraction that a line states after the dump: the runner's own adjustment, a profile, a refused start."""
    found: Fraction | None = None
    for record in launch.records:
        if record.kind not in STATING or "total_fraction" in record.fields:
            continue
        if launch.args_line is not None and record.line < launch.args_line:
            continue
        value = record.fields.get("fraction")
        if isinstance(value, Interval):
            found = Fraction(value, "log_line", record.line)
        elif isinstance(value, int | float):
            found = Fraction(Interval.exact(float(value)), "log_line", record.line)
        if found is not None and record.kind == "adjust_mem_fraction":
            return found
    return found


def stated_fraction(launch: Launch) -> Fraction | None:
    """The fraction as the log states it; None when no line does.

    A line that the model runner prints after the dump (multimodal models up to 0.4.8) overrides the dump.
    """
    value = launch.args.get("mem_fraction_static")
    stated = None
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1.0001:
        origin = ORIGIN_OF_ARGS.get(launch.args_origin, "server_args")
        stated = Fraction(Interval.exact(float(value)), origin, launch.args_line)
    lines = _from_lines(launch)
    if stated is None:
        return lines
    adjusted = any(r.kind == "adjust_mem_fraction" and r.line > (launch.args_line or 0) for r in launch.records)
    return lines if lines is not None and adjusted else stated


def inferred_fraction(before: Interval, after: Interval, pools_gib: Interval) -> Fraction | None:
    """The fraction that would leave the printed pools: 1 - (after - pools) / before, with bounds."""
    if before.low <= 0:
        return None
    return Fraction(1 - (after - pools_gib) / before, "inferred", None)
