"""A report of a large log stays within bounds that do not grow with the log."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bench.generate import make
from tests.conftest import ROOT

MOST_MIB = 200
MEASURE = (
    "import sys; from bench.measure import measure; "
    "print(measure([sys.executable, '-m', 'logaudit', 'report', sys.argv[1]], 1).peak_mib)"
)
"""Run in a small process of its own: the kernel counts a parent's memory at the fork into its child's peak."""


def peak_mib(log: Path) -> float:
    command = [sys.executable, "-c", MEASURE, str(log)]
    return float(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)


def test_three_times_the_log_takes_no_more_memory(tmp_path: Path) -> None:
    peaks = [peak_mib(make("plain", mib << 20, folder=tmp_path)) for mib in (36, 108)]
    assert max(peaks) < MOST_MIB
    assert abs(peaks[1] - peaks[0]) < 20
