"""What the SSH client's complaint means: one sentence, what to do, and whether trying again can help."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import regex

from logaudit.errors import SourceError

_SEARCH_TIMEOUT_S = 1.0


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why a connection is not there."""

    kind: str
    """`host_key_changed`, `host_key_unknown`, `login`, `name`, `network`, `config`, `command`, `unknown`."""
    what: str
    """What happened, in words."""
    do: str
    """What helps."""
    retry: bool
    """Whether the same attempt can succeed later without anybody doing anything."""


@dataclass(frozen=True, slots=True)
class _Rule:
    kind: str
    pattern: str
    what: str
    do: str
    retry: bool = False


_RULES = (
    _Rule(
        "host_key_changed",
        r"REMOTE HOST IDENTIFICATION HAS CHANGED|[Hh]ost key for .+ has changed|[Hh]ost key .* revoked",
        "the host key is not the one that is known for this host",
        "ask who runs the host whether its key was renewed; if so, forget the old one with `ssh-keygen -R {known}`"
        " and connect once with `ssh {host}`",
    ),
    _Rule(
        "host_key_unknown",
        r"No (?:\S+ )?host key is known for|Host key verification failed|authenticity of host .* can't be established",
        "the host key is not known yet",
        "connect once with `ssh {host}` and confirm the key, then try again",
    ),
    _Rule(
        "login",
        r"Permission denied \([\w,.@-]+\)|Too many authentication failures|[Nn]o supported authentication methods"
        r"|Permission denied, please try again|not allowed because|account (?:is|has) (?:locked|expired)",
        "the host refused the login",
        "try `ssh {host}`: the user name, the key or the agent does not fit; `--ssh-option IdentityFile=…` names a key",
    ),
    _Rule(
        "config",
        r"Bad configuration option|[Bb]ad owner or permissions|terminating, \d+ bad configuration|no argument after"
        r"|keyword .* extra arguments|unsupported option|Missing argument|[Uu]nsupported \S+ \"|command-line: line \d+"
        r"|[Bb]ad (?:number|port|key types|SSH2|yes/no)|Can't open user config file",
        "the SSH client does not accept its configuration: {line}",
        "see ~/.ssh/config and the --ssh-option arguments",
    ),
    _Rule(
        "config",
        r"Unable to negotiate|no matching (?:host key|cipher|key exchange|MAC)|[Pp]rotocol major versions differ",
        "the SSH client and the host agree on no method: {line}",
        "see what `ssh -v {host}` says",
    ),
    _Rule(
        "login",
        r"administratively prohibited",
        "a host on the way refuses to forward the connection: {line}",
        "its administrator has to allow TCP forwarding, or choose another ProxyJump",
    ),
    _Rule(
        "name",
        r"Could not resolve hostname|[Nn]ame or service not known|nodename nor servname|[Nn]o address associated",
        "the host name cannot be resolved",
        "check its spelling, the Host entries in ~/.ssh/config and the name service",
    ),
    _Rule(
        "network",
        r"Connection refused|Connection timed out|Operation timed out|No route to host|Network is unreachable"
        r"|[Cc]onnection reset|[Cc]onnection closed|[Cc]onnection to .+ closed|[Bb]roken pipe|not responding"
        r"|kex_exchange_identification|banner exchange|ssh_exchange_identification|Network is down|Host is down"
        r"|Connection to .+ timed out|client_loop|ssh_dispatch_run_fatal|message authentication code incorrect"
        r"|Bad packet length|[Cc]orrupted MAC|Software caused connection abort|stdio forwarding failed|open failed",
        "the host cannot be reached: {line}",
        "check that it is up, that its SSH server listens on that port, and the way there",
        retry=True,
    ),
)


def diagnose(stderr: str, status: int | None, host: str, *, answered: bool, known_as: str = "") -> Diagnosis:
    """What ended a connection to `host`.

    `stderr` is what the client wrote, `status` its exit status (None: it had to be ended), `answered` whether the far
    shell had answered before, `known_as` the name under which the host's key is filed. Never raises.
    """
    for rule in _RULES:
        line = _matching_line(rule.pattern, stderr.splitlines())
        if line is not None:
            names = {"host": host, "known": known_as or host, "line": line}
            return Diagnosis(rule.kind, rule.what.format(**names), rule.do.format(**names), rule.retry)
    last = next((clean(line) for line in reversed(stderr.splitlines()) if line.strip()), "")
    if answered or status is None or status < 0:
        why = f": {last}" if last else ""
        return Diagnosis("network", f"the connection ended{why}", f"see what `ssh {host}` says", retry=True)
    if status == 255:
        why = last or "the SSH client gave no reason"
        return Diagnosis("unknown", f"no connection: {why}", f"see what `ssh -v {host}` says", retry=True)
    why = last or f"the login shell ended with status {status}"
    return Diagnosis("command", f"no POSIX shell answered: {why}", f"see what `ssh {host} sh` does", retry=False)


def clean(line: str) -> str:
    """A far side's line made fit for ours: printable, one line, at most 200 characters."""
    text = "".join(c if c.isprintable() else " " for c in line).strip()
    return text if len(text) <= 200 else text[:199] + "…"


def _matching_line(pattern: str, lines: Iterable[str]) -> str | None:
    for line in lines:
        try:
            if regex.search(pattern, line[:2000], timeout=_SEARCH_TIMEOUT_S):
                return clean(line)
        except TimeoutError:
            continue
    return None


class ConnectionLost(SourceError):
    """The other machine cannot be spoken to; `diagnosis` says why and whether to try again."""

    def __init__(self, diagnosis: Diagnosis, host: str) -> None:
        self.diagnosis = diagnosis
        super().__init__(diagnosis.what, where=host, do=diagnosis.do)
