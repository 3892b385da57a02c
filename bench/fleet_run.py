"""Reads a fleet's logs with none, one and two workers: logs a second, and the workers' memory."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from bench.fleet_logs import fleet
from bench.measure import measure

HEADINGS = ("workers", "logs", "wall s", "logs a second", "against one worker")


def rows(count: int) -> list[tuple[str, ...]]:
    """One line for each number of workers; the whole command with its start-up."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "logs")
        for name, content in fleet(count):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        walls: dict[int, float] = {}
        found: list[tuple[str, ...]] = []
        for workers in (0, 1, 2):
            out = Path(scratch, f"fleet-{workers}.parquet")
            command = [
                sys.executable,
                "-m",
                "logaudit",
                "fleet",
                str(folder),
                "-o",
                str(out),
                "--workers",
                str(workers),
            ]
            walls[workers] = measure(command, 1).wall_s
            share = f"{walls[1] / walls[workers]:.2f} ×" if 1 in walls else ""
            label = str(workers) if workers else "none, in one process"
            found.append((label, f"{count:,}", f"{walls[workers]:.1f}", f"{count / walls[workers]:.1f}", share))
        return found
