"""`logaudit diff`: two starts side by side, and which change accounts for how many tokens."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from logaudit.cli.report import ReportFormat

_START = typer.Argument(
    help="A log, `LOG#N` for its start N (0 the first, -1 the last, which is the default), or a report of logaudit.",
    show_default=False,
)


def diff(
    before: Annotated[str, _START],
    after: Annotated[str, _START],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write to FILE; the format follows its ending."),
    ] = None,
    diff_format: Annotated[ReportFormat | None, typer.Option("--format", help="text, md, html or json.")] = None,
    model_config: Annotated[
        str | None, typer.Option(metavar="PATH", help="The config.json of the model of both starts.")
    ] = None,
    draft_model_config: Annotated[str | None, typer.Option(metavar="PATH", help="The same of the draft model.")] = None,
    gpu_memory: Annotated[float | None, typer.Option(metavar="GIB", min=0.0, help="Memory of one card.")] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Exit 1 when the second start holds fewer tokens by more than --threshold.")
    ] = False,
    threshold: Annotated[
        float, typer.Option("--threshold", metavar="PERCENT", min=0.0, help="What --check lets pass.")
    ] = 1.0,
    strict: Annotated[bool, typer.Option("--strict", help="With --check: also when a token count is missing.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing FILE.")] = False,
) -> int:
    """What changed between two starts: arguments, release, memory, capacity; what each change is worth in tokens."""
    from logaudit.auditing import given_of
    from logaudit.cli.output import check_target, write_file, write_standard_output
    from logaudit.cli.report import choose_format, columns, wants_colour
    from logaudit.comparing import compare_starts
    from logaudit.report.diff import fell
    from logaudit.report.diff_render import render_diff

    chosen = choose_format(diff_format, output)
    if output is not None:
        check_target(output, force=force)
    given = given_of(model_config=model_config, draft_model_config=draft_model_config, gpu_memory_gib=gpu_memory)
    found = compare_starts(before, after, given)
    if output is None:
        terminal = sys.stdout.isatty()
        write_standard_output(render_diff(found, chosen, colour=wants_colour(), width=columns(True, terminal)))
    else:
        write_file(output, render_diff(found, chosen).encode(), force=force)
    return int((check or strict) and fell(found, threshold, strict=strict))
