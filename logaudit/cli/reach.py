"""The command line's options about other machines, the same for every command that reads logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from logaudit.sources.remote.reach import Reach

Via = Annotated[
    str | None,
    typer.Option("--via", metavar="HOST", help="Read the logs on HOST ([user@]host[:port], or a name ssh knows)."),
]
SshOption = Annotated[
    list[str] | None,
    typer.Option("--ssh-option", metavar="KEY=VALUE", help="Hand an option to ssh; may be repeated."),
]
NoRemoteFilter = Annotated[
    bool,
    typer.Option("--no-remote-filter", help="Have all of a far-away log sent, not only the lines that may matter."),
]

ProbeIt = Annotated[
    bool,
    typer.Option("--probe", help="Ask the machine that has the log for its GPUs and its model's config (read-only)."),
]
NvidiaSmi = Annotated[
    str | None,
    typer.Option("--nvidia-smi", metavar="FILE", help="The GPUs from saved output of nvidia-smi."),
]


def make_reach(via: str | None, ssh_option: list[str] | None, no_remote_filter: bool) -> Reach:
    """The options as the sources take them."""
    from logaudit.sources.remote.reach import Reach

    return Reach(via, tuple(ssh_option or ()), not no_remote_filter)
