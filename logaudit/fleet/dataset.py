"""The fleet's Parquet dataset: parts that appear whole, taken up again where a run ended."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from logaudit import __version__
from logaudit.errors import OutputError
from logaudit.sources.stamp import Stamp

MARK = "_logaudit_fleet.json"
"""Names the folder as a dataset of ours; readers of Parquet leave out files that begin with an underscore."""
PART_ROWS = 50_000
PART_LOGS = 1_000
_OF_A_LOG = ["source", "etag", "size_bytes", "modified_at", "error"]
_ORDER = ("source", "launch", "worker", "draft_index", "pp", "dp", "tp", "node")


@dataclass(slots=True)
class Dataset:
    """A folder of Parquet files; all rows of one log are in the same file."""

    folder: Path
    _waiting: list[Any] = field(default_factory=list)
    _waiting_rows: int = 0
    _next: int = 0

    @classmethod
    def create(cls, folder: Path, *, resume: bool, force: bool) -> Dataset:
        """Make the folder, or take up one of ours. Raises OutputError."""
        ours = (folder / MARK).is_file()
        if folder.exists() and not ours and (not folder.is_dir() or any(folder.iterdir())):
            raise OutputError("exists and is no fleet's dataset", where=str(folder), do="choose another name")
        if ours and not resume and not force:
            raise OutputError("exists already", where=str(folder), do="--resume takes it up, --force replaces it")
        try:
            if ours and not resume:
                shutil.rmtree(folder)
            folder.mkdir(parents=False, exist_ok=True)
            (folder / MARK).write_text(json.dumps({"logaudit_version": __version__, "schema_version": 1}) + "\n")
            for partial in folder.glob(".part-*"):
                partial.unlink()
        except OSError as problem:
            raise OutputError(
                f"cannot be written: {problem.strerror}", where=str(folder), do="check the folder"
            ) from None
        numbers = [int(part.stem.rpartition("-")[2]) for part in folder.glob("part-*.parquet")]
        return cls(folder, _next=max(numbers, default=-1) + 1)

    def parts(self) -> list[Path]:
        """The files, oldest first."""
        return sorted(self.folder.glob("part-*.parquet"))

    def known(self) -> dict[str, Stamp]:
        """The stamps of the logs that were read well; of a log in two parts the newer one counts."""
        import pyarrow.parquet as pq

        found: dict[str, Stamp] = {}
        for part in self.parts():
            table = pq.read_table(part, columns=["source", "etag", "size_bytes", "modified_at", "error"])
            for row in (
                table.group_by(["source", "etag", "size_bytes", "modified_at", "error"]).aggregate([]).to_pylist()
            ):
                found.pop(row["source"], None)
                if row["error"] is None and row["size_bytes"] is not None:
                    found[row["source"]] = Stamp(row["etag"] or "", row["size_bytes"], row["modified_at"] or "")
        return found

    def add(self, table: Any) -> None:
        """Take in the rows of one log; parts are written as they fill."""
        self._waiting.append(table)
        self._waiting_rows += table.num_rows
        if self._waiting_rows >= PART_ROWS or len(self._waiting) >= PART_LOGS:
            self.flush()

    def flush(self) -> None:
        """Write what waits as one part. Raises OutputError."""
        if not self._waiting:
            return
        import pyarrow as pa

        self._write(pa.concat_tables(self._waiting), self.folder / f"part-{self._next:06d}.parquet")
        self._next += 1
        self._waiting, self._waiting_rows = [], 0

    def _write(self, table: Any, path: Path) -> None:
        import pyarrow.parquet as pq

        partial = path.with_name(f".{path.name}")
        try:
            pq.write_table(table, partial, compression="zstd")
            os.replace(partial, path)
        except OSError as problem:
            with contextlib.suppress(OSError):
                partial.unlink()
            raise OutputError(f"cannot be written: {problem}", where=str(path), do="free some space") from None

    def settle(self, present: Iterable[str]) -> None:
        """Keep of each log the rows of its newest part only, and none of logs that are not `present` any more."""
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        parts = self.parts()
        owner: dict[str, Path] = {}
        sources = {part: set(pq.read_table(part, columns=["source"]).column(0).unique().to_pylist()) for part in parts}
        for part in parts:
            owner |= dict.fromkeys(sources[part], part)
        wanted = set(present)
        for part in parts:
            kept = [name for name in sources[part] if owner[name] == part and name in wanted]
            if len(kept) == len(sources[part]):
                continue
            if not kept:
                part.unlink()
                continue
            table = pq.read_table(part)
            self._write(table.filter(pc.is_in(table["source"], pa.array(kept, pa.string()))), part)


def read_dataset(folder: Path) -> Any:
    """All rows as a pandas frame, ordered by log, start, worker and rank."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from logaudit.fleet.columns import arrow_schema

    parts = sorted(folder.glob("part-*.parquet"))
    tables = [pq.read_table(part, schema=arrow_schema()) for part in parts]
    table = pa.concat_tables(tables) if tables else arrow_schema().empty_table()
    order = [(name, "ascending") for name in _ORDER]
    return table.sort_by(order).to_pandas(types_mapper=_nullable().get)


def _nullable() -> dict[Any, Any]:
    import pandas as pd
    import pyarrow as pa

    return {
        pa.int64(): pd.Int64Dtype(),
        pa.float64(): pd.Float64Dtype(),
        pa.bool_(): pd.BooleanDtype(),
        pa.string(): pd.StringDtype(),
    }
