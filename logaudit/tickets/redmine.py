"""Redmine issues through python-redmine."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import regex
import requests

from logaudit.errors import DeliveryError
from logaudit.tickets import http
from logaudit.tickets.client import require
from logaudit.tickets.credentials import base_url, first_of, from_netrc, missing, same_place
from logaudit.tickets.interface import Comment, File, Markup, Problem, StoredFile, Ticket

COMMENT_LIMIT = 65_535
"""What a note's column holds in the smallest of Redmine's databases."""
_PATH = regex.compile(r"(?P<base>(?:/[^/]+){0,4})/issues/(?P<number>\d{1,12})(?:\.\w+)?/?")
_SETTINGS = "set REDMINE_URL and REDMINE_API_KEY, or add the host to .netrc"
_TOOLBAR = regex.compile(r"jstoolbar/(textile|markdown|common_mark)")
_MARKDOWN_SIGNS = regex.compile(r"^(?:#{1,6} |```|\|\s?:?-{3,}|[-*] \[[ x]\])|\*\*\S|\]\(https?://", regex.MULTILINE)
_TEXTILE_SIGNS = regex.compile(r"^(?:h[1-6]\. |bq\. |\|_\.|p[=><(]*\. )|<pre>|\"[^\"\n]+\":https?://", regex.MULTILINE)


class RedmineTracker:
    """`redmine:123` and `https://HOST/issues/123`."""

    def from_reference(self, reference: str, environ: Mapping[str, str]) -> Ticket:
        """The issue with this number on REDMINE_URL."""
        number = reference.removeprefix("#")
        if not (number.isascii() and number.isdigit() and len(number) <= 12):
            raise DeliveryError("is no Redmine issue", where=f"redmine:{reference}", do="for example redmine:123")
        base = first_of(environ, "REDMINE_URL")
        if base is None:
            raise missing(f"redmine:{number}", do=_SETTINGS)
        return RedmineTicket(base_url(base), int(number), environ)

    def from_url(self, url: str, environ: Mapping[str, str]) -> Ticket | None:
        """The issue that a browser shows at `url`."""
        parts = urlsplit(url)
        match = _PATH.fullmatch(parts.path, timeout=1)
        if not match:
            return None
        base = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{match['base']}"
        return RedmineTicket(base, int(match["number"]), environ)


class RedmineTicket:
    """One issue."""

    takes_files = True
    comment_limit = COMMENT_LIMIT

    def __init__(self, base: str, number: int, environ: Mapping[str, str]) -> None:
        self.name = f"redmine:{number}"
        self.url = f"{base}/issues/{number}"
        self._number = number
        self._environ = environ
        login = _login(base, environ)
        self._secrets = tuple(value for name, value in login.items() if name != "username")
        library: Any = require("redminelib", extra="redmine")
        self._answer = http.LastAnswer()
        self._client = library.Redmine(
            base, requests={"timeout": http.TIMEOUT_S, "hooks": {"response": self._answer}}, **login
        )

    def markup(self, *, ask: bool) -> Markup:
        """The instance's text format, which its interface does not tell.

        REDMINE_TEXT_FORMATTING says it (`textile`, `markdown`, `common_mark`); else the issue's page shows it where it
        is public; else the texts of the issue are looked at. Textile, Redmine's own, when nothing says otherwise.
        """
        named = (self._environ.get("REDMINE_TEXT_FORMATTING") or "").lower()
        if named:
            return "textile" if named == "textile" else "markdown"
        return (self._format_of_page() or self._format_of_texts()) if ask else "textile"

    def _format_of_page(self) -> Markup | None:
        # Without the key: pages are not part of the interface that keys are for.
        try:
            page = requests.get(self.url, timeout=http.TIMEOUT_S, allow_redirects=False).text
        except requests.exceptions.RequestException:
            return None
        found = _TOOLBAR.search(page, timeout=5)
        return None if found is None else "textile" if found[1] == "textile" else "markdown"

    def _format_of_texts(self) -> Markup:
        issue = self._client.issue.get(self._number, include=["journals"])
        texts = [str(getattr(issue, "description", "") or "")]
        texts += [str(getattr(journal, "notes", "") or "") for journal in issue.journals]
        signs = {
            pattern: sum(len(pattern.findall(text[:20_000], timeout=5)) for text in texts[:200])
            for pattern in (_MARKDOWN_SIGNS, _TEXTILE_SIGNS)
        }
        return "markdown" if signs[_MARKDOWN_SIGNS] > signs[_TEXTILE_SIGNS] else "textile"

    def comments(self) -> Sequence[Comment]:
        """All notes, oldest first."""
        issue = self._client.issue.get(self._number, include=["journals"])
        notes = ((str(journal.id), str(getattr(journal, "notes", "") or "")) for journal in issue.journals)
        return [Comment(key, text) for key, text in notes if text]

    def find_file(self, file: File) -> StoredFile | None:
        """An attachment of the issue with the same name and size."""
        issue = self._client.issue.get(self._number, include=["attachments"])
        same = (entry for entry in issue.attachments if entry.filename == file.name)
        return next((StoredFile(file.name, entry.filesize) for entry in same if entry.filesize == len(file.data)), None)

    def upload(self, file: File) -> StoredFile:
        """Hand a file over; it is on the issue when the note is written."""
        sent = self._client.upload(io.BytesIO(file.data), filename=file.name)
        return StoredFile(file.name, len(file.data), sent["token"])

    def link(self, stored: StoredFile) -> str:
        """Redmine's link to an attachment of the same issue."""
        return f"attachment:{stored.name}"

    def add(self, text: str, files: Sequence[StoredFile]) -> None:
        """Write a note and put the files on the issue, in one request."""
        self._client.issue.update(self._number, notes=text, uploads=_uploads(files))

    def edit(self, comment: Comment, text: str, files: Sequence[StoredFile]) -> None:
        """Put the files on the issue and replace a note's text (Redmine 5.0 and later)."""
        if uploads := _uploads(files):
            self._client.issue.update(self._number, uploads=uploads)
        self._client.issue_journal.update(int(comment.id), notes=text)

    def problem(self, error: Exception) -> Problem | None:
        """What an error of the client means."""
        if (found := http.broken(error)) is not None:
            return found
        answer = self._answer.take()
        if not type(error).__module__.startswith("redminelib") or answer is None:
            return None
        said = str(error) if answer.status_code == 422 else ""
        return http.answered(answer.status_code, answer.headers, said, secrets=self._secrets)


def _uploads(files: Sequence[StoredFile]) -> list[dict[str, str]]:
    types = {"html": "text/html", "json": "application/json"}
    return [
        {
            "token": file.reference,
            "filename": file.name,
            "content_type": types.get(file.name.rpartition(".")[2], "application/octet-stream"),
        }
        for file in files
        if file.reference
    ]


def _login(base: str, environ: Mapping[str, str]) -> dict[str, str]:
    """The client's login arguments for this Redmine, and for no other."""
    known = first_of(environ, "REDMINE_URL")
    if known is not None and same_place(base_url(known), base):
        key = first_of(environ, "REDMINE_API_KEY", "REDMINE_KEY")
        if key:
            return {"key": key}
    stored = from_netrc(base, environ)
    if stored is None:
        raise missing(base, do=_SETTINGS)
    return {"username": stored[0], "password": stored[1]}
