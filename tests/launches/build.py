"""Small logs for tests, line by line as SGLang prints them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from logaudit.extract import extract
from logaudit.extract.extractor import Record
from logaudit.launches import join_nodes, read_launches
from logaudit.launches.model import Launch
from logaudit.scan.line import SourceLine
from logaudit.scan.unwrap import unwrap


def records_of(lines: Iterable[str]) -> list[Record]:
    """The records of a log given as lines."""
    source = [SourceLine(number, text) for number, text in enumerate(lines, 1)]
    return [record for line in unwrap(source).lines if (record := extract(line)) is not None]


def launches_of(lines: Sequence[str]) -> tuple[Launch, ...]:
    """The launches of a log given as lines."""
    return join_nodes(read_launches(records_of(lines)))


def dump(**args: object) -> str:
    """A line with server arguments."""
    return f"[2026-01-01 00:00:00] server_args=ServerArgs({', '.join(f'{k}={v!r}' for k, v in args.items())})"


def start(tag: str = "", before: str = "78.00", after: str = "63.00", tokens: int = 400000) -> list[str]:
    """The lines of one rank's good start up to the scheduler's line."""
    head = f"[2026-01-01 00:00:01{tag}]"
    return [
        f"{head} Init torch distributed begin.",
        f"{head} Load weight begin. avail mem={before} GB",
        f"{head} Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem={after} GB, mem usage=15.00 GB.",
        f"{head} KV Cache is allocated. #tokens: {tokens}, K size: 24.42 GB, V size: 24.42 GB",
        f"{head} Memory pool end. avail mem=13.50 GB",
        f"{head} Capture cuda graph begin. This can take up to several minutes. avail mem=13.40 GB",
        f"{head} Capture cuda graph end. Time elapsed: 3.00 s. mem usage=1.00 GB. avail mem=12.40 GB.",
        f"{head} max_total_num_tokens={tokens}, chunked_prefill_size=8192, max_prefill_tokens=16384, "
        "max_running_requests=2048, context_len=131072, available_gpu_mem=12.40 GB",
    ]


READY = "[2026-01-01 00:00:09] The server is fired up and ready to roll!"
