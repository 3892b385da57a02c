"""What an HTTP answer or a broken connection means for a delivery."""

from __future__ import annotations

import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import requests

from logaudit.report.inline import one_line
from logaudit.report.redact import Redactor
from logaudit.tickets.interface import Problem

TIMEOUT_S = 60.0
"""How long one answer may take."""
_ADVICE = {
    401: "the key or token is wrong or has expired",
    403: "the key or token may not do this",
    404: "there is no such ticket, or the key or token may not see it",
    413: "a file or the comment is larger than the tracker takes",
}


class LastAnswer:
    """Remembers the latest answer of a session, for libraries whose errors do not carry it."""

    def __init__(self) -> None:
        self.response: requests.Response | None = None

    def __call__(self, response: requests.Response, *_: Any, **__: Any) -> requests.Response:
        """As a response hook."""
        self.response = response
        return response

    def take(self) -> requests.Response | None:
        """The answer, forgotten afterwards."""
        taken, self.response = self.response, None
        return taken


def broken(error: BaseException) -> Problem | None:
    """The problem of a connection that gave no answer; None when `error` is something else."""
    if isinstance(error, requests.exceptions.SSLError):
        return Problem("its certificate cannot be trusted", "refused")
    if isinstance(error, requests.exceptions.ConnectTimeout):
        return Problem("no connection in time", "unsure")
    if isinstance(error, requests.exceptions.Timeout):
        return Problem("no answer in time", "unsure")
    if isinstance(error, (requests.exceptions.ConnectionError, requests.exceptions.ChunkedEncodingError)):
        return Problem("the connection failed", "unsure")
    if isinstance(error, requests.exceptions.RequestException):
        return Problem(f"the request failed ({type(error).__name__})", "refused")
    return None


def answered(status: int, headers: Mapping[str, str], reason: str = "", *, secrets: tuple[str, ...] = ()) -> Problem:
    """The problem of an answer with an error status.

    `reason` is what the tracker said; it is cut, and `secrets` and everything that looks like one is taken out of it.
    """
    said = said_by(reason, secrets)
    wait = wait_of(headers)
    lower = {name.lower(): value for name, value in headers.items()}
    if status == 429 or (status == 403 and (wait is not None or lower.get("x-ratelimit-remaining") == "0")):
        return Problem(f"too many requests{said}", "busy", wait if wait is not None else reset_of(lower), status)
    if status >= 500:
        return Problem(f"the server failed, HTTP {status}{said}", "unsure", wait, status)
    advice = _ADVICE.get(status, "")
    return Problem(f"refused, HTTP {status}{': ' + advice if advice else ''}{said}", "refused", None, status)


def said_by(reason: str, secrets: tuple[str, ...]) -> str:
    """What the tracker said, safe to show, in brackets; empty when it said nothing."""
    for secret in secrets:
        reason = reason.replace(secret, "REDACTED") if len(secret) > 3 else reason
    plain = one_line(Redactor().text(reason[:2000]))
    return f" [{plain[:200]}]" if plain else ""


def wait_of(headers: Mapping[str, str]) -> float | None:
    """Seconds that `Retry-After` asks for, given as a number or as a date."""
    value = next((value for name, value in headers.items() if name.lower() == "retry-after"), None)
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError):
        return None


def reset_of(headers: Mapping[str, str]) -> float | None:
    """Seconds until a used-up quota is renewed, from GitHub's and GitLab's headers (lower-case names)."""
    value = headers.get("x-ratelimit-reset") or headers.get("ratelimit-reset")
    try:
        return max(0.0, float(value) - time.time()) if value else None
    except ValueError:
        return None
