"""GitHub issues and pull requests, on github.com and GitHub Enterprise, through PyGithub."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import regex

from logaudit.errors import DeliveryError
from logaudit.tickets import http
from logaudit.tickets.client import require
from logaudit.tickets.credentials import base_url, first_of, from_gh_file, from_netrc, missing, same_place
from logaudit.tickets.interface import Comment, File, Markup, Problem, StoredFile, Ticket

COMMENT_LIMIT = 65_536
_PUBLIC = "https://github.com"
_REFERENCE = regex.compile(
    r"(?:(?P<host>[A-Za-z0-9.-]+\.[A-Za-z0-9-]+(?::\d+)?)/)?(?P<repo>[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+)#(?P<number>\d{1,12})"
)
_PATH = regex.compile(r"/(?P<repo>[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+)/(?:issues|pull)/(?P<number>\d{1,12})(?:/.*)?")
_SETTINGS = "set GH_TOKEN or GITHUB_TOKEN, run `gh auth login`, or add the host to .netrc"


class GitHubTracker:
    """`github:owner/repo#12`, `github:HOST/owner/repo#12` and the URL of an issue or pull request."""

    def from_reference(self, reference: str, environ: Mapping[str, str]) -> Ticket:
        """The issue of a repository on GH_HOST, GITHUB_SERVER_URL or github.com."""
        match = _REFERENCE.fullmatch(reference, timeout=1)
        if not match:
            raise DeliveryError(
                "is no GitHub issue", where=f"github:{reference}", do="for example github:owner/repo#12"
            )
        server = base_url(match["host"]) if match["host"] else _servers(environ)[0]
        return GitHubTicket(server, match["repo"], int(match["number"]), environ)

    def from_url(self, url: str, environ: Mapping[str, str]) -> Ticket | None:
        """The issue or pull request that a browser shows at `url`."""
        parts = urlsplit(url)
        match = _PATH.fullmatch(parts.path, timeout=1)
        if not match or _is_another(url, environ):
            return None
        server = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        return GitHubTicket(server, match["repo"], int(match["number"]), environ)


def _is_another(url: str, environ: Mapping[str, str]) -> bool:
    """Whether `url` belongs to a GitLab or Redmine that the environment names."""
    others = ("REDMINE_URL", "GITLAB_URL", "GITLAB_HOST", "CI_SERVER_URL", "JIRA_URL")
    return any(same_place(base_url(environ[name]), url) for name in others if environ.get(name))


def _servers(environ: Mapping[str, str]) -> list[str]:
    """The servers that the environment's token is meant for, the preferred one first."""
    named = [environ[name] for name in ("GH_HOST", "GITHUB_SERVER_URL") if environ.get(name)]
    return [base_url(name) for name in named] or [_PUBLIC]


class GitHubTicket:
    """One issue or pull request."""

    takes_files = False
    comment_limit = COMMENT_LIMIT

    def __init__(self, server: str, repo: str, number: int, environ: Mapping[str, str]) -> None:
        self.name = f"github:{repo}#{number}"
        self.url = f"{server}/{repo}/issues/{number}"
        token = _token(server, environ)
        self._secrets = (token,)
        library: Any = require("github", extra="github")
        logging.getLogger("github").setLevel(logging.CRITICAL)
        given = environ.get("GITHUB_API_URL")
        api = "https://api.github.com" if same_place(server, _PUBLIC) else f"{server}/api/v3"
        if given and not same_place(server, _PUBLIC) and environ.get("GITHUB_SERVER_URL"):
            api = base_url(given) if same_place(base_url(environ["GITHUB_SERVER_URL"]), server) else api
        client = library.Github(
            auth=library.Auth.Token(token),
            base_url=api,
            timeout=max(1, int(http.TIMEOUT_S)),
            retry=None,
            per_page=100,
            seconds_between_requests=0,
            seconds_between_writes=0,
            lazy=True,
        )
        self._repo = client.get_repo(repo)
        self._number = number
        self._issue: Any = None

    def _open(self) -> Any:
        self._issue = self._issue or self._repo.get_issue(self._number)
        return self._issue

    def markup(self, *, ask: bool) -> Markup:
        """GitHub's Markdown."""
        return "markdown"

    def comments(self) -> Sequence[Comment]:
        """All comments, page by page."""
        return [Comment(str(entry.id), entry.body or "") for entry in self._open().get_comments()]

    def find_file(self, file: File) -> StoredFile | None:
        """GitHub has no interface for attachments."""
        return None

    def upload(self, file: File) -> StoredFile:
        """GitHub has no interface for attachments. Raises DeliveryError."""
        raise DeliveryError("takes no files", where=self.name)

    def link(self, stored: StoredFile) -> str:
        """Nothing to link."""
        return ""

    def add(self, text: str, files: Sequence[StoredFile]) -> None:
        """Write a comment."""
        self._open().create_comment(text)

    def edit(self, comment: Comment, text: str, files: Sequence[StoredFile]) -> None:
        """Replace a comment's text."""
        self._open().get_comment(int(comment.id)).edit(text)

    def problem(self, error: Exception) -> Problem | None:
        """What an error of the client means."""
        if (found := http.broken(error)) is not None:
            return found
        status = getattr(error, "status", None)
        if not isinstance(status, int) or not hasattr(error, "headers"):
            return None
        data = getattr(error, "data", None)
        said = str(data.get("message", "")) if isinstance(data, dict) else ""
        return http.answered(status, getattr(error, "headers", None) or {}, said, secrets=self._secrets)


def _token(server: str, environ: Mapping[str, str]) -> str:
    """The token for this server, and for no other."""
    host = urlsplit(server).netloc
    if any(same_place(server, known) for known in _servers(environ)):
        # GitHub's own command gives another variable to servers that are not github.com.
        own = () if same_place(server, _PUBLIC) else ("GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")
        token = first_of(environ, *own, "GH_TOKEN", "GITHUB_TOKEN")
        if token:
            return token
    elif not same_place(server, _PUBLIC):
        token = (
            first_of(environ, "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")
            if environ.get("GH_HOST") == host
            else None
        )
        if token:
            return token
    token = from_gh_file(host, environ)
    stored = from_netrc(server, environ)
    if token or stored:
        return token or (stored[1] if stored else "")
    raise missing(server, do=_SETTINGS)
