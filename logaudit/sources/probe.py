"""What the machine that has the log says about its GPUs and its model: read-only, and only when asked for."""

from __future__ import annotations

import csv
import io
import posixpath
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import regex

from logaudit.errors import SourceError
from logaudit.sources.remote.host import Host
from logaudit.sources.remote.running import Running
from logaudit.sources.remote.shell import FarShell

_OUTPUT_BYTES = 4 << 20
_CONFIG_BYTES = 16 << 20
_TIMEOUT_S = 30.0
_SEARCH_TIMEOUT_S = 2.0
_MIB_PER_GIB = 1024.0
_GPU_FIELDS = "index,name,memory.total,memory.reserved,memory.used,memory.free"
_NVIDIA_CARDS = ("nvidia-smi", f"--query-gpu={_GPU_FIELDS}", "--format=csv")
_NVIDIA_PROCESSES = ("nvidia-smi", "--query-compute-apps=pid,process_name,used_memory", "--format=csv")
_ROCM_CARDS = ("rocm-smi", "--showmeminfo", "vram", "--csv")
_AMOUNT = regex.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[KMG]i?B|B)?")
_TABLE_MEMORY = regex.compile(r"\|[^|\n]*\|\s*(?P<used>\d+)MiB\s*/\s*(?P<total>\d+)MiB\s*\|")
_QUERY_MEMORY = regex.compile(
    r"FB Memory Usage\s*\n\s*Total\s*: (?P<total>\d+) MiB\s*\n(?:\s*Reserved\s*: (?P<reserved>\d+) MiB\s*\n)?"
    r"\s*Used\s*: (?P<used>\d+) MiB"
)


@dataclass(frozen=True, slots=True)
class Card:
    """One GPU as its driver describes it."""

    index: int
    name: str
    total_gib: float
    """Physical memory."""
    reserved_gib: float | None
    """What the driver keeps for itself; None where it is not printed."""
    used_gib: float | None
    """In use now, by all processes."""


@dataclass(frozen=True, slots=True)
class Process:
    """One process that holds GPU memory now."""

    pid: int
    name: str
    used_gib: float


@dataclass(frozen=True, slots=True)
class Probe:
    """What was found."""

    cards: tuple[Card, ...] = ()
    processes: tuple[Process, ...] = ()
    notes: tuple[str, ...] = ()
    """What could not be found, and why."""

    @property
    def gpu_memory_gib(self) -> float | None:
        """Physical memory of the smallest card: the one that limits a server; None when there is none."""
        return min((card.total_gib for card in self.cards), default=None)

    @property
    def others_gib(self) -> float:
        """What processes other than SGLang's hold of the card; 0 with several cards, whose shares are not printed."""
        if len(self.cards) != 1:
            return 0.0
        own = ("sglang", "python")
        return sum(p.used_gib for p in self.processes if not any(name in p.name.lower() for name in own))

    def explain(self, before_load_gib: float | None) -> list[str]:
        """Sentences for the report: the way from the physical memory to what was free before loading."""
        said = [*self.notes]
        total = self.gpu_memory_gib
        if total is None:
            return said
        smallest = min(self.cards, key=lambda card: card.total_gib)
        name = smallest.name or "the card"
        said.append(f"{name}: {total:.2f} GiB of physical memory, {len(self.cards)} in the machine")
        if smallest.reserved_gib is not None:
            said.append(f"the driver keeps {smallest.reserved_gib:.2f} GiB of each card for itself")
        if before_load_gib is not None and before_load_gib < total:
            kept = smallest.reserved_gib or 0.0
            rest = max(0.0, total - before_load_gib - kept)
            said.append(
                f"{total - before_load_gib:.2f} GiB of it were not free before loading: {kept:.2f} GiB the driver's, "
                f"{rest:.2f} GiB the server's own context and other processes"
            )
        largest = sorted(self.processes, key=lambda process: -process.used_gib)[:8]
        return said + [f"process {one.pid} ({one.name}) holds {one.used_gib:.2f} GiB now" for one in largest]


def probe(host: Host | None) -> Probe:
    """Ask `nvidia-smi`, or else `rocm-smi`, on `host` (None: here). Raises ConnectionLost; a missing tool is a note."""
    cards = parse_cards(_run(_NVIDIA_CARDS, host))
    if cards:
        return Probe(cards, parse_processes(_run(_NVIDIA_PROCESSES, host)))
    cards = parse_rocm(_run(_ROCM_CARDS, host))
    place = "this machine" if host is None else str(host)
    return Probe(cards) if cards else Probe(notes=(f"neither nvidia-smi nor rocm-smi says anything on {place}",))


def from_file(path: str) -> Probe:
    """The same from saved output of `nvidia-smi` (its table, `-q`, or any CSV query). Raises SourceError."""
    try:
        with open(path, "rb") as file:
            text = file.read(_OUTPUT_BYTES).decode("utf-8", "replace")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise SourceError(f"cannot be read: {reason}", where=path, do="give a file with nvidia-smi's output") from None
    cards = parse_cards(text) or parse_rocm(text)
    if not cards:
        raise SourceError(
            "holds no output of nvidia-smi",
            where=path,
            do="save `nvidia-smi --query-gpu=index,name,memory.total,memory.used --format=csv`",
        )
    return Probe(cards, parse_processes(text))


