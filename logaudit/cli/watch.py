"""`logaudit watch`: follow a start as it happens, and write its report when it is ready or has crashed."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from logaudit.cli.reach import SshOption, Via, make_reach
from logaudit.cli.report import ReportFormat, choose_format, columns, wants_colour
from logaudit.errors import LogauditError, WatchTimeout

if TYPE_CHECKING:
    from logaudit.report.document import Document
    from logaudit.sources.interface import Source
    from logaudit.watch.live import LiveView
    from logaudit.watch.session import Session

_LOOK_S = 0.25
INTERRUPTED = 130


def watch(
    logs: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...",
            help="Logs to follow: paths, ssh://[user@]host[:port]/path, docker:NAME, journal:UNIT, "
            "kube:[NAMESPACE/]POD[/CONTAINER], command:WORDS, - for standard input.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write the report to FILE; the format follows its ending."),
    ] = None,
    report_format: Annotated[
        ReportFormat | None, typer.Option("--format", help="Default: text, or what the ending of FILE says.")
    ] = None,
    model_config: Annotated[
        str | None, typer.Option(metavar="PATH", help="The model's config.json, or the folder that holds it.")
    ] = None,
    gpu_memory: Annotated[
        float | None, typer.Option(metavar="GIB", min=0.0, help="Memory of one card, where a rule needs it.")
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Go on to the next start; each gets a report (FILE, FILE-2, …).")
    ] = False,
    timeout: Annotated[
        float | None, typer.Option("--timeout", metavar="S", min=0.0, help="Give up after S seconds (exit code 4).")
    ] = None,
    attach: Annotated[
        str | None, typer.Option("--attach", metavar="TICKET", help="Put each report on this ticket.")
    ] = None,
    via: Via = None,
    ssh_option: SshOption = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing FILE.")] = False,
) -> int:
    """Follow a server's start as it happens, and write its report when it is ready or has crashed."""
    from logaudit.cli.output import check_target
    from logaudit.sources.local import LocalFile
    from logaudit.sources.remote.open import open_reached
    from logaudit.watch.live import LiveView
    from logaudit.watch.session import Session

    chosen = choose_format(report_format, output)
    if output is not None:
        check_target(output, force=force)
    reach = make_reach(via, ssh_option, no_remote_filter=False)
    sources: list[Source] = []
    for log in logs:
        waited_for = via is None and names_a_file(log)
        sources += [LocalFile(log)] if waited_for else open_reached([log], reach)
    reports = _Reports(output, chosen, force, attach)

    def audit(kept: Sequence[Source]) -> Document:
        import logaudit

        return logaudit.audit(kept, model_config=model_config, gpu_memory_gib=gpu_memory)

    session = Session(sources, audit)
    interrupts = _Interrupts()
    deadline = None if timeout is None else time.monotonic() + timeout
    try:
        with LiveView() as view:
            session.open()
            _run(session, view, reports, deadline, interrupts, keep=keep)
        if interrupts.came and not _write_what_is_known(session, reports):
            return INTERRUPTED
    finally:
        session.close()
    return reports.exit_code


def names_a_file(log: str) -> bool:
    """Whether an argument is the path of one local file, which need not exist yet."""
    from glob import has_magic

    return log != "-" and ":" not in log.partition("/")[0] and not has_magic(log) and not Path(log).is_dir()


class _Reports:
    """Where the reports of one watch go."""

    def __init__(self, output: Path | None, chosen: str, force: bool, ticket: str | None) -> None:
        self._output, self._chosen, self._force, self._ticket = output, chosen, force, ticket
        self.written = 0
        self.exit_code = 0

    def write(self, document: Document, view: LiveView | None) -> None:
        """Write one report, and put it on the ticket. Raises OutputError."""
        from logaudit.cli.output import write_file, write_standard_output
        from logaudit.report.render import render

        self.written += 1
        path = self._path()
        if path is None:
            width = columns(False, sys.stdout.isatty())
            text = render(document, self._chosen, full=False, colour=wants_colour(), width=width)
            write_standard_output(text)
        else:
            write_file(path, render(document, self._chosen, full=True, width=100).encode(), force=self._force)
            if view is not None:
                view.say(f"report: {path}")
        if self._ticket is not None:
            self._deliver(document, path, self._ticket)

    def _path(self) -> Path | None:
        if self._output is None or self.written == 1:
            return self._output
        return self._output.with_stem(f"{self._output.stem}-{self.written}")

    def _deliver(self, document: Document, path: Path | None, ticket: str) -> None:
        from logaudit.tickets.delivery import deliver

        try:
            done = deliver(document, path if self._chosen == "html" else None, ticket)
        except LogauditError as problem:
            # The watch goes on with the next start; that this one did not arrive shows in the exit code.
            self.exit_code = problem.exit_code
            print(f"logaudit: {problem}", file=sys.stderr, flush=True)
        else:
            print(f"logaudit: {done.ticket}: {done.action}", file=sys.stderr, flush=True)


def _run(
    session: Session,
    view: LiveView,
    reports: _Reports,
    deadline: float | None,
    interrupts: _Interrupts,
    *,
    keep: bool,
) -> None:
    """Until the start is over or an interrupt comes; with `keep`, until the timeout or an interrupt."""
    while not interrupts.came:
        session.wait(_LOOK_S)
        session.update()
        view.show(session.state, session.current())
        if session.over():
            document = session.report()
            if document is not None:
                reports.write(document, view)
            if not keep:
                return
        if deadline is not None and time.monotonic() >= deadline:
            document = session.report()
            if document is not None:
                reports.write(document, view)
            raise WatchTimeout(
                "neither ready nor crashed in the time given",
                where=", ".join(source.name for source in session.state.sources),
                do="raise --timeout, or look at the log",
            )


def _write_what_is_known(session: Session, reports: _Reports) -> bool:
    """Write the report of a start that is not over; False when nothing is known of one."""
    document = session.report()
    if document is not None:
        reports.write(document, None)
    return document is not None or reports.written > 0


class _Interrupts:
    """Remembers that somebody wants to stop; the second time it stops at once.

    An exception out of a signal handler can end up anywhere, in a destructor for one, and be lost there.
    """

    def __init__(self) -> None:
        self.came = False
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # `nohup` has hang-ups ignored, and they stay so.
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._handle)

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self.came:
            raise KeyboardInterrupt
        self.came = True
