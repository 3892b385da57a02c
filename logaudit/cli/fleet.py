"""`logaudit fleet`: any number of logs into one Parquet dataset, and a report on all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def fleet(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...",
            help="Files, folders, globs, ssh:// addresses, s3://, gs:// and az:// objects, prefixes and patterns.",
            show_default=False,
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FOLDER", help="The Parquet dataset.")],
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="Also a report on the fleet: .html, .md, .txt or .json."),
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="An existing Dask scheduler, tcp://host:8786.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Processes of the own cluster; one a core without it, 0: none."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Skip the logs that did not change since.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
    model_config: Annotated[
        str | None, typer.Option(metavar="PATH", help="The config.json, where all logs are of one model.")
    ] = None,
    gpu_memory: Annotated[
        float | None, typer.Option(metavar="GIB", min=0.0, help="Memory of one card, where all are alike.")
    ] = None,
    host_from: Annotated[
        str,
        typer.Option(
            metavar="REGEX",
            help="Finds the host in a log's name: its first group, else its match. Without it: the host of an ssh "
            "address, else the folder of the log.",
        ),
    ] = "",
) -> int:
    """Read any number of logs into a Parquet dataset, in parallel; a log that cannot be read is a row that says why."""
    from logaudit.auditing import given_of
    from logaudit.cli.output import check_target, write_file, write_standard_output
    from logaudit.cli.progress import Bar
    from logaudit.cli.report import choose_format
    from logaudit.fleet.dataset import Dataset, read_dataset
    from logaudit.fleet.rows import host_rule
    from logaudit.fleet.run import read_fleet, require_parquet

    chosen = choose_format(None, report)
    if report is not None:
        check_target(report, force=force or resume)
    require_parquet()
    hosts = host_rule(host_from)
    given = given_of(model_config=model_config, gpu_memory_gib=gpu_memory)
    dataset = Dataset.create(output, resume=resume, force=force)
    with Bar("logs") as bar:
        summary = read_fleet(
            sources,
            dataset,
            given,
            scheduler=scheduler,
            workers=workers,
            resume=resume,
            hosts=hosts,
            progress=bar.reach,
        )
    write_standard_output(summary.text(str(output)))
    if report is not None:
        from logaudit.fleet.report import render_fleet

        text = render_fleet(read_dataset(output), chosen)
        write_file(report, text.encode(), force=force or resume)
    return 0
