"""Reads the logs of a fleet on Dask, one task a log; what fails is a row, and the run goes on."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib import import_module
from itertools import islice
from typing import Any

from logaudit.errors import ConfigError, LogauditError
from logaudit.fleet.dataset import Dataset
from logaudit.fleet.rows import HostRule, rows_of, table_of
from logaudit.reconcile.inputs import Given
from logaudit.sources import open_sources
from logaudit.sources.interface import Source
from logaudit.sources.local import LocalFile, StandardInput
from logaudit.sources.stamp import Stamp, known_stamp, stamp

IN_FLIGHT = 64
"""Tasks per worker that are handed to the scheduler at a time."""
RETRIES = 3
"""How often a log is tried again when its worker dies."""
GATHER_S = 0.25
"""How long results are left to collect."""
_LOST = object()
CONNECT_S = 20.0
"""How long an existing scheduler may take to answer."""
SILENCE = 60
"""Above every level of logging: what goes wrong is told in the rows."""
WORKER_MEMORY = "2GiB"
"""Beyond it a worker of the own cluster is stopped and started anew: far above what a log needs."""


@dataclass(frozen=True, slots=True)
class Target:
    """One log to read."""

    name: str
    source: Source
    stamp: Stamp | None
    """Where it is known without asking."""


@dataclass(slots=True)
class Summary:
    """What came of a run."""

    read: int = 0
    unchanged: int = 0
    failed: int = 0
    rows: int = 0
    names: set[str] = field(default_factory=set)

    seconds: float = 0.0

    @property
    def done(self) -> int:
        """Logs that are settled, read or not."""
        return self.read + self.unchanged + self.failed

    def text(self, place: str) -> str:
        """What came of it, in a line or two."""
        parts = [f"{self.read:,} logs read"]
        parts += [f"{self.unchanged:,} unchanged"] if self.unchanged else []
        parts += [f"{self.failed:,} could not be read (their rows say why)"] if self.failed else []
        speed = f" ({self.read / self.seconds:.1f} a second)" if self.seconds > 0 and self.read else ""
        return f"{', '.join(parts)}; {self.rows:,} rows written to {place} in {self.seconds:.1f} s{speed}\n"


Progress = Callable[[int, int], None]
"""Called with the logs done and the logs there are."""


def targets_of(arguments: Sequence[str]) -> tuple[list[Target], list[dict[str, Any]]]:
    """Every log that the arguments name, and a row for each argument that names none."""
    found: dict[str, Target] = {}
    failed: list[dict[str, Any]] = []
    for argument in arguments:
        try:
            opened = open_sources([argument])
        except ConfigError:
            raise
        except LogauditError as problem:
            failed.append({"source": argument, "error": str(problem)})
            continue
        for source in opened:
            if isinstance(source, StandardInput):
                raise ConfigError("standard input is no fleet", do="name files, folders, hosts or objects")
            target = Target(source.name, _absolute(source), known_stamp(source))
            found.setdefault(target.name, target)
    return list(found.values()), failed


def _absolute(source: Source) -> Source:
    """A file by its whole path: a worker may stand in another folder."""
    return replace(source, path=os.path.abspath(source.path)) if isinstance(source, LocalFile) else source


def work(target: Target, given: Given, hosts: HostRule, known: Stamp | None) -> Any:
    """One task: the rows of a log as an Arrow table; None when its stamp is still `known`."""
    if known is not None and target.stamp is None:
        now = stamp(target.source)
        if now == known:
            return None
        target = replace(target, stamp=now)
    return table_of(rows_of(target.source, target.name, given, hosts, target.stamp))


def read_fleet(
    arguments: Sequence[str],
    dataset: Dataset,
    given: Given,
    *,
    scheduler: str | None = None,
    workers: int | None = None,
    resume: bool = False,
    hosts: HostRule = HostRule(),  # noqa: B008 - frozen
    progress: Progress = lambda done, total: None,
) -> Summary:
    """Read every log into `dataset`: on the cluster at `scheduler`, else on an own one of `workers` processes.

    `workers` is one a core without a number; 0 reads in this process, without Dask. Raises ConfigError.
    """
    began = time.monotonic()
    targets, failed = targets_of(arguments)
    known = dataset.known() if resume else {}
    summary = Summary(failed=len(failed), names={target.name for target in targets} | {row["source"] for row in failed})
    total = len(targets) + len(failed)
    if failed:
        _take(dataset, summary, table_of(failed))
    todo = []
    for target in targets:
        if target.stamp is not None and known.get(target.name) == target.stamp:
            summary.unchanged += 1
        else:
            todo.append(target)
    progress(summary.done, total)
    for table in _results(todo, given, hosts, known, scheduler, workers):
        if table is None:
            summary.unchanged += 1
        else:
            broken = bool(table.column("error")[0].as_py())
            summary.failed += broken
            summary.read += not broken
            _take(dataset, summary, table)
        progress(summary.done, total)
    dataset.flush()
    dataset.settle(summary.names)
    summary.seconds = time.monotonic() - began
    return summary


def _take(dataset: Dataset, summary: Summary, table: Any) -> None:
    summary.rows += table.num_rows
    dataset.add(table)


def _results(
    targets: Sequence[Target],
    given: Given,
    hosts: HostRule,
    known: dict[str, Stamp],
    scheduler: str | None,
    workers: int | None,
) -> Iterator[Any]:
    if not targets:
        return
    if workers == 0:
        for target in targets:
            yield work(target, given, hosts, known.get(target.name))
        return
    distributed = _distributed()
    with _client(scheduler, workers, len(targets)) as client, client.as_current():
        task = partial(_work, given, hosts)
        waiting = iter(targets)
        width = IN_FLIGHT * max(1, len(client.scheduler_info(n_workers=-1)["workers"]))
        running: dict[Any, Target] = {}

        def submit(count: int) -> list[Any]:
            some = list(islice(waiting, count))
            if not some:
                return []
            stamps = [known.get(target.name) for target in some]
            futures: list[Any] = client.map(task, some, stamps, pure=False, retries=RETRIES)
            running.update(zip(futures, some, strict=True))
            return futures

        done = distributed.as_completed(submit(width), raise_errors=False)
        began = time.monotonic()
        for first in done:
            # Results are fetched some at a time: a message for each costs as much as a tenth of a small log.
            time.sleep(min(GATHER_S, (time.monotonic() - began) / 20))
            batch = [first, *done.next_batch(block=False)]
            tables = _gathered(client, batch)
            ended = [running.pop(future) for future in batch]
            done.update(submit(len(batch)))
            for future, target, table in zip(batch, ended, tables, strict=True):
                yield _result(future, target) if table is _LOST else table


def _work(given: Given, hosts: HostRule, target: Target, known: Stamp | None) -> Any:
    _collect_less_garbage()
    return work(target, given, hosts, known)


@cache
def _collect_less_garbage() -> None:
    """What a worker has imported stays: looking through it for garbage takes a tenth of the time."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def _gathered(client: Any, futures: Sequence[Any]) -> list[Any]:
    """The results of tasks that ended, `_LOST` for those that failed or whose worker died meanwhile."""
    well = [future for future in futures if future.status == "finished"]
    found = client.gather(well, errors="skip") if well else []
    if len(found) != len(well):
        return [_LOST] * len(futures)
    results = iter(found)
    return [next(results) if future in well else _LOST for future in futures]


