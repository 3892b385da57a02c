"""Finds the tracker that a ticket belongs to among those that are installed."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points

import regex

from logaudit.errors import DeliveryError
from logaudit.tickets.interface import Ticket, Tracker

GROUP = "logaudit.tickets"
"""Entry point group: name = scheme, object = a Tracker or a function without arguments that makes one."""
_FORM = regex.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*):(?!//)(?P<reference>.+)", regex.IGNORECASE)


def trackers() -> dict[str, EntryPoint]:
    """Installed trackers by scheme."""
    return {point.name: point for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)}


def open_ticket(text: str, environ: Mapping[str, str]) -> Ticket:
    """The ticket that `text` names, as `SCHEME:…` or as a URL.

    Raises DeliveryError when nothing installed knows it, its client library is missing, or there are no credentials.
    """
    known = trackers()
    shown = without_login(text)
    if match := _FORM.fullmatch(text.strip()):
        scheme = match["scheme"].lower()
        if scheme not in known:
            raise DeliveryError("no such tracker", where=shown, do=f"known: {', '.join(known)}, or a ticket's URL")
        return load(known[scheme]).from_reference(match["reference"].strip(), environ)
    if "://" in text:
        for point in known.values():
            ticket = load(point).from_url(text.strip(), environ)
            if ticket is not None:
                return ticket
        raise DeliveryError("no tracker knows this URL", where=shown, do=_forms(known))
    raise DeliveryError("names no ticket", where=shown, do=_forms(known))


def _forms(known: Mapping[str, EntryPoint]) -> str:
    return f"give the ticket's URL, or one of {', '.join(f'{name}:…' for name in known)}"


def load(point: EntryPoint) -> Tracker:
    """The tracker behind an entry point. Raises DeliveryError when there is none."""
    try:
        made = point.load()
    except (ImportError, AttributeError) as problem:
        if isinstance(problem, ModuleNotFoundError) and point.value.startswith("logaudit."):
            raise DeliveryError(
                f"its client is not installed ({problem.name})",
                where=point.name,
                do=f"pip install 'logaudit[{point.name}]'",
            ) from None
        raise DeliveryError(
            f"this tracker cannot be loaded ({problem})", where=point.name, do="reinstall the package that brings it"
        ) from None
    tracker = made() if isinstance(made, type) else made
    if not isinstance(tracker, Tracker):
        raise DeliveryError("its entry point is no tracker", where=point.name, do=f"see the group {GROUP} in the docs")
    return tracker


def without_login(text: str) -> str:
    """A ticket as it may be shown: without user and password in its URL, and without its query."""
    return regex.sub(r"(?<=://)[^/?#]*@", "", text.split("?")[0], timeout=1)
