"""`logaudit attach`: put a report on a ticket."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from logaudit.cli.redact import RedactOption, redactor_for
from logaudit.errors import SourceError

if TYPE_CHECKING:
    from logaudit.tickets import Delivery

UpdateOption = Annotated[bool, typer.Option("--update", help="Replace the comment that logaudit wrote before.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Print what would go to the ticket, and send nothing.")]
AttachOption = Annotated[
    str | None,
    typer.Option("--attach", metavar="TICKET", help="Put the report on this ticket: `logaudit attach --help`."),
]


def attach(
    report: Annotated[str, typer.Argument(metavar="REPORT.html", help="A report that `logaudit report` wrote.")],
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="TICKET",
            help="jira:OPS-123, github:owner/repo#12, gitlab:group/project#12, redmine:123, or the ticket's URL.",
        ),
    ],
    update: UpdateOption = False,
    dry_run: DryRunOption = False,
    also: RedactOption = None,
) -> int:
    """Put REPORT.html on a ticket: a comment that says what the first screen says, and the report itself.

    Credentials come from the environment and the files of each tracker's own client, never from the command line.
    """
    from logaudit.report.stored import stored_report
    from logaudit.tickets import deliver

    document = stored_report(report)
    if document is None:
        raise SourceError("is no report of logaudit", where=report, do="make one: logaudit report LOG -o REPORT.html")
    is_html = report.lower().endswith((".html", ".htm"))
    done = deliver(
        document, report if is_html else None, to, update=update, dry_run=dry_run, redactor=redactor_for(also)
    )
    print_delivery(done)
    return 0


def print_delivery(done: Delivery) -> None:
    """Say what was done; for a dry run, the comment and the files that would be sent."""
    from logaudit.cli.output import write_standard_output
    from logaudit.report.inline import clean

    if done.action != "dry run":
        words = {"added": "is on", "updated": "replaced the earlier one on", "unchanged": "is already on"}[done.action]
        sys.stderr.write(f"logaudit: the report {words} {clean(done.url)}\n")
        return
    files = "".join(f"  {file.name}, {len(file.data):,} bytes\n" for file in done.files)
    attached = f"Files for {done.ticket}:\n{files}\n" if files else ""
    write_standard_output(
        f"Nothing was sent.\n{attached}Comment for {done.ticket}, {clean(done.url)}:\n\n{clean(done.comment)}\n"
    )
