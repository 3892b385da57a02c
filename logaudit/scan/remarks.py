"""Takes off what a person wrote behind a message, so that no figure in it is read as SGLang's."""

from __future__ import annotations

import regex

NAME = "trailing remarks"
SAMPLES = (
    ("Memory pool end. avail mem=9.76 GB  <- 3 GB less than before", "Memory pool end. avail mem=9.76 GB"),
    ("Memory pool end. avail mem=9.76 GB ← here", "Memory pool end. avail mem=9.76 GB"),
    ("Memory pool end. avail mem=9.76 GB  # was 12.00 GB", "Memory pool end. avail mem=9.76 GB"),
    ("Memory pool end. avail mem=9.76 GB [x 8 GPUs]", "Memory pool end. avail mem=9.76 GB"),
    ("Memory pool end. avail mem=9.76 GB (was 15.01 GB @256k)", "Memory pool end. avail mem=9.76 GB"),
)

_ARROW = regex.compile(r"(?<=\S)\s++(?:<[-=–—]+|←|⟵|⬅️?|👈|◄|◀|⇐)(?!\d\d:).*$", regex.DOTALL)
_END = r"(?<=[GMK]i?B[.,]?|\d|[)\]}.!%'\"]|\bs)"
_BEHIND = regex.compile(
    rf"{_END}[ \t]++(?:"
    r"(?:#|//|--+|;)[ \t].*"
    r"|\[[x×*] ?\d.*"
    r"|\([x×] ?\d+[^()]*\)"
    r"|\((?:was|were|vs\.?|before|previously|prev|earlier|up from|down from|instead of|expected|should be|compare"
    r"|note|NB|i\.e\.|!|\?)[^\n]*"
    r")$",
    regex.DOTALL | regex.IGNORECASE,
)


def may_hold(message: str) -> bool:
    """A quick look: whether a remark could stand behind the message."""
    return (
        "<-" in message
        or "<=" in message
        or "# " in message
        or "// " in message
        or "-- " in message
        or "; " in message
        or " [" in message
        or message.endswith(")")
        or "(was " in message
        or (not message.isascii() and any(mark in message for mark in "←⟵⬅👈◄◀⇐—–"))
    )


def strip(message: str) -> str:
    """The message without a remark; a message without one comes back as it is."""
    if not may_hold(message):
        return message
    try:
        return _without(message)
    except TimeoutError:
        return message


def _without(message: str) -> str:
    text: str = message
    if not message.startswith("server_args"):
        text = _ARROW.sub("", text, timeout=2.0)
        for _ in range(3):
            shorter = _BEHIND.sub("", text, timeout=2.0)
            if shorter == text:
                break
            text = shorter
    elif (close := max(message.rfind(")"), message.rfind("}"))) >= 0:
        rest = message[close:]
        text = message[:close] + _BEHIND.sub("", _ARROW.sub("", rest, timeout=2.0), timeout=2.0)
    return text
