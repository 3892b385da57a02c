"""Logs of containers, through the `docker` client."""

from __future__ import annotations

from dataclasses import dataclass

from logaudit.sources.command import ByTimestamp, CommandLog, Resume, checked_name
from logaudit.sources.interface import Source
from logaudit.sources.remote.reach import NEAR, Reach


def open_argument(argument: str, reach: Reach = NEAR) -> list[Source]:
    """The log of the container `docker:NAME` (name or id); raises SourceError."""
    name = checked_name(argument.removeprefix("docker:"), argument, "docker:NAME")
    return [DockerLog(argument, (b"docker", b"logs", name), reach.host())]


@dataclass(slots=True)
class DockerLog(CommandLog):
    """What one container wrote."""

    def new_resume(self) -> Resume:
        return ByTimestamp()

    def follow_command(self, resume: Resume) -> tuple[bytes, ...]:
        last = resume.last if isinstance(resume, ByTimestamp) else b""
        since = (b"--since", last) if last else ()
        return (b"docker", b"logs", b"--timestamps", b"--follow", *since, self.argv[-1])
