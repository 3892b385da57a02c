"""What a log's own progress bars say: which work, how far, how long still."""

from __future__ import annotations

from dataclasses import dataclass

import regex

_TIMEOUT_S = 0.5
_TAIL_BYTES = 2048
_BAR = regex.compile(
    rb"(?P<what>(?:Loading|Multi-thread loading|Capturing|Compiling|Warming up)[^\r\n:|]{0,120}?):?\s+"
    rb"(?P<percent>\d{1,3})%[^\r\n]{0,200}?(?P<done>\d{1,9})/(?P<total>\d{1,9}) "
    rb"\[(?P<elapsed>[\d:]{4,12})<(?P<left>[\d:?]{1,12})"
)


@dataclass(frozen=True, slots=True)
class Bar:
    """One progress bar as it stands."""

    what: str
    """`Loading safetensors checkpoint shards`, `Capturing batches (bs=8 avail_mem=7.61 GB)`."""
    done: int
    total: int
    elapsed_s: float
    left_s: float | None
    """Seconds that the log itself expects it to take; None when it cannot tell yet."""

    @property
    def finished(self) -> bool:
        """Whether all of it is done."""
        return self.done >= self.total

    @property
    def name(self) -> str:
        """What is being done, without the figures that change."""
        return self.what.partition(" (")[0]


def last_bar(text: bytes) -> Bar | None:
    """The last bar in raw log bytes, None where there is none."""
    found = None
    try:
        for match in _BAR.finditer(text[-_TAIL_BYTES:], timeout=_TIMEOUT_S):
            found = match
    except TimeoutError:
        return None
    if found is None:
        return None
    return Bar(
        found["what"].decode("utf-8", "replace").strip(),
        int(found["done"]),
        int(found["total"]),
        _seconds(found["elapsed"]) or 0.0,
        _seconds(found["left"]),
    )


def _seconds(clock: bytes) -> float | None:
    """`01:02` and `1:02:03` in seconds."""
    parts = clock.split(b":")
    if not all(part.isdigit() for part in parts):
        return None
    seconds = 0
    for part in parts:
        seconds = seconds * 60 + int(part)
    return float(seconds)
