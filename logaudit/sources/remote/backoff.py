"""How long to wait before a connection is tried again."""

from __future__ import annotations

import random


class Backoff:
    """Doubling waits with full jitter, so that many watchers do not come back at the same moment."""

    def __init__(self, first_s: float = 0.5, most_s: float = 30.0, *, seed: int | None = None) -> None:
        self._first_s, self._most_s = first_s, most_s
        self._random = random.Random(seed)  # noqa: S311 - spreads load, keeps no secret
        self.failures = 0
        """Attempts that failed since the last success."""

    def next_s(self) -> float:
        """Seconds to wait now: between half of the doubled step and all of it."""
        step = min(self._most_s, self._first_s * 2.0 ** min(self.failures, 16))
        self.failures += 1
        return step * self._random.uniform(0.5, 1.0)

    def succeeded(self) -> None:
        """Begin anew with short waits."""
        self.failures = 0
