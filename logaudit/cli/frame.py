"""`logaudit frame`: write the figures of a log as a table."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from logaudit.errors import ConfigError, LogauditError

if TYPE_CHECKING:
    import pandas as pd

_ENDINGS = {".csv": "csv", ".json": "json", ".parquet": "parquet", ".pq": "parquet"}


def frame(
    logs: Annotated[
        list[str],
        typer.Argument(metavar="LOG...", help="Paths, folders, globs, - for standard input.", show_default=False),
    ],
    frame_format: Annotated[
        Literal["csv", "json", "parquet"] | None,
        typer.Option("--format", help="Default: csv, or what the ending of FILE says."),
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write to FILE.")] = None,
    records: Annotated[
        bool, typer.Option("--records/--ranks", help="One row a log line, or one row per start, worker and rank.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing FILE.")] = False,
) -> int:
    """Write the figures of a log as a table: one row per start, worker and rank, or one row a log line."""
    import logaudit
    from logaudit.cli.output import check_target, write_file, write_standard_bytes
    from logaudit.report.redact import Redactor
    from logaudit.report.redact_frame import redact_frame

    chosen = _choose(frame_format, output)
    if output is not None:
        check_target(output, force=force)
    table = logaudit.read_records(logs) if records else logaudit.rank_frame(logs)
    data = encode(redact_frame(table, Redactor()), chosen)
    if output is None:
        write_standard_bytes(data)
    else:
        write_file(output, data, force=force)
    return 0


def _choose(given: str | None, output: Path | None) -> str:
    if given is not None:
        return given
    if output is None or not output.suffix:
        return "csv"
    ending = output.suffix.lower()
    if ending not in _ENDINGS:
        raise LogauditError(
            f"the ending {ending} names no format", where=str(output), do="--format csv, json or parquet"
        )
    return _ENDINGS[ending]


def encode(table: pd.DataFrame, frame_format: str) -> bytes:
    """The table as CSV, as JSON (a list with one object a row) or as Parquet. Raises ConfigError without pyarrow."""
    if frame_format == "csv":
        return table.to_csv(index=False).encode()
    if frame_format == "json":
        text = table.to_json(orient="records", date_format="iso", force_ascii=False, indent=1)
        return f"{text}\n".encode()
    out = io.BytesIO()
    try:
        table.to_parquet(out, index=False)
    except ImportError:
        raise ConfigError("Parquet needs pyarrow", do="pip install 'logaudit[parquet]'") from None
    return out.getvalue()
