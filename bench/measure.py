"""Runs commands as whole processes and measures them."""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measured:
    """Medians over the runs of one command."""

    wall_s: float
    cpu_s: float
    peak_mib: float
    """Largest resident memory of the process in any run."""


def measure(
    command: Sequence[str], runs: int, accepted: Sequence[int] = (0,), environment: Mapping[str, str] | None = None
) -> Measured:
    """Run `command` so many times; raises RuntimeError where its exit code is none of `accepted`."""
    return alternate([command], runs, accepted, environment)[0]


def alternate(
    commands: Sequence[Sequence[str]],
    runs: int,
    accepted: Sequence[int] = (0,),
    environment: Mapping[str, str] | None = None,
) -> list[Measured]:
    """Run each command so many times, in turns, so that what else the machine does falls on all of them alike."""
    found: list[list[tuple[float, float, float]]] = [[] for _ in commands]
    for _ in range(runs):
        for results, command in zip(found, commands, strict=True):
            results.append(_once(command, accepted, environment))
    return [
        Measured(
            statistics.median(wall for wall, _, _ in results),
            statistics.median(cpu for _, cpu, _ in results),
            max(peak for _, _, peak in results),
        )
        for results in found
    ]


def _once(
    command: Sequence[str], accepted: Sequence[int], environment: Mapping[str, str] | None
) -> tuple[float, float, float]:
    # Not the null device: grep stops at its first hit when it sees that nobody reads what it prints.
    with tempfile.TemporaryFile() as printed:
        began = time.perf_counter()
        process = subprocess.Popen(
            command, stdout=printed, stderr=subprocess.STDOUT, env={**os.environ, **(environment or {})}
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in accepted:
            printed.seek(0)
            raise RuntimeError(f"{command} ended with {process.returncode}: {printed.read()[-500:]!r}")
    return wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
