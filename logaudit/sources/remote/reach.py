"""How sources on other machines are reached: what the command line's options say about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logaudit.sources.remote.host import Host


@dataclass(frozen=True, slots=True)
class Reach:
    """The user's wishes for everything that is not on this machine."""

    via: str | None = None
    """Host to read every source on: `[user@]host[:port]` or an alias of `~/.ssh/config`."""
    ssh_options: tuple[str, ...] = ()
    """`KEY=VALUE` settings handed on to the SSH client."""
    remote_filter: bool = True
    """Whether the far side's `grep` may pick out what is sent."""

    def host(self) -> Host | None:
        """The host that `via` names; None: this machine. Raises SourceError."""
        from logaudit.sources.remote.host import Host

        return None if self.via is None else Host.parse(self.via, self.ssh_options)


NEAR = Reach()
"""Nothing was said."""