def model_config(path: str, host: Host | None) -> bytes | None:
    """`config.json` of a model's folder on `host` (None: here); None when it is not there or may not be read."""
    if not posixpath.isabs(path):
        return None
    file = posixpath.join(path, "config.json")
    try:
        if host is None:
            with Path(file).open("rb") as stream:
                return stream.read(_CONFIG_BYTES)
        name = file.encode("utf-8", "surrogateescape")
        with FarShell(host) as shell:
            facts = shell.stat(name)
            if facts is None or facts.size > _CONFIG_BYTES:
                return None
            data, _ = shell.read(name, 0, facts.size)
            return data
    except (OSError, SourceError, ValueError):
        return None


def parse_cards(text: str) -> tuple[Card, ...]:
    """Cards in nvidia-smi's CSV (with a header), its table, or its `-q` form; () where there are none."""
    rows = _csv_rows(text, "memory.total")
    if rows:
        return tuple(
            Card(int(row.get("index") or index), row.get("name", ""), total, _gib(row, "reserved"), _gib(row, "used"))
            for index, row in enumerate(rows)
            if (total := _gib(row, "total")) is not None
        )
    found = _matches(_QUERY_MEMORY, text) or _matches(_TABLE_MEMORY, text)
    cards = []
    for index, match in enumerate(found):
        reserved = match.get("reserved")
        cards.append(
            Card(
                index,
                "",
                int(match["total"] or 0) / _MIB_PER_GIB,
                int(reserved) / _MIB_PER_GIB if reserved else None,
                int(match["used"] or 0) / _MIB_PER_GIB,
            )
        )
    return tuple(cards)


def parse_processes(text: str) -> tuple[Process, ...]:
    """Processes in the CSV of `--query-compute-apps`."""
    found = []
    for row in _csv_rows(text, "pid"):
        used = _amount_gib(next((value for key, value in row.items() if key.startswith("used")), ""))
        if used is not None and row.get("pid", "").isdigit():
            found.append(Process(int(row["pid"]), row.get("process_name", ""), used))
    return tuple(found)


def parse_rocm(text: str) -> tuple[Card, ...]:
    """Cards in the CSV of `rocm-smi --showmeminfo vram --csv`, in bytes."""
    cards: list[Card] = []
    for row in _csv_rows(text, "VRAM Total Memory (B)"):
        total, used = row["VRAM Total Memory (B)"], row.get("VRAM Total Used Memory (B)", "")
        if total.isdigit():
            cards.append(Card(len(cards), "", int(total) / 2**30, None, int(used) / 2**30 if used.isdigit() else None))
    return tuple(cards)


def _csv_rows(text: str, column: str) -> list[dict[str, str]]:
    """Rows under a header that has `column` (units in brackets are no part of a name)."""
    lines = text.splitlines()
    start = next((n for n, line in enumerate(lines) if any(_bare(c) == _bare(column) for c in line.split(","))), None)
    if start is None:
        return []
    rows: list[dict[str, str]] = []
    reader = csv.reader(io.StringIO("\n".join(lines[start:])), skipinitialspace=True)
    header = [_bare(name) for name in next(reader, [])]
    units = [name.partition("[")[2].rstrip("]") for name in lines[start].split(",")]
    for row in reader:
        if len(row) != len(header):
            break
        cells = [value.strip() for value in row]
        # `nounits` leaves the unit in the header alone.
        cells = [f"{c} {u}".strip() if c.replace(".", "").isdigit() else c for c, u in zip(cells, units, strict=True)]
        rows.append(dict(zip(header, cells, strict=True)))
    return rows


def _bare(name: str) -> str:
    return name.partition("[")[0].strip()


def _gib(row: dict[str, str], what: str) -> float | None:
    return _amount_gib(row.get(f"memory.{what}", ""))


def _amount_gib(text: str) -> float | None:
    """`81559 MiB` in GiB; a bare number is MiB, as `nounits` prints it. None for `[N/A]`."""
    match = _AMOUNT.match(text.strip(), timeout=_SEARCH_TIMEOUT_S)
    if match is None:
        return None
    scale = {"B": 2.0**-30, "K": 2.0**-20, "M": 2.0**-10, "G": 1.0}[(match["unit"] or "M")[0]]
    return float(match["number"]) * scale


def _matches(pattern: regex.Pattern[str], text: str) -> list[dict[str, str | None]]:
    try:
        return [match.groupdict() for match in pattern.finditer(text, timeout=_SEARCH_TIMEOUT_S)]
    except TimeoutError:
        return []


def _run(argv: Sequence[str], host: Host | None) -> str:
    """What a command prints, "" where it is missing, fails or hangs. Raises ConnectionLost."""
    if host is None and shutil.which(argv[0]) is None:
        return ""
    running = Running([word.encode() for word in argv], host)
    try:
        output = b""
        while len(output) < _OUTPUT_BYTES and (data := running.read(_TIMEOUT_S)):
            output += data
        return output.decode("utf-8", "replace") if running.status == 0 else ""
    finally:
        running.stop()
