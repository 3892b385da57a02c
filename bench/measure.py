"""Runs a command as a whole process and measures it."""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measured:
    """Medians over the runs of one command."""

    wall_s: float
    cpu_s: float
    peak_mib: float
    """Largest resident memory of the process in any run."""


def measure(command: Sequence[str], runs: int, accepted: Sequence[int] = (0,)) -> Measured:
    """Run `command` so many times; raises RuntimeError where its exit code is none of `accepted`."""
    walls, cpus, peaks = [], [], []
    for _ in range(runs):
        # Not the null device: grep stops at its first hit when it sees that nobody reads what it prints.
        with tempfile.TemporaryFile() as printed:
            began = time.perf_counter()
            process = subprocess.Popen(command, stdout=printed, stderr=subprocess.STDOUT)
            _, status, usage = os.wait4(process.pid, 0)
            walls.append(time.perf_counter() - began)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode not in accepted:
                printed.seek(0)
                raise RuntimeError(f"{command} ended with {process.returncode}: {printed.read()[-500:]!r}")
        cpus.append(usage.ru_utime + usage.ru_stime)
        peaks.append(usage.ru_maxrss / 1024)
    return Measured(statistics.median(walls), statistics.median(cpus), max(peaks))
