"""Where base URLs and credentials come from: the environment and the files that each tracker's users have."""

from __future__ import annotations

import netrc
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import regex

from logaudit.errors import DeliveryError


def first_of(environ: Mapping[str, str], *names: str) -> str | None:
    """The first of the named variables that is set to something."""
    return next((value for name in names if (value := environ.get(name, "").strip())), None)


def base_url(text: str) -> str:
    """`text` as a base URL: `https://` when it names no scheme, no slash at the end, no credentials."""
    whole = text.strip() if "://" in text else f"https://{text.strip()}"
    parts = urlsplit(whole)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}".rstrip("/")


def same_place(one: str, other: str) -> bool:
    """Whether two base URLs have the same scheme, host and port: credentials go nowhere else."""
    first, second = urlsplit(one), urlsplit(other)
    return (first.scheme, first.netloc.lower()) == (second.scheme, second.netloc.lower())


def from_netrc(url: str, environ: Mapping[str, str]) -> tuple[str, str] | None:
    """(login, password) for the host of `url` from the file that NETRC names, or from `.netrc` in the home folder."""
    named = environ.get("NETRC")
    home = environ.get("HOME")
    path = Path(named) if named else Path(home) / ".netrc" if home else None
    if path is None or not path.is_file():
        return None
    try:
        found = netrc.netrc(str(path)).authenticators(urlsplit(url).hostname or "")
    except (netrc.NetrcParseError, OSError, UnicodeDecodeError):
        raise DeliveryError("cannot be read as a netrc file", where=str(path), do="mend it or unset NETRC") from None
    return (found[0] or found[1] or "", found[2] or "") if found else None


_GH_TOKEN = regex.compile(r"^\s+oauth_token:\s*[\"']?([^\s\"'#]+)")


def from_gh_file(host: str, environ: Mapping[str, str]) -> str | None:
    """The token that the `gh` command keeps for `host` in its `hosts.yml`, where it keeps it in a file."""
    home = environ.get("GH_CONFIG_DIR") or (
        f"{environ['XDG_CONFIG_HOME']}/gh"
        if environ.get("XDG_CONFIG_HOME")
        else f"{environ.get('HOME', '')}/.config/gh"
    )
    try:
        lines = (Path(home) / "hosts.yml").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    inside = False
    for line in lines:
        if line[:1].strip():
            inside = line.strip().rstrip(":").strip("\"'").lower() == host.lower()
        elif inside and (match := _GH_TOKEN.match(line, timeout=1)):
            return str(match[1])
    return None


def missing(place: str, *, do: str) -> DeliveryError:
    """The error for a tracker without credentials."""
    return DeliveryError("no credentials for it are set", where=place, do=do)
