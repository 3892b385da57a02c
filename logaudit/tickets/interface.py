"""The contract of a tracker: how a ticket is named, and what can be done with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

Markup = Literal["markdown", "jira", "textile"]
"""What a comment is written in."""


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment that is on the ticket."""

    id: str
    text: str
    """As written, in the tracker's markup."""


@dataclass(frozen=True, slots=True)
class File:
    """A file to be put on the ticket."""

    name: str
    data: bytes
    media_type: str


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file that the tracker has taken."""

    name: str
    size_bytes: int | None
    reference: str = ""
    """What `add` and `edit` need to link or attach it: an upload token, a link; empty when nothing more is needed."""


class Ticket(Protocol):
    """One ticket of one tracker.

    Every method may raise what the client library raises; `problem` turns it into something that can be acted on.
    """

    @property
    def name(self) -> str:
        """As the user may write it: `jira:OPS-123`."""

    @property
    def url(self) -> str:
        """Where a person finds it."""

    @property
    def comment_limit(self) -> int:
        """Longest comment in characters."""

    @property
    def takes_files(self) -> bool:
        """Whether files can be attached or uploaded."""

    def markup(self, *, ask: bool) -> Markup:
        """What comments are written in; without `ask` the tracker is not contacted for it."""

    def comments(self) -> Sequence[Comment]:
        """All comments, oldest first."""

    def find_file(self, file: File) -> StoredFile | None:
        """The same file, where it is on the ticket already; None also when the tracker cannot tell."""

    def upload(self, file: File) -> StoredFile:
        """Hand over a file."""

    def link(self, stored: StoredFile) -> str:
        """The file's link or name for the comment, in the ticket's markup."""

    def add(self, text: str, files: Sequence[StoredFile]) -> None:
        """Write a new comment."""

    def edit(self, comment: Comment, text: str, files: Sequence[StoredFile]) -> None:
        """Replace a comment's text."""

    def problem(self, error: Exception) -> Problem | None:
        """What `error` means; None when it is a fault of the program."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a request did not work, and whether it may work later."""

    what: str
    """For a person; without credentials."""
    kind: Literal["refused", "busy", "unsure"]
    """`refused`: trying again is pointless; `busy`: it was turned away, later it may work;
    `unsure`: it may have arrived.
    """
    wait_s: float | None = None
    """How long the tracker asks to wait."""
    status: int | None = None
    """HTTP status, when there was an answer."""


@runtime_checkable
class Tracker(Protocol):
    """A kind of tracker: the object behind an entry point of the group `logaudit.tickets`, named by its scheme."""

    def from_reference(self, reference: str, environ: Mapping[str, str]) -> Ticket:
        """The ticket that `SCHEME:reference` names. Raises DeliveryError when it names none, or without credentials."""

    def from_url(self, url: str, environ: Mapping[str, str]) -> Ticket | None:
        """The ticket at `url`, None when that is no ticket of this kind. Raises DeliveryError without credentials."""
