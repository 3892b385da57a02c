"""`logaudit report`: read logs and write the explained report."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from logaudit.cli.attach import AttachOption, DryRunOption, UpdateOption, print_delivery
from logaudit.cli.reach import NoRemoteFilter, NvidiaSmi, ProbeIt, SshOption, Via, make_reach
from logaudit.cli.redact import RedactOption, redactor_for
from logaudit.errors import LogauditError
from logaudit.sources.remote.reach import NEAR, Reach

if TYPE_CHECKING:
    from logaudit.report.document import Document

ReportFormat = Literal["text", "md", "html", "json"]
_ENDINGS = {
    ".html": "html",
    ".htm": "html",
    ".md": "md",
    ".markdown": "md",
    ".json": "json",
    ".txt": "text",
    ".text": "text",
    "": "text",
}


def report(
    logs: Annotated[
        list[str],
        typer.Argument(
            metavar="LOG...",
            help="Logs: paths, folders, globs, - for standard input; or one report of logaudit (HTML or JSON), to "
            "write it in another format.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write to FILE; the format follows its ending."),
    ] = None,
    report_format: Annotated[
        ReportFormat | None, typer.Option("--format", help="Default: text, or what the ending of FILE says.")
    ] = None,
    model_config: Annotated[
        str | None,
        typer.Option(
            metavar="PATH", help="The model's config.json, or the folder that holds it: exact bytes per token."
        ),
    ] = None,
    draft_model_config: Annotated[str | None, typer.Option(metavar="PATH", help="The same of the draft model.")] = None,
    gpu_memory: Annotated[
        float | None, typer.Option(metavar="GIB", min=0.0, help="Memory of one card, where a rule needs it.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing FILE.")] = False,
    full: Annotated[bool, typer.Option("--full", help="All of the text, not only the first screen.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Exit 1 when a start crashed or its KV cache is not explained.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="With --check: also when it could not be checked.")] = False,
    launch: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Only start N, counted from 0 as in the report; -1 is the last.", show_default=False
        ),
    ] = None,
    also: RedactOption = None,
    attach: AttachOption = None,
    update: UpdateOption = False,
    dry_run: DryRunOption = False,
    via: Via = None,
    ssh_option: SshOption = None,
    no_remote_filter: NoRemoteFilter = False,
    probe: ProbeIt = False,
    nvidia_smi: NvidiaSmi = None,
) -> int:
    """Explain where the GPU memory of a start went and why its KV cache holds as many tokens as it does."""
    from logaudit.cli.output import check_target, write_file, write_standard_output
    from logaudit.report.check import needs_attention
    from logaudit.report.render import render

    chosen = choose_format(report_format, output)
    if output is not None:
        check_target(output, force=force)
    reach = make_reach(via, ssh_option, no_remote_filter)
    if probe or nvidia_smi is not None:
        from logaudit.cli.probing import read_probed

        document = read_probed(logs, reach, model_config, draft_model_config, gpu_memory, nvidia_smi)
    else:
        document = read(logs, model_config, draft_model_config, gpu_memory, reach)
    if launch is not None:
        document = only_launch(document, launch)
    if also:
        document = redactor_for(also).document(document)
    if output is None:
        terminal = sys.stdout.isatty()
        text = render(document, chosen, full=full, colour=wants_colour(), width=columns(full, terminal))
        write_standard_output(text)
    else:
        write_file(output, render(document, chosen, full=True, width=100).encode(), force=force)
    if attach is not None:
        from logaudit.tickets import deliver

        page = output if chosen == "html" else None
        print_delivery(deliver(document, page, attach, update=update, dry_run=dry_run, redactor=redactor_for(also)))
    return int((check or strict) and needs_attention(document, strict=strict))


def choose_format(given: str | None, output: Path | None) -> str:
    """The format asked for, or that of the file's ending. Raises LogauditError for an ending that says nothing."""
    if given is not None:
        return given
    if output is None:
        return "text"
    ending = output.suffix.lower()
    if ending not in _ENDINGS:
        raise LogauditError(
            f"the ending {ending} names no format", where=str(output), do="--format text, md, html or json"
        )
    return _ENDINGS[ending]


def read(
    logs: list[str],
    model_config: str | None,
    draft_model_config: str | None,
    gpu_memory: float | None,
    reach: Reach = NEAR,
) -> Document:
    """The document of the logs, or the one that a report of ours carries."""
    from logaudit.report.stored import stored_report

    if len(logs) == 1 and logs[0] != "-" and reach.via is None:
        stored = stored_report(logs[0])
        if stored is not None:
            return stored
    import logaudit
    from logaudit.cli.progress import Bar
    from logaudit.sources.remote.open import open_reached

    with Bar() as bar:
        plain = reach == NEAR and not bar.seen
        document = logaudit.audit(
            logs if plain else bar.watch(open_reached(logs, reach)),
            model_config=model_config,
            draft_model_config=draft_model_config,
            gpu_memory_gib=gpu_memory,
        )
    _tell_of_slow_search(document)
    return document


def _tell_of_slow_search(document: Document) -> None:
    from logaudit.scan.anchors import searches_fast
    from logaudit.scan.reader import SMALL_BYTES

    if any(source.bytes > SMALL_BYTES for source in document.sources) and not searches_fast():
        sys.stderr.write("logaudit: Hyperscan is not installed: large logs are searched at a fraction of the speed\n")


def only_launch(document: Document, index: int) -> Document:
    """The document with one start only. Raises LogauditError when there is no such start."""
    import msgspec

    if index < 0:
        chosen = document.launches[index:][:1] if -index <= len(document.launches) else []
    else:
        chosen = [launch for launch in document.launches if launch.index == index]
    if not chosen:
        known = ", ".join(str(launch.index) for launch in document.launches) or "none"
        raise LogauditError(f"there is no start {index}", do=f"starts in this log: {known}")
    return msgspec.structs.replace(document, launches=chosen)


def wants_colour() -> bool:
    """Whether the text may be styled: a terminal that can, and no NO_COLOR."""
    if os.environ.get("NO_COLOR"):
        return False
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def columns(full: bool, terminal: bool) -> int:
    """How wide the text may be."""
    if not terminal:
        return 100 if full else 80
    return max(40, min(shutil.get_terminal_size().columns, 120 if full else 80))
