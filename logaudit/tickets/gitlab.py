"""GitLab issues and merge requests, on any host, through python-gitlab."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

import regex
import requests

from logaudit.errors import DeliveryError
from logaudit.tickets import http
from logaudit.tickets.client import require
from logaudit.tickets.credentials import base_url, first_of, from_netrc, missing, same_place
from logaudit.tickets.interface import Comment, File, Markup, Problem, StoredFile, Ticket

COMMENT_LIMIT = 1_000_000
_PUBLIC = "https://gitlab.com"
_PROJECT = r"(?P<project>[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+){1,20})"
_REFERENCE = regex.compile(rf"{_PROJECT}(?P<mark>[#!])(?P<number>\d{{1,12}})")
_PATH = regex.compile(rf"/{_PROJECT}(?:/-)/(?P<kind>issues|work_items|merge_requests)/(?P<number>\d{{1,12}})(?:/.*)?")
_SETTINGS = "set GITLAB_TOKEN (and GITLAB_URL for an own host), or add the host to .netrc or .python-gitlab.cfg"


class GitLabTracker:
    """`gitlab:group/project#12`, `gitlab:group/project!12` and the URL of an issue or merge request."""

    def from_reference(self, reference: str, environ: Mapping[str, str]) -> Ticket:
        """The issue or merge request on GITLAB_URL, or on gitlab.com."""
        match = _REFERENCE.fullmatch(reference, timeout=1)
        if not match:
            raise DeliveryError(
                "is no GitLab issue", where=f"gitlab:{reference}", do="for example gitlab:group/project#12"
            )
        kind = "merge_requests" if match["mark"] == "!" else "issues"
        return GitLabTicket(_server(environ), match["project"], kind, int(match["number"]), environ)

    def from_url(self, url: str, environ: Mapping[str, str]) -> Ticket | None:
        """The issue or merge request that a browser shows at `url`."""
        parts = urlsplit(url)
        server = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        path = parts.path
        known = _server(environ)
        if same_place(known, server) and path.startswith(urlsplit(known).path):
            server, path = known, path[len(urlsplit(known).path) :]
        match = _PATH.fullmatch(path, timeout=1)
        if not match:
            return None
        kind = "merge_requests" if match["kind"] == "merge_requests" else "issues"
        return GitLabTicket(server, match["project"], kind, int(match["number"]), environ)


def _server(environ: Mapping[str, str]) -> str:
    named = first_of(environ, "GITLAB_URL", "GITLAB_HOST", "CI_SERVER_URL")
    return base_url(named) if named else _PUBLIC


class GitLabTicket:
    """One issue or merge request."""

    takes_files = True
    comment_limit = COMMENT_LIMIT

    def __init__(self, server: str, project: str, kind: str, number: int, environ: Mapping[str, str]) -> None:
        mark = "!" if kind == "merge_requests" else "#"
        self.name = f"gitlab:{project}{mark}{number}"
        self.url = f"{server}/{project}/-/{kind}/{number}"
        login = _login(server, environ)
        self._secrets = tuple(login.values())
        library: Any = require("gitlab", extra="gitlab")
        logging.getLogger("gitlab").setLevel(logging.CRITICAL)
        self._answer = http.LastAnswer()
        session = requests.Session()
        session.hooks["response"].append(self._answer)
        self._client = library.Gitlab(
            server,
            session=session,
            timeout=http.TIMEOUT_S,
            retry_transient_errors=False,
            per_page=100,
            keep_base_url=True,
            **login,
        )
        self._uploads = f"/projects/{quote(project, safe='')}/uploads"
        opened = self._client.projects.get(project, lazy=True)
        manager = opened.mergerequests if kind == "merge_requests" else opened.issues
        self._issue = manager.get(number, lazy=True)

    def markup(self, *, ask: bool) -> Markup:
        """GitLab's Markdown."""
        return "markdown"

    def comments(self) -> Sequence[Comment]:
        """All notes, oldest first."""
        notes = self._issue.notes.list(iterator=True, sort="asc", order_by="created_at", obey_rate_limit=False)
        return [Comment(str(note.id), note.body or "") for note in notes if not getattr(note, "system", False)]

    def find_file(self, file: File) -> StoredFile | None:
        """An upload is seen by nobody until a note links it: handing it over twice puts nothing on the ticket."""
        return None

    def upload(self, file: File) -> StoredFile:
        """Upload a file to the project."""
        # Not the project's own `upload`: for a project named by its path it quotes the path twice.
        form = {"file": (file.name, file.data, file.media_type)}
        sent = self._client.http_post(self._uploads, files=form, obey_rate_limit=False)
        return StoredFile(file.name, len(file.data), str(sent["url"]))

    def link(self, stored: StoredFile) -> str:
        """A link to the upload; where nothing was uploaded, its name."""
        return f"[{stored.name}]({stored.reference})" if stored.reference else f"`{stored.name}`"

    def add(self, text: str, files: Sequence[StoredFile]) -> None:
        """Write a note."""
        self._issue.notes.create({"body": text}, obey_rate_limit=False)

    def edit(self, comment: Comment, text: str, files: Sequence[StoredFile]) -> None:
        """Replace a note's text."""
        self._issue.notes.update(int(comment.id), {"body": text}, obey_rate_limit=False)

    def problem(self, error: Exception) -> Problem | None:
        """What an error of the client means."""
        if (found := http.broken(error)) is not None:
            return found
        status = getattr(error, "response_code", None)
        if not isinstance(status, int):
            return None
        answer = self._answer.take()
        headers = answer.headers if answer is not None else {}
        return http.answered(status, headers, str(getattr(error, "error_message", "")), secrets=self._secrets)


def _login(server: str, environ: Mapping[str, str]) -> dict[str, str]:
    """The client's login arguments for this server, and for no other."""
    if same_place(server, _server(environ)):
        token = first_of(environ, "GITLAB_TOKEN", "GITLAB_PRIVATE_TOKEN")
        if token:
            return {"private_token": token}
        if oauth := first_of(environ, "GITLAB_OAUTH_TOKEN"):
            return {"oauth_token": oauth}
    if token := _from_config(server, environ):
        return {"private_token": token}
    stored = from_netrc(server, environ)
    if stored is None:
        raise missing(server, do=_SETTINGS)
    return {"private_token": stored[1]}


def _from_config(server: str, environ: Mapping[str, str]) -> str | None:
    """The private token for `server` in python-gitlab's configuration file."""
    from configparser import ConfigParser
    from configparser import Error as ConfigFault

    path = environ.get("PYTHON_GITLAB_CFG") or f"{environ.get('HOME', '')}/.python-gitlab.cfg"
    config = ConfigParser(interpolation=None)
    try:
        config.read(path, encoding="utf-8")
    except (ConfigFault, UnicodeDecodeError):
        return None
    for name in config.sections():
        section = config[name]
        if section.get("url") and section.get("private_token") and same_place(base_url(section["url"]), server):
            return section["private_token"].strip()
    return None
