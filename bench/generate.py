"""Makes the benchmark's logs: a server's start twice in request traffic, in any size and form, the same for a seed."""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import zstandard

ROOT = Path(__file__).resolve().parent.parent
START = ROOT / "fixtures" / "kimi-k25-tp8.log"
DATA = ROOT / "bench" / "data"

_SECOND_START_AT = 0.6
_SLICES = 64
_SLICE_BYTES = 1 << 17
_MINUTE = b"2026-03-01 00:00"
"""Stands in the slices for the minute that a line is printed in."""


def traffic(seed: int) -> Iterator[bytes]:
    """Endless request traffic: decode, prefill and access lines of several ranks, with a clock that goes forward."""
    rng = random.Random(seed)
    slices = [_slice(rng) for _ in range(_SLICES)]
    minute = 0
    while True:
        day, rest = divmod(minute, 24 * 60)
        stamp = f"2026-{3 + day // 28 % 10:02d}-{1 + day % 28:02d} {rest // 60:02d}:{rest % 60:02d}"
        yield rng.choice(slices).replace(_MINUTE, stamp.encode())
        minute += 1


def _slice(rng: random.Random) -> bytes:
    lines: list[str] = []
    size = 0
    while size < _SLICE_BYTES:
        clock = f"{_MINUTE.decode()}:{min(59, size * 60 // _SLICE_BYTES):02d}"
        lines.append(rng.choices((_decode_line, _prefill_line, _access_line), (4, 3, 3))[0](rng, clock))
        size += len(lines[-1]) + 1
    return ("\n".join(lines) + "\n").encode()


def _rank(rng: random.Random) -> str:
    return rng.choice(("DP0 TP0", "DP1 TP2", "DP2 TP4", "DP3 TP6"))


def _decode_line(rng: random.Random, clock: str) -> str:
    tokens = rng.randint(100, 159_000)
    return (
        f"[{clock} {_rank(rng)}] Decode batch, #running-req: {rng.randint(1, 48)}, #token: {tokens}, "
        f"token usage: {tokens / 159_277:.2f}, cuda graph: True, "
        f"gen throughput (token/s): {rng.uniform(20, 3000):.2f}, #queue-req: {rng.randint(0, 9)}"
    )


def _prefill_line(rng: random.Random, clock: str) -> str:
    return (
        f"[{clock} {_rank(rng)}] Prefill batch, #new-seq: {rng.randint(1, 8)}, #new-token: {rng.randint(1, 8192)}, "
        f"#cached-token: {rng.randint(0, 60_000)}, token usage: {rng.random():.2f}, "
        f"#running-req: {rng.randint(0, 48)}, #queue-req: {rng.randint(0, 9)}"
    )


def _access_line(rng: random.Random, clock: str) -> str:
    path = rng.choice(("/v1/chat/completions", "/v1/completions", "/generate", "/health"))
    verb = "GET" if path == "/health" else "POST"
    client = f"10.{rng.randint(0, 9)}.{rng.randint(0, 255)}.{rng.randint(1, 254)}:{rng.randint(30_000, 60_000)}"
    return f'[{clock}] INFO:     {client} - "{verb} {path} HTTP/1.1" 200 OK'


def progress_bars(seed: int) -> Iterator[bytes]:
    """Endless states of two progress bars, each after a carriage return, with no line end anywhere."""
    rng = random.Random(seed)
    while True:
        states = []
        for state in range(4096):
            percent = state * 100 // 4096
            if state % 2:
                share = f"{percent:3d}% Completed | {state}/4096"
                text = f"Loading safetensors checkpoint shards: {share} [00:01<00:01, 1.72it/s]"
            else:
                free = rng.uniform(5, 60)
                bar = "#" * (percent // 10)
                text = f"Capturing batches (bs={state} avail_mem={free:.2f} GB): {percent:3d}%|{bar:<10}| {state}/4096"
            states.append("\r" + text)
        yield "".join(states).encode()


def log(size: int, start: bytes, filler: Iterator[bytes]) -> Iterator[bytes]:
    """Blocks of a log of about `size` bytes: `start`, filler, `start` again at six tenths, filler to the end."""
    yield start
    written = len(start)
    second = int(size * _SECOND_START_AT)
    while written < second:
        block = next(filler)
        yield block
        written += len(block)
    yield start if start.endswith(b"\n") and block.endswith(b"\n") else b"\n" + start
    written += len(start)
    while written < size:
        block = next(filler)[: size - written]
        yield block
        written += len(block)


def plain(path: Path, size: int, start: bytes, seed: int) -> None:
    """Traffic as it is."""
    with path.open("wb") as file:
        file.writelines(log(size, start, traffic(seed)))


def one_line(path: Path, size: int, start: bytes, seed: int) -> None:
    """The whole log as one JSON string."""
    with path.open("wb") as file:
        file.write(b'{"log": "')
        for block in log(size, start, traffic(seed)):
            file.write(json.dumps(block.decode("utf-8", "replace"), ensure_ascii=False)[1:-1].encode())
        file.write(b'"}\n')


def bars(path: Path, size: int, start: bytes, seed: int) -> None:
    """Progress bars without a line end, around two starts."""
    with path.open("wb") as file:
        file.writelines(log(size, start, progress_bars(seed)))


def gzipped(path: Path, size: int, start: bytes, seed: int) -> None:
    """Traffic through gzip."""
    with gzip.open(path, "wb", compresslevel=3) as file:
        file.writelines(log(size, start, traffic(seed)))


def zstd(path: Path, size: int, start: bytes, seed: int) -> None:
    """Traffic through zstd."""
    with path.open("wb") as raw, zstandard.ZstdCompressor(level=3).stream_writer(raw) as file:
        for block in log(size, start, traffic(seed)):
            file.write(block)


FORMS: dict[str, Callable[[Path, int, bytes, int], None]] = {
    "plain": plain,
    "one-line": one_line,
    "bars": bars,
    "gzip": gzipped,
    "zstd": zstd,
}


def make(form: str, size: int, *, start: Path = START, seed: int = 1, folder: Path = DATA) -> Path:
    """The benchmark log of that form and size, made unless it is there already."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{form}-{size >> 20}MiB-{seed}.log"
    if not path.exists():
        partial = path.with_suffix(".part")
        FORMS[form](partial, size, start.read_bytes(), seed)
        partial.rename(path)
    return path


def main() -> None:
    """`python -m bench.generate FORM MIB`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("form", choices=FORMS)
    parser.add_argument("mib", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=Path, default=START)
    arguments = parser.parse_args()
    print(make(arguments.form, arguments.mib << 20, start=arguments.start, seed=arguments.seed))


if __name__ == "__main__":
    main()
