"""Jira tickets, Cloud and Data Center, through the `jira` package."""

from __future__ import annotations

import io
import logging
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

import regex

from logaudit.errors import DeliveryError
from logaudit.tickets import http
from logaudit.tickets.client import require
from logaudit.tickets.credentials import base_url, first_of, from_netrc, missing, same_place
from logaudit.tickets.interface import Comment, File, Markup, Problem, StoredFile, Ticket

COMMENT_LIMIT = 32_767
"""Jira's own default for a text field."""
_KEY = regex.compile(r"[A-Za-z][A-Za-z0-9_]{0,254}-[1-9]\d{0,18}")
_BROWSE = regex.compile(r"(?P<base>.*)/browse/(?P<key>[^/]+)/?")
_SETTINGS = "set JIRA_URL with JIRA_EMAIL and JIRA_API_TOKEN, or JIRA_PERSONAL_TOKEN, or add the host to .netrc"


class JiraTracker:
    """`jira:OPS-123` and `https://HOST/browse/OPS-123`."""

    def from_reference(self, reference: str, environ: Mapping[str, str]) -> Ticket:
        """The ticket with this key on JIRA_URL."""
        if not _KEY.fullmatch(reference, timeout=1):
            raise DeliveryError("is no Jira key", where=f"jira:{reference}", do="for example jira:OPS-123")
        base = first_of(environ, "JIRA_URL", "JIRA_SERVER", "JIRA_BASE_URL")
        if base is None:
            raise missing(f"jira:{reference}", do=_SETTINGS)
        return JiraTicket(base_url(base), reference.upper(), environ)

    def from_url(self, url: str, environ: Mapping[str, str]) -> Ticket | None:
        """The ticket that a browser shows at `url`."""
        parts = urlsplit(url)
        base = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        if (match := _BROWSE.fullmatch(parts.path, timeout=1)) and _KEY.fullmatch(match["key"], timeout=1):
            return JiraTicket(f"{base}{match['base']}", match["key"], environ)
        chosen = parse_qs(parts.query).get("selectedIssue", [""])[0]
        if _KEY.fullmatch(chosen, timeout=1):
            known = first_of(environ, "JIRA_URL", "JIRA_SERVER", "JIRA_BASE_URL")
            inside = known is not None and same_place(base_url(known), base)
            return JiraTicket(base_url(known) if known and inside else base, chosen, environ)
        return None


class JiraTicket:
    """One issue of one Jira."""

    takes_files = True
    comment_limit = COMMENT_LIMIT

    def __init__(self, base: str, key: str, environ: Mapping[str, str]) -> None:
        self.name = f"jira:{key}"
        self.url = f"{base}/browse/{key}"
        self._key = key
        login = _login(base, environ)
        self._secrets = tuple(
            str(part) for value in login.values() for part in ([value] if isinstance(value, str) else value)
        )
        library: Any = require("jira", extra="jira")
        # The library logs each failed answer with its headers and body.
        logging.getLogger("jira").setLevel(logging.CRITICAL)
        self._client = library.JIRA(
            server=base,
            options={"rest_api_version": "2", "check_update": False},
            get_server_info=False,
            max_retries=0,
            timeout=http.TIMEOUT_S,
            **login,
        )

    def markup(self, *, ask: bool) -> Markup:
        """Version 2 of the interface takes Jira's own markup, on Cloud too."""
        return "jira"

    def comments(self) -> Sequence[Comment]:
        """All comments, page by page."""
        found: list[Comment] = []
        while True:
            page = self._client._get_json(
                f"issue/{self._key}/comment", params={"startAt": len(found), "maxResults": 100}
            )
            found += [Comment(str(entry["id"]), str(entry.get("body") or "")) for entry in page["comments"]]
            if not page["comments"] or len(found) >= int(page.get("total", 0)):
                return found

    def find_file(self, file: File) -> StoredFile | None:
        """An attachment of the same name and size."""
        attachments = getattr(self._client.issue(self._key, fields="attachment").fields, "attachment", None) or []
        same = (entry for entry in attachments if entry.filename == file.name and int(entry.size) == len(file.data))
        return next((StoredFile(file.name, len(file.data)) for _ in same), None)

    def upload(self, file: File) -> StoredFile:
        """Attach a file."""
        self._client.add_attachment(self._key, io.BytesIO(file.data), filename=file.name)
        return StoredFile(file.name, len(file.data))

    def link(self, stored: StoredFile) -> str:
        """Jira's link to an attachment of the same issue."""
        return f"[^{stored.name}]"

    def add(self, text: str, files: Sequence[StoredFile]) -> None:
        """Write a comment."""
        self._client.add_comment(self._key, text)

    def edit(self, comment: Comment, text: str, files: Sequence[StoredFile]) -> None:
        """Replace a comment's text."""
        self._client.comment(self._key, comment.id).update(body=text)

    def problem(self, error: Exception) -> Problem | None:
        """What an error of the client means."""
        if (found := http.broken(error)) is not None:
            return found
        status = getattr(error, "status_code", None)
        if type(error).__name__ != "JIRAError" or status is None:
            return None
        response = getattr(error, "response", None)
        headers = response.headers if response is not None else {}
        return http.answered(int(status), headers, str(getattr(error, "text", "") or ""), secrets=self._secrets)


def _login(base: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """The client's login arguments for this Jira, and for no other."""
    known = first_of(environ, "JIRA_URL", "JIRA_SERVER", "JIRA_BASE_URL")
    if known is not None and same_place(base_url(known), base):
        personal = first_of(environ, "JIRA_PERSONAL_TOKEN", "JIRA_PAT")
        token = first_of(environ, "JIRA_API_TOKEN", "JIRA_TOKEN")
        user = first_of(environ, "JIRA_EMAIL", "JIRA_USER", "JIRA_USERNAME")
        if user and token:
            return {"basic_auth": (user, token)}
        if personal or token:
            return {"token_auth": personal or token}
    stored = from_netrc(base, environ)
    if stored is None:
        raise missing(base, do=_SETTINGS)
    return {"basic_auth": stored}
