"""Recognises several lines written on one: with signs, escapes or tags for the line ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import regex

from logaudit.lazy import lazy_pattern
from logaudit.scan import prefix

NAME = "line ends written out"
SAMPLES = (
    (
        "[2026-01-02 03:04:05] Load weight begin.⏎[2026-01-02 03:04:06] Memory pool end.",
        ("[2026-01-02 03:04:05] Load weight begin.", "[2026-01-02 03:04:06] Memory pool end."),
    ),
    (
        r"[2026-01-02 03:04:05] Load weight begin.\n[2026-01-02 03:04:06] Memory pool end.\n",
        ("[2026-01-02 03:04:05] Load weight begin.", "[2026-01-02 03:04:06] Memory pool end."),
    ),
    (
        "[2026-01-02 03:04:05] Load weight begin.<br>[2026-01-02 03:04:06] Memory pool end.",
        ("[2026-01-02 03:04:05] Load weight begin.", "[2026-01-02 03:04:06] Memory pool end."),
    ),
)

_SIGNS = regex.compile(r"⏎|↵|␤|␍␊|␊")
_ESCAPES = regex.compile(r"(?:(?:\\{1,2}r)?\\{1,2}n|\\{1,2}r)")
_TAGS = regex.compile(r"<br ?/?>", regex.IGNORECASE)
_END = lazy_pattern(r" ?(?:⏎|↵|␤|␍␊|␊|(?<!\\)(?:\\r)?\\n|<br ?/?>)$|(?<! ) {2,8}$")
_DUMP = regex.compile(r"server_args[=:]")


def may_hold(text: str) -> bool:
    """A quick look: whether `split` could find anything."""
    return "\\n" in text or "⏎" in text or "↵" in text or "␤" in text or "␊" in text or "<br" in text or "<BR" in text


def common_end(texts: Sequence[str]) -> str:
    """The written line end, or the blanks, that nearly all of these lines have behind them; `` where none does."""
    ends = Counter(found[0] for text in texts if (found := _END.search(text)))
    if not ends:
        return ""
    end, count = ends.most_common(1)[0]
    return end if count >= 3 and count >= 0.8 * len(texts) else ""


def split(text: str, starts: Callable[[str], bool] = prefix.is_bare) -> list[str]:
    """The lines that stand in one line, in order; a line alone comes back alone.

    `starts` tells whether a part begins a log line: without such a part an escape belongs to the message.
    """
    if "⏎" in text or "↵" in text or "␤" in text or "␊" in text:
        parts = _without_padding(_SIGNS.split(text))
    elif "<br" in text or "<BR" in text:
        parts = _without_padding(_TAGS.split(text))
    else:
        parts = _ESCAPES.split(text)
        if not any(starts(part.lstrip()) for part in parts[1:80]):
            # One at the end is a line end; one inside may be part of the message.
            return [parts[0]] if len(parts) == 2 and not parts[1].strip() else [text]
        parts = _mend(parts)
    return [part for part in parts if part.strip()]


def _without_padding(parts: list[str]) -> list[str]:
    """The parts without the blanks around the sign, where every sign has them."""
    further = [part for part in parts[1:] if part]
    # A blank before the only sign, at the end of a line, is where that line was wrapped.
    if further and all(part.endswith(" ") for part in parts[:-1]) and all(part.startswith(" ") for part in further):
        parts = [part[:-1] if part.endswith(" ") else part for part in parts]
        return [parts[0], *(part[1:] for part in parts[1:])]
    return parts


def _mend(parts: list[str]) -> list[str]:
    """Put back together what a few escapes inside an arguments' dump took apart; many are a dump that was wrapped."""
    if sum(not prefix.is_bare(part.lstrip()) for part in parts) > 0.5 * len(parts):
        return parts
    lines: list[str] = []
    for part in parts:
        if lines and _DUMP.search(lines[-1]) and _open(lines[-1]) and not prefix.is_bare(part.lstrip()):
            lines[-1] += "\\n" + part
        else:
            lines.append(part)
    return lines


def _open(text: str) -> bool:
    return text.count("(") + text.count("{") > text.count(")") + text.count("}")
