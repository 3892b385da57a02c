"""A machine that the user's own OpenSSH client can reach."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import unquote, unquote_to_bytes

from logaudit.errors import SourceError
from logaudit.sources.remote.child import Child, has_terminal

_HOST_FORBIDDEN = frozenset("'`\"$\\;&<>|(){},?*[]^!#~/= ")
_USER_FORBIDDEN = frozenset("'`\";&<>|(){}$!*? ")

# As scp and sftp do: a session for data is not the place for the forwardings and commands of the user's configuration.
_DATA_SESSION = (
    "RequestTTY=no",
    "ClearAllForwardings=yes",
    "PermitLocalCommand=no",
    "RemoteCommand=none",
    "ForwardAgent=no",
)
_KEEP_ALIVE_S = 10
_KEEP_ALIVE_COUNT = 3
_CONNECT_TIMEOUT_S = 20


@dataclass(frozen=True)
class Host:
    """Where to log in, in the words of `ssh`; the rest is the user's SSH configuration."""

    name: str
    """Host name, address or alias from `~/.ssh/config`."""
    user: str | None = None
    port: int | None = None
    options: tuple[str, ...] = ()
    """`KEY=VALUE` settings of the user's, handed on with `-o`."""

    def __post_init__(self) -> None:
        if not self.name or self.name.startswith("-") or not _plain(self.name, _HOST_FORBIDDEN):
            raise SourceError(f"{self.name!r} is not a host name", do="write [user@]host[:port]")
        odd = not self.user or self.user.startswith("-") or self.user.endswith("\\")
        if self.user is not None and (odd or not _plain(self.user, _USER_FORBIDDEN)):
            raise SourceError(f"{self.user!r} is not a user name", do="write [user@]host[:port]")
        for option in self.options:
            key, equals, value = option.partition("=")
            if not equals or not key.strip().isalnum() or not value or not _plain(option.replace(" ", ""), frozenset()):
                raise SourceError(f"{option!r} is not an option of ssh", do="write --ssh-option KEY=VALUE")

    @classmethod
    def parse(cls, text: str, options: tuple[str, ...] = ()) -> Host:
        """`[user@]host[:port]`, percent-encoding understood, IPv6 addresses in brackets. Raises SourceError."""
        text = text.removeprefix("ssh://").rstrip("/")
        user, at, place = text.rpartition("@")
        if place.startswith("["):
            name, bracket, rest = place[1:].partition("]")
            if not bracket or (rest and not rest.startswith(":")):
                raise SourceError(f"{text!r} is not a host", do="write [user@]host[:port]")
            port_text = rest[1:] if rest else None
        else:
            name, colon, rest = place.partition(":")
            port_text = rest if colon else None
        port = None
        if port_text is not None:
            if not (port_text.isascii() and port_text.isdigit() and 0 < int(port_text) < 65536):
                raise SourceError(f"{port_text!r} is not a port", where=text, do="write [user@]host[:port]")
            port = int(port_text)
        # A password in the address would be shown in process lists; the client does not take one either.
        if at and ":" in user:
            raise SourceError("an address cannot hold a password", where=name, do="use a key or an agent")
        return cls(unquote(name), unquote(user) if at else None, port, options)

    def __str__(self) -> str:
        """As shown to the user."""
        name = f"[{self.name}]" if ":" in self.name else self.name
        return f"{self.user + '@' if self.user else ''}{name}{f':{self.port}' if self.port else ''}"

    @property
    def command_line(self) -> str:
        """The same host for somebody who types `ssh …`."""
        port = f"-p {self.port} " if self.port else ""
        return f"{port}{self.user}@{self.name}" if self.user else f"{port}{self.name}"

    @property
    def known_as(self) -> str:
        """The name under which the client files the host's key."""
        settings = self._settings
        if alias := settings.get("hostkeyalias"):
            return alias
        name = settings.get("hostname") or self.name
        port = settings.get("port", "22")
        return name if port == "22" else f"'[{name}]:{port}'"

    def shell(self) -> Child:
        """Start a POSIX shell there that reads its commands from standard input. Raises SourceError."""
        return Child([*self._client(), *self._destination(), "exec sh"])

    def _client(self) -> list[str]:
        # The first value that the client sees counts: the user's options go before ours.
        options = [*self.options, *_DATA_SESSION]
        if not has_terminal():
            options.append("BatchMode=yes")
        if self._settings.get("serveraliveinterval", "0") == "0":
            options += [f"ServerAliveInterval={_KEEP_ALIVE_S}", f"ServerAliveCountMax={_KEEP_ALIVE_COUNT}"]
        if self._settings.get("connecttimeout", "none") in ("none", "0"):
            options.append(f"ConnectTimeout={_CONNECT_TIMEOUT_S}")
        return ["ssh", "-x", *(word for option in options for word in ("-o", option))]

    def _destination(self) -> list[str]:
        user = ["-l", self.user] if self.user else []
        port = ["-p", str(self.port)] if self.port else []
        return [*user, *port, "--", self.name]

    @cached_property
    def _settings(self) -> Mapping[str, str]:
        """What the client itself makes of its configuration for this host; {} where it cannot say."""
        options = [word for option in self.options for word in ("-o", option)]
        try:
            done = subprocess.run(
                ["ssh", "-G", *options, *self._destination()],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=20,
                check=False,
            )
        except (OSError, subprocess.SubprocessError):
            return {}
        lines = done.stdout.decode("utf-8", "replace").splitlines() if done.returncode == 0 else []
        return {key: value for key, _, value in (line.partition(" ") for line in lines)}


def split_url(url: str, options: tuple[str, ...] = ()) -> tuple[Host, bytes]:
    """The host and the path of `ssh://[user@]host[:port]/absolute/path`; raises SourceError.

    Everything after the authority is the path, `?` and `#` too; percent-encoding gives any byte but NUL.
    """
    authority, slash, rest = url.removeprefix("ssh://").partition("/")
    path = unquote_to_bytes((slash + rest).encode("utf-8", "surrogateescape"))
    if not rest:
        raise SourceError("no path in the address", where=url, do="write ssh://[user@]host[:port]/absolute/path")
    if b"\0" in path:
        raise SourceError("a path cannot hold a NUL byte", where=url)
    return Host.parse(authority, options), path


def _plain(text: str, forbidden: frozenset[str]) -> bool:
    return not any(c in forbidden or c.isspace() or not c.isprintable() for c in text)
