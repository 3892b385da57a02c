"""What the far side's filter saves: bytes sent for a log of traffic with one start, `python -m bench.remote_filter`.

It starts an OpenSSH daemon of its own on a loopback port, reads the same log once filtered and once whole through the
real client, and prints bytes received and seconds.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

from logaudit.extract import anchors
from logaudit.sources.remote.reach import Reach
from logaudit.sources.ssh import SshFile, open_argument
from tests.sources.remote.sshd import build_world

FIXTURE = Path(__file__).parent.parent / "fixtures" / "kimi-k25-tp8.log"
_TRAFFIC = (
    "[2026-11-29 14:{0:02d}:{1:02d} TP0] Decode batch, #running-req: {2}, #token: {3}, token usage: 0.{1:02d}, "
    "cuda graph: True, gen throughput (token/s): {3}.10, #queue-req: {1}, \n"
    '[2026-11-29 14:{0:02d}:{1:02d}] INFO:     10.0.0.{1}:5{3:04d} - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
)


def write_log(path: Path, mib: int) -> None:
    """One start, then traffic up to `mib` MiB."""
    hour = "".join(_TRAFFIC.format(n // 60 % 60, n % 60, n % 48, n) for n in range(3600)).encode()
    with path.open("wb") as file:
        file.write(FIXTURE.read_bytes())
        while file.tell() < mib << 20:
            file.write(hour)


def main() -> None:
    """Measure, and print one line for each way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=1024, help="size of the log (default: 1024)")
    mib = parser.parse_args().mib
    with tempfile.TemporaryDirectory() as folder, build_world(Path(folder)) as world:
        world.trust()
        world.configure()
        os.environ["PATH"] = f"{world.client.parent}{os.pathsep}{os.environ['PATH']}"
        log = Path(folder) / "server.log"
        write_log(log, mib)
        literals = tuple(anchor.encode() for anchor in anchors())

        filtered = _open(log, Reach())
        began = time.monotonic()
        regions = filtered.regions(literals)
        kept = sum(len(region.data) for region in regions or ())
        print(f"filtered: {filtered.received_bytes:>13,} bytes in {time.monotonic() - began:6.2f} s ({kept:,} of log)")

        whole = _open(log, Reach(remote_filter=False))
        began = time.monotonic()
        size = sum(map(len, whole.blocks()))
        print(f"whole:    {size:>13,} bytes in {time.monotonic() - began:6.2f} s")
        print(f"saving:   {size / filtered.received_bytes:,.0f} times fewer bytes")


def _open(log: Path, reach: Reach) -> SshFile:
    (source,) = open_argument(f"ssh://gpu07{log}", reach)
    if not isinstance(source, SshFile):
        raise TypeError(type(source))
    return source


if __name__ == "__main__":
    main()
