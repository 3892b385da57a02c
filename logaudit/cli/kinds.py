"""`logaudit kinds`: print the kinds of log lines that are understood."""

from __future__ import annotations

from typing import Annotated, Literal

import typer


def kinds(
    kinds_format: Annotated[Literal["text", "json"], typer.Option("--format", help="A table, or JSON.")] = "text",
) -> int:
    """Print every kind of log line that is understood: its phase, the releases that print it, what it looks like."""
    import json

    from logaudit.cli.output import write_standard_output
    from logaudit.extract.reader import all_extractors

    table = all_extractors()
    if kinds_format == "json":
        entries = [
            {
                "kind": entry.kind,
                "phase": entry.phase,
                "releases": entry.releases,
                "fields": {field.name: field.unit for field in entry.fields},
                "samples": [sample.text for sample in entry.samples],
            }
            for entry in table
        ]
        write_standard_output(json.dumps(entries, indent=2, ensure_ascii=False) + "\n")
        return 0
    widest = max(len(entry.kind) for entry in table)
    lines = [f"{entry.kind:<{widest}}  {entry.phase:<12} {entry.releases}" for entry in table]
    write_standard_output("\n".join([*lines, f"{len(lines)} kinds", ""]))
    return 0
