"""The live view of a start: phase, the log's own progress, and the ledger as far as it goes."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from logaudit.report.document import LaunchDoc
from logaudit.report.inline import clip, one_line
from logaudit.watch.session import SourceState, State

_WORDS = {
    "waiting": "waiting for the log",
    "launch": "launching",
    "distributed": "ranks are joining",
    "weights": "loading weights",
    "sizing": "sizing the pools",
    "pools": "allocating the pools",
    "draft": "draft model",
    "graphs": "capturing graphs",
    "scheduler": "scheduler is up, warming up",
    "serving": "serving",
    "failures": "an error was logged",
}


def phase_words(phase: str) -> str:
    """What a phase means for somebody who waits."""
    return _WORDS.get(phase, phase)


class LiveView:
    """Shows the state on a terminal; elsewhere one line for every change of phase."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._terminal = self._console.is_terminal
        self._live = Live(console=self._console, transient=True, auto_refresh=False) if self._terminal else None
        self._told: dict[int, str] = {}

    def __enter__(self) -> LiveView:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, state: State, launches: list[LaunchDoc]) -> None:
        """Bring the picture up to date."""
        if self._live is not None:
            self._live.update(picture(state, launches), refresh=True)
            return
        for index, source in enumerate(state.sources):
            words = one_line(source.note or phase_words(source.phase))
            if self._told.get(index) != words:
                self._told[index] = words
                elapsed = clock(time.monotonic() - state.began)
                print(f"logaudit: {elapsed} {one_line(source.name)}: {words}", file=sys.stderr, flush=True)

    def say(self, text: str) -> None:
        """A line that stays."""
        self._console.print(Text(one_line(text)))


def picture(state: State, launches: list[LaunchDoc]) -> RenderableType:
    """The whole view."""
    parts: list[RenderableType] = []
    elapsed = clock(time.monotonic() - state.began)
    for source in state.sources:
        parts.append(
            Text.assemble((elapsed, "dim"), "  ", (clip(one_line(source.name), 60), "bold"), "  ", _status(source))
        )
        if source.bar is not None and not source.bar.finished:
            parts.append(_bar(source))
    parts += [_ledger(launch) for launch in launches]
    return Group(*parts)


def _status(source: SourceState) -> Text:
    if source.note:
        return Text(one_line(source.note), style="yellow")
    return Text(phase_words(source.phase))


def _bar(source: SourceState) -> RenderableType:
    bar = source.bar
    if bar is None:
        return Text()
    left = "time left unknown" if bar.left_s is None else f"about {clock(bar.left_s)} left"
    row = Table.grid(padding=(0, 1))
    row.add_row(
        Text(clip(one_line(bar.what), 48)),
        ProgressBar(total=bar.total, completed=bar.done, width=24),
        Text(f"{bar.done}/{bar.total}  {left}"),
    )
    return row


def _ledger(launch: LaunchDoc) -> RenderableType:
    table = Table(box=None, show_header=False, padding=(0, 1))
    title = launch.verdict[0] if launch.verdict else launch.outcome
    table.add_row(Text(clip(one_line(title), 76), style="bold"), "")
    if launch.ledger:
        row = launch.ledger[0]
        for item in row.items[:14]:
            table.add_row(Text(f"  {one_line(item.item)}"), Text(f"{item.gib.value:8.2f} GiB", justify="right"))
    elif launch.timeline:
        for step in launch.timeline[-6:]:
            table.add_row(Text(f"  free {one_line(step.what)}"), Text(f"{step.free_gib:8.2f} GiB", justify="right"))
    return table


def clock(seconds: float) -> str:
    """`01:02`, `1:02:03`."""
    whole = max(0, int(seconds))
    hours, rest = divmod(whole, 3600)
    text = f"{rest // 60:02d}:{rest % 60:02d}"
    return f"{hours}:{text}" if hours else text
