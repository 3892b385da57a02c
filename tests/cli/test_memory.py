"""A report of a large log stays within bounds that do not grow with the log."""

from __future__ import annotations

import sys
from pathlib import Path

from bench.generate import make
from bench.measure import measure

MOST_MIB = 200


def test_three_times_the_log_takes_no_more_memory(tmp_path: Path) -> None:
    peaks = []
    for mib in (36, 108):
        log = make("plain", mib << 20, folder=tmp_path)
        peaks.append(measure([sys.executable, "-m", "logaudit", "report", str(log)], 1).peak_mib)
    assert max(peaks) < MOST_MIB
    assert abs(peaks[1] - peaks[0]) < 20
