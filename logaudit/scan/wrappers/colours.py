"""Recognises terminal colours and other control sequences, as bytes or written out."""

from __future__ import annotations

from logaudit.lazy import lazy_pattern

NAME = "colours"
SAMPLES = (
    ("\x1b[32m[2026-01-02 03:04:05 TP0]\x1b[0m Load weight begin.", "[2026-01-02 03:04:05 TP0] Load weight begin."),
    (r"\u001b[1;33m[2026-01-02 03:04:05] Init\u001b[0m", "[2026-01-02 03:04:05] Init"),
    ("#033[31m[2026-01-02 03:04:05] Init#033[0m", "[2026-01-02 03:04:05] Init"),
    ("^[[31m[2026-01-02 03:04:05] Init^[[0m", "[2026-01-02 03:04:05] Init"),
    ("[32m[2026-01-02 03:04:05] Init[0m", "[2026-01-02 03:04:05] Init"),
)

_ESCAPE = r"(?:\x1b|\\{1,4}(?:u001[bB]|x1[bB]|0?33|e)|#033|\^\[|␛)"
_SEQUENCE = lazy_pattern(
    rf"{_ESCAPE}\[[0-9;:?<=>]{{0,32}}[ -/]{{0,2}}[@-~]"
    rf"|{_ESCAPE}\][^\x07\x1b\n]{{0,512}}(?:\x07|\x1b\\)"
    r"|\x1b[()][0-9A-B]|\x1b[=>78cDEHMNOZ]|\x9b[0-9;?]{0,32}[@-~]"
)
_ORPHAN = lazy_pattern(r"\[(?:\d{1,3}(?:;\d{1,3}){0,8})?m")
_CONTROL = lazy_pattern(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufeff\u200b\u200c\u200d\u2060\u200e\u200f]")


def marked(text: str) -> bool:
    """Whether an escape stands in the text, as a byte or written out."""
    return (
        "\x1b" in text
        or "33[" in text
        or "^[[" in text
        or "1b[" in text
        or "1B[" in text
        or "\\e[" in text
        or "␛[" in text
    )


def strip(text: str) -> str:
    """The text without control sequences; carriage returns, tabs and everything visible stay."""
    if not (text.isascii() and text.isprintable()) or marked(text):
        text = _SEQUENCE.sub("", text)
        if "\u00a0" in text:
            text = text.replace("\u00a0", " ")
        if not text.isprintable():
            text = _CONTROL.sub("", text)
    if "[0m" in text or "[m" in text or "[39m" in text:
        text = _ORPHAN.sub("", text)
    return text
