"""Makes the logs of a fleet: starts of many releases and models with a little traffic each, the same for a seed."""

from __future__ import annotations

import random
from collections.abc import Iterator

import regex

from bench.generate import ROOT, traffic

BASES = ROOT / "fixtures" / "oracle"
_DAY = regex.compile(rb"\[\d{4}-\d\d-\d\d ")


def fleet(count: int, seed: int = 1) -> Iterator[tuple[str, bytes]]:
    """Name and content of each log: `host-0007/server-00012.log`."""
    rng = random.Random(seed)
    bases = [path.read_bytes() for path in sorted(BASES.glob("*.log"))]
    served = next(traffic(seed))
    for number in range(count):
        day = f"[2026-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d} ".encode()
        start = _DAY.sub(day, rng.choice(bases))
        at = served.index(b"\n", rng.randrange(len(served) // 2)) + 1
        size = rng.randrange(2_000, 40_000)
        yield f"host-{number % 97:04d}/server-{number:05d}.log", start.rstrip(b"\n") + b"\n" + served[at : at + size]
