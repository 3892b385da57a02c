"""Puts a report on a ticket: redacted, once, and with the report kept on disk when it does not work."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

import msgspec
import regex

from logaudit.errors import DeliveryError
from logaudit.report.document import Document
from logaudit.report.redact import Redactor
from logaudit.report.render import json_text, render
from logaudit.tickets.comment import marker_of, markers_in, write_comment
from logaudit.tickets.interface import Comment, File, StoredFile, Ticket
from logaudit.tickets.registry import open_ticket
from logaudit.tickets.retry import GaveUp, once

T = TypeVar("T")
Action = Literal["added", "updated", "unchanged", "dry run"]
log = logging.getLogger("logaudit.tickets")
_UNSAFE_IN_NAME = regex.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class Delivery:
    """What was done."""

    ticket: str
    url: str
    action: Action
    comment: str
    """The text of the comment; of the one that would be sent, for a dry run."""
    files: tuple[File, ...]
    """The files that are on the ticket now; those that would be sent, for a dry run."""


def deliver(
    document: Document,
    html_path: str | os.PathLike[str] | None,
    ticket: str,
    *,
    update: bool = False,
    dry_run: bool = False,
    redactor: Redactor | None = None,
    environ: Mapping[str, str] | None = None,
) -> Delivery:
    """Put the report of `document` on `ticket` (`jira:OPS-123`, …, or its URL).

    `html_path` is the HTML report on disk: it is sent byte for byte when the document that it was made from holds
    nothing to redact, and made anew from the redacted document otherwise. Without a path the HTML is made here, and
    written to the current folder when the delivery fails. `update` replaces the last comment that logaudit wrote;
    `dry_run` contacts nobody. A report that the ticket has already is not sent again. Raises DeliveryError.
    """
    clean = (redactor or Redactor()).document(document)
    html = _html(document, clean, html_path)
    try:
        place = open_ticket(ticket, os.environ if environ is None else environ)
        parcel = _Parcel(clean, html, html_path, place)
        return parcel.show() if dry_run else parcel.send(update=update)
    except GaveUp as problem:
        name = place.name
        raise DeliveryError(
            problem.problem.what, where=name, do=f"the report is kept in {_keep(html, html_path, clean)}"
        ) from None
    except DeliveryError as problem:
        kept = _keep(html, html_path, clean)
        advice = f"{problem.do}; the report is kept in {kept}" if problem.do else f"the report is kept in {kept}"
        raise DeliveryError(problem.what, where=problem.where, do=advice) from None


def _html(document: Document, clean: Document, path: str | os.PathLike[str] | None) -> bytes:
    """The HTML to send: the file as it is where nothing had to be redacted."""
    if path is not None and msgspec.structs.replace(clean, redacted=document.redacted) == document:
        try:
            return Path(path).read_bytes()
        except OSError as problem:
            raise DeliveryError(
                problem.strerror or "cannot be read", where=str(path), do="write the report again"
            ) from None
    return render(clean, "html").encode()


def _keep(html: bytes, path: str | os.PathLike[str] | None, document: Document) -> str:
    """Where the report is after a failure; it is written to the current folder when it is nowhere."""
    if path is not None:
        return str(path)
    kept = Path(f"logaudit-report-{marker_of(document)[-8:]}.html")
    try:
        kept.write_bytes(html)
    except OSError as problem:
        return f"no file: {kept} {(problem.strerror or 'cannot be written').lower()}"
    return str(kept)


class _Parcel:
    """One report on its way to one ticket."""

    def __init__(
        self, document: Document, html: bytes, html_path: str | os.PathLike[str] | None, ticket: Ticket
    ) -> None:
        self._document = document
        self._ticket = ticket
        self._where = str(html_path) if html_path is not None else ""
        self._marker = marker_of(document)
        stem = _UNSAFE_IN_NAME.sub("-", Path(html_path).stem if html_path is not None else "logaudit-report", timeout=1)
        # The hash in the name tells this report's files from an earlier one's.
        name = f"{stem.strip('-.')[:80] or 'logaudit-report'}-{self._marker[-8:]}"
        self._files = (
            File(f"{name}.html", html, "text/html"),
            File(f"{name}.json", (json_text(document) + "\n").encode(), "application/json"),
        )

    def show(self) -> Delivery:
        """What would be sent."""
        files = self._files if self._ticket.takes_files else ()
        text = self._comment([StoredFile(file.name, len(file.data)) for file in files], ask=False)
        return Delivery(self._ticket.name, self._ticket.url, "dry run", text, files)

    def send(self, *, update: bool) -> Delivery:
        """Send what is missing on the ticket."""
        ticket = self._ticket
        comments = self._try(ticket.comments, what="reading the ticket")
        present = self._present(comments)
        files = self._files if ticket.takes_files else ()
        if present is not None:
            return Delivery(ticket.name, ticket.url, "unchanged", present.text, files)
        stored = [self._upload(file) for file in files]
        text = self._comment(stored, ask=True)
        earlier = self._earlier(comments) if update else None
        if earlier is not None and self._edit(earlier, text, stored):
            return Delivery(ticket.name, ticket.url, "updated", text, files)

        def add() -> bool:
            ticket.add(text, stored)
            return True

        self._try(add, arrived=lambda: self._present_now() or None, what="the comment")
        return Delivery(ticket.name, ticket.url, "added", text, files)

    def _comment(self, stored: list[StoredFile], *, ask: bool) -> str:
        ticket = self._ticket
        return write_comment(
            self._document,
            markup=self._try(lambda: ticket.markup(ask=ask), what="the text format")
            if ask
            else ticket.markup(ask=False),
            limit=ticket.comment_limit,
            marker=self._marker,
            links=[ticket.link(file) for file in stored],
            where=self._where,
        )

    def _upload(self, file: File) -> StoredFile:
        ticket = self._ticket
        there = self._try(lambda: (ticket.find_file(file),), what="looking for the file")[0]
        return there or self._try(
            lambda: ticket.upload(file), arrived=lambda: ticket.find_file(file), what=f"the file {file.name}"
        )

    def _edit(self, comment: Comment, text: str, stored: list[StoredFile]) -> bool:
        """Whether the earlier comment could be replaced; a tracker may not allow that."""

        def edit() -> bool:
            self._ticket.edit(comment, text, stored)
            return True

        try:
            self._try(edit, arrived=lambda: self._present_now() or None, what="the comment")
        except GaveUp as problem:
            if problem.problem.status in (403, 404, 405):
                log.debug("the earlier comment cannot be replaced: %s; adding one", problem.problem.what)
                return False
            raise
        return True

    def _present(self, comments: Sequence[Comment]) -> Comment | None:
        return next((comment for comment in comments if self._marker in markers_in(comment.text)), None)

    def _present_now(self) -> bool:
        return self._present(list(self._ticket.comments())) is not None

    def _earlier(self, comments: Sequence[Comment]) -> Comment | None:
        """The comment to replace: the last one about the same log, else the last one of logaudit."""
        marked = [comment for comment in comments if markers_in(comment.text)]
        same_log = self._marker.rpartition("-")[0]
        about_it = [comment for comment in marked if any(m.startswith(same_log) for m in markers_in(comment.text))]
        return next(iter([*about_it[::-1], *marked[::-1]]), None)

    def _try(self, act: Callable[[], T], *, arrived: Callable[[], T | None] | None = None, what: str) -> T:
        return once(act, self._ticket.problem, arrived=arrived, what=what)
