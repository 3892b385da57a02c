"""Logs of pods, through `kubectl`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from logaudit.errors import SourceError
from logaudit.sources.command import ByTimestamp, CommandLog, Resume, checked_name
from logaudit.sources.interface import Source
from logaudit.sources.remote.reach import NEAR, Reach

_FORM = "kube:[NAMESPACE/]POD[/CONTAINER]"


def open_argument(argument: str, reach: Reach = NEAR) -> list[Source]:
    """The log of `kube:[NAMESPACE/]POD[/CONTAINER]`; raises SourceError.

    Of two names the first is taken for the namespace, and where there is no such pod, the second for the container.
    """
    names = [checked_name(part, argument, _FORM) for part in argument.removeprefix("kube:").split("/")]
    if len(names) > 3:
        raise SourceError("too many names", where=argument, do=f"write {_FORM}")
    if len(names) == 1:
        targets: list[tuple[bytes, ...]] = [(names[0],)]
    elif len(names) == 2:
        targets = [(b"--namespace", names[0], names[1]), (names[0], b"--container", names[1])]
    else:
        targets = [(b"--namespace", names[0], names[1], b"--container", names[2])]
    return [KubeLog(argument, (b"kubectl", b"logs"), reach.host(), targets=targets)]


@dataclass(slots=True)
class KubeLog(CommandLog):
    """What one container of a pod wrote."""

    targets: Sequence[tuple[bytes, ...]] = ()
    """Arguments that name it, the likeliest first."""

    def commands(self) -> Sequence[tuple[bytes, ...]]:
        return [(*self.argv, *target) for target in self.targets]

    def new_resume(self) -> Resume:
        return ByTimestamp()

    def follow_command(self, resume: Resume) -> tuple[bytes, ...]:
        last = resume.last if isinstance(resume, ByTimestamp) else b""
        since = (b"--since-time=" + last,) if last else ()
        return (*self.argv, b"--timestamps", b"--follow", *since, *self.targets[0])
