"""Building blocks of the extractors' patterns: a printed figure, its units, and a clause that may be elided."""

from __future__ import annotations

_UNSIGNED = r"\d{1,18}(?:\.\d{1,24})?"
NUMBER = rf"-?{_UNSIGNED}"
"""A figure as SGLang prints it; the digits are bounded so that no text converts to infinity."""

_FIGURE = rf"[≈~]?\s?{NUMBER}(?:\s?(?:-|–|…|\.\.\.?)\s?{_UNSIGNED})?"
"""A figure as people paste it: `9.76`, `≈9.76`, `7.43-7.53` for ranks that differ."""

GB = r"\s?Gi?B\b"
MB = r"\s?Mi?B\b"
KB = r"\s?Ki?B\b"

RAISED = r"(?:[A-Za-z_][\w.]*(?:Error|Exception|Warning|Exit)?: )?"
"""The exception type in front of a message on the last line of a traceback."""


def fig(name: str, unit: str = "") -> str:
    """A named decimal figure, followed by its unit."""
    return f"(?P<{name}>{_FIGURE}){unit}"


def size(name: str) -> str:
    """A named figure together with the binary unit that it is printed in."""
    return rf"(?P<{name}>{NUMBER} ?(?:[KMGT]iB|[KMGT]B|bytes|B)\b)"


def num(name: str) -> str:
    """A named whole number that does not go on as a decimal or in more digits, also with commas between thousands."""
    return rf"(?P<{name}>-?\d{{1,3}}(?:,\d{{3}}){{1,5}}(?!\d)|-?\d{{1,18}})(?![\d]|\.\d)"


def word(name: str, characters: str = r"[\w.\-]+") -> str:
    """A named run of characters."""
    return f"(?P<{name}>{characters})"


def clause(inner: str) -> str:
    """A clause anywhere later in the message, which may be missing: wordings reorder clauses and people elide them."""
    return f"(?:(?=.*?{inner}))?"