def _result(future: Any, target: Target) -> Any:
    """The table of a task, computed anew where need be; a row where it cannot be brought to an end."""
    try:
        return future.result()
    except Exception as problem:
        # A worker that dies again and again under this log, or a cluster that lacks logaudit.
        what = f"no worker could read it: {type(problem).__name__}: {problem}"
        return table_of([{"source": target.name, "error": what[:500]}])


def require_parquet() -> None:
    """Raises ConfigError where Parquet cannot be written."""
    try:
        import_module("pyarrow.parquet")
    except ImportError:
        raise ConfigError("a fleet's result needs pyarrow", do="pip install 'logaudit[fleet]'") from None


def _distributed() -> Any:
    try:
        return import_module("distributed")
    except ImportError:
        raise ConfigError("a fleet is read on Dask", do="pip install 'logaudit[fleet]', or --workers 0") from None


@contextmanager
def _client(scheduler: str | None, workers: int | None, logs: int) -> Iterator[Any]:
    dask, distributed = import_module("dask"), _distributed()
    if scheduler is not None:
        try:
            client = distributed.Client(scheduler, timeout=CONNECT_S, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as problem:
            raise ConfigError(f"no scheduler answers: {problem}", where=scheduler, do="check the address") from None
        with client:
            yield client
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    settings = {
        "distributed.worker.daemon": True,
        "distributed.admin.system-monitor.gil.enabled": False,
        "distributed.worker.profile.enabled": False,
    }
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=min(workers or cores, max(1, logs)),
            threads_per_worker=1,
            processes=True,
            memory_limit=WORKER_MEMORY,
            dashboard_address="127.0.0.1:0",
            host="127.0.0.1",
            silence_logs=SILENCE,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client
