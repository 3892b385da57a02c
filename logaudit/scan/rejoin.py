"""Tells which lines a terminal, a mail program or a person broke, and puts them together again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import regex

from logaudit.lazy import lazy_pattern

NAME = "hard-wrapped lines"
MAX_WIDTH = 250
"""Wider than this no terminal or mail program wraps."""

_UNFINISHED = lazy_pattern(
    r"(?:[,=:(\[{#&|/<>+~-]|\b(?:avail|mem|usage|size|elapsed|Time|type|GPU|K|V|KV|and|to|of|for|the|a))\s*$"
)
_BEGUN = lazy_pattern(
    r"\s*(?:This can take|avail mem|mem usage|Time elapsed|,|\.\d|[GMK]i?B\b|\d+(?:\.\d+)? [GMK]i?B\b)"
)
_TAILS: tuple[tuple[regex.Pattern[str], regex.Pattern[str]], ...] = tuple(
    (lazy_pattern(head), lazy_pattern(tail))
    for head, tail in (
        (r"Load weight begin", r"begin\.$|\d\.\d\d GB$"),
        (r"Load weight end", r"\d\.\d\d GB\.?$|\)\.$"),
        (r"Memory pool end", r"\d\.\d\d GB$"),
        (r"Memory baseline", r"\d\.\d\d GB$"),
        (r"(?:\w+ )?KV Cache is allocated", r"\d\.\d\d GB\.?$"),
        (r"Mamba Cache is allocated", r"\d\.\d\d ?GB\.? ?$"),
        (r"Init (?:torch distributed|nccl|parallel) begin", r"\.$"),
        (r"Init (?:torch distributed|nccl) ends", r"\d\.\d\d GB$"),
        (r"Init parallel ends", r"\d s$"),
        (r"Capture .{0,60}?begin", r"begin\.$|minutes\.$|\d\.\d\d GB$"),
        (r"Capture .{0,60}?end", r"end\.$|\d\.\d\d GB\.?$|\d s$"),
        (r"max_total_num_tokens=", r"context_len=\d+,?$|\d\.\d\d GB$"),
        (r"max_total_tokens=\d", r"instead\.$"),
        (r"Using KV cache dtype", r"torch\.\w+$"),
        (r"SWAKVPool", r"full size: \d+$"),
        (r"Use [Ss]liding window", r"swa_layer_tokens=\d+$"),
        (r"DSV?v?4 memory", r"full_token=\d+$"),
        (r"The available memory for KV", r"GB\.$"),
        (r"The memory capacity is unbalanced", r"processes\.$|0\.9=[\d.]+$"),
        (r"Not enought? memory", r"\d$|fraction-static\.$"),
    )
)
_HYPHEN = lazy_pattern(r"[A-Za-z]{2}-(?=[A-Za-z]{2})")
_CUT_AT_HYPHEN = lazy_pattern(r"[A-Za-z]{2}-\s*$")
_WRITTEN_END = lazy_pattern(r"(?:\\n|[⏎↵])\[?[^\]\\⏎↵]{0,60}$")
_OPEN_PREFIX = lazy_pattern(r"\[\d{4}-[^\]]{0,60}$")
_DIGITS = lazy_pattern(r"\d+")
_DATE = lazy_pattern(r"\d{4}-\d\d-\d\d$")
_PREFIX_END = lazy_pattern(r"\s*[\w :.,\-]{0,60}\]")
_STARTS = lazy_pattern(
    r"\s*(?:Traceback \(|File \"|During handling|The above exception|[\w.]{0,80}(?:Error|Exception|Warning)\b"
    r"|.{0,60}\d+%\||\[rank\d|\[\w+\] "
    r"|/[\w./\-]+:\d+:(?: |$)|/[\w./\-]{30}|(?:WARNING|ERROR|INFO|DEBUG)\b|\d{4}-\d\d-\d\d|warnings\.warn"
    r"|[A-Z][\w ]{0,40}: {2,}|\^+|~+\^)"
)


@dataclass(frozen=True, slots=True)
class Row:
    """One physical line at one depth of wrapping."""

    length: int
    """Its length with what stands before it at that depth."""
    text: str
    starts: bool
    """Whether a log line starts here."""
    beside: bool
    """Whether nothing is missing between the row before and this one."""
    message: str = ""
    """The message, where a log line starts here."""


@dataclass(frozen=True, slots=True)
class Width:
    """How a block was wrapped."""

    kind: Literal["sign", "word"]
    """`sign`: cut at the width, in the middle of a word too; `word`: cut at blanks."""
    width: int
    indent: int
    """Blanks put before every further piece."""
    hyphens: bool = True
    """Whether words are cut at their hyphens too."""


def indent_of(text: str) -> int:
    """How many blanks and tabs a text starts with."""
    return len(text) - len(text.lstrip(" \t"))


def _first_word(text: str, hyphens: bool = True) -> int:
    words = text.split(None, 1)
    if not words:
        return 0
    word = words[0]
    hyphen = _HYPHEN.search(word) if hyphens else None
    return hyphen.end() if hyphen else len(word)


def learn(rows: Sequence[Row], before: Width | None = None) -> Width | None:
    """How these lines were wrapped, None when they were not; `before` is what the lines before them showed."""
    cuts = [(a, b) for a, b in pairwise(rows) if b.beside and not b.starts]
    if not cuts:
        return None
    sure = sum(
        a.starts and (unfinished(a.message) or barely_begun(a.message)) and not starts_other(b.text) for a, b in cuts
    )
    if not sure and before is None:
        return None
    sign = _by_sign(rows, cuts)
    if sign is not None:
        return sign
    return _by_word(rows, cuts, before)


def _indent(further: Sequence[str]) -> int:
    """The blanks that were put before every further piece."""
    least = min((indent_of(text) for text in further), default=0)
    # A single blank before a single piece is more likely the message's own.
    return 0 if least == 1 and len(further) < 4 and not all(text.startswith("\t") for text in further) else least


def _kind(row: Row) -> str:
    """Equal for lines that several ranks print alike: they are no more evidence than one."""
    text: str = _DIGITS.sub("0", row.message or row.text)
    return text


def _by_sign(rows: Sequence[Row], cuts: list[tuple[Row, Row]]) -> Width | None:
    lengths = Counter(a.length for a, _ in cuts if 20 <= a.length <= MAX_WIDTH)
    starts = Counter(a.length for a, _ in cuts if a.starts and 20 <= a.length <= MAX_WIDTH)
    candidates = [counter.most_common(1)[0][0] for counter in (lengths, starts) if counter]
    if starts:
        candidates.append(max(starts))
    for width in dict.fromkeys(candidates):
        found = _of_width(rows, cuts, width)
        if found is not None:
            return found
    return None


def _of_width(rows: Sequence[Row], cuts: list[tuple[Row, Row]], width: int) -> Width | None:
    indent = _indent([b.text for a, b in cuts if a.length == width and not starts_other(b.text)])
    full = {width, width + indent}
    exact = {_kind(a) for a, b in cuts if a.length in full and not starts_other(b.text)}
    longer = sum(row.length > width + indent for row in rows)
    standing = sum(row.length == width and row.starts for row in rows[:-1])
    followed = sum(a.length == width and a.starts for a, _ in cuts)
    if len(exact) < 2 or longer > 0.03 * len(rows) or not followed:
        return None
    # A line may happen to be just as wide as the block; many such lines with nothing behind them are no cuts.
    if followed < 0.7 * standing and len(exact) < 6:
        return None
    near = sum(width - 2 <= a.length <= width + indent for a, _ in cuts)
    if near < 0.5 * len(cuts) and len(exact) < 6:
        return None
    # Words cut at blanks hit the width exactly only now and then.
    shorter = {_kind(a) for a, b in cuts if max(width - 25, 1) <= a.length < width - 2 and not starts_other(b.text)}
    if len(shorter) > 0.34 * len(exact):
        return None
    # Behind a comma stands a blank: where it is gone, the line was cut at it.
    at_blanks = {
        _kind(a)
        for a, b in cuts
        if a.length in full and (a.message or a.text).endswith(",") and b.text[indent : indent + 1].strip()
    }
    if len(at_blanks) > 0.3 * len(exact):
        return None
    return Width("sign", width, indent)


def _by_word(rows: Sequence[Row], cuts: list[tuple[Row, Row]], before: Width | None) -> Width | None:
    # A word longer than the width stands on a row of its own.
    longest = max((row.length for row in rows if row.starts or " " in row.text.strip()), default=0)
    width = max(longest, before.width) if before and before.kind == "word" and longest <= before.width else longest
    if width > MAX_WIDTH:
        return None
    fits = [
        (a, b)
        for a, b in cuts
        if a.length + 1 + _first_word(b.text) > width and a.length > width - 70 and not starts_other(b.text)
    ]
    if len(fits) < (2 if before else 3) or len(fits) < 0.6 * len(cuts) or not any(a.starts for a, _ in fits):
        return None
    hyphens = (before is not None and before.hyphens) or any(
        _CUT_AT_HYPHEN.search(a.message or a.text) for a, _ in fits
    )
    return Width("word", width, _indent([b.text for _, b in fits]), hyphens)


def unfinished(message: str) -> bool:
    """Whether a message known to go on breaks off."""
    if message.startswith(("server_args=", "server_args:")):
        if "(" not in message and "{" not in message:
            return message.startswith("server_args=")
        return message.count("(") + message.count("{") > message.count(")") + message.count("}")
    for head, tail in _TAILS:
        if head.match(message):
            return tail.search(message.rstrip()) is None
    if len(message) > 3 and any(head.fullmatch(message, partial=True) for head, _ in _TAILS):
        return True
    return _UNFINISHED.search(message) is not None or message.count("(") > message.count(")")


def finished(message: str) -> bool:
    """Whether a message is known and complete."""
    return any(head.match(message) and tail.search(message.rstrip()) for head, tail in _TAILS)


def barely_begun(message: str) -> bool:
    """Whether a message broke off before it could be told from others: after the prefix, or within its first words."""
    return not message.strip() or any(
        len(message) > 2 and head.fullmatch(message.rstrip(), partial=True) for head, _ in _TAILS
    )


def known(message: str) -> bool:
    """Whether a message is one whose end is known."""
    return any(head.match(message) for head, _ in _TAILS) or (
        len(message) > 3 and any(head.fullmatch(message, partial=True) for head, _ in _TAILS)
    )


def starts_other(text: str) -> bool:
    """Whether a line without prefix looks like the start of something of its own."""
    return _STARTS.match(text) is not None


def belongs(message: str, length: int, further: str, width: Width | None, lost: int = 0) -> bool:
    """Whether `further` continues `message`, whose last physical line was `length` long.

    `lost` is how many signs of colours were taken off `further`: they were part of its last word when it was broken.
    """
    if width is not None and _WRITTEN_END.search(message):
        return True
    if _OPEN_PREFIX.match(message):
        return _PREFIX_END.match(further) is not None
    if message.startswith("server_args") and not unfinished(message):
        return False
    if width is not None:
        body = further[width.indent :] if indent_of(further) >= width.indent else further.lstrip()
        if not message.strip():
            return not starts_other(body)
        if width.kind == "sign":
            if length in (width.width, width.width + width.indent):
                return True
            if 0 < width.width - length <= 2 or 0 < width.width + width.indent - length <= 2:
                goes_on = not finished(message) or _BEGUN.match(body) or body[:1].islower() or body[:1].isdigit()
                return bool(goes_on) and not starts_other(body)
        elif (
            length + 1 + _first_word(body, width.hyphens) + (0 if " " in body else lost) > width.width
            and (width.width - 80 < length <= width.width or _is_long_word(message, length, width))
        ) and not starts_other(body):
            if not finished(message):
                return True
            return _BEGUN.match(body) is not None or body[:1].islower() or body[:1].isdigit()
    if message.startswith("server_args"):
        return unfinished(message) and not starts_other(further)
    if known(message):
        if unfinished(message):
            return not starts_other(further)
        return _BEGUN.match(further) is not None
    return False


def _is_long_word(message: str, length: int, width: Width) -> bool:
    """Whether the last row held nothing but a word longer than the width."""
    return length > width.width and len(message.rstrip()) - message.rstrip().rfind(" ") >= length - width.indent


def glue(message: str, length: int, further: str, width: Width | None) -> str:
    """`message` with `further` put behind it, with a blank where the break took one."""
    if width is not None and width.kind == "sign":
        body = further[width.indent :] if indent_of(further) >= width.indent else further.lstrip()
        full = width.width if length <= width.width else width.width + width.indent
        return message + " " * max(0, min(full - length, 2)) + body
    body = further.lstrip()
    if message.endswith(" ") or not message:
        return message + body
    if width is None:
        if further[:1] == " " and indent_of(further) == 1:
            return message + further
        return _glue_by_sense(message, body)
    if regex.search(r"\w-$", message) and body[:1].isalnum() and not message.endswith(" -"):
        return message + body
    last = len(message) - message.rfind(" ") - 1
    if (
        length >= width.width
        and message[-1] not in ",;:"
        and last + len(body.split(None, 1)[0]) > width.width - width.indent
    ):
        return message + body
    return f"{message} {body}"


_NUMBER = lazy_pattern(r"=\d+(?:\.\d+)?$")
_UNIT = lazy_pattern(r"(?:[GMK]i?B|s|it/s|tokens)\b")


def _glue_by_sense(message: str, body: str) -> str:
    close, spaced = message + body, f"{message} {body}"
    if finished(close) != finished(spaced):
        return close if finished(close) else spaced
    if message[-1] in "=(['\"{/" or body[0] in ",.)]}='\"":
        return close
    if message[-1] in ",:":
        return spaced
    last = message.rsplit(" ", 1)[-1]
    if "=" in last and last[-1] not in ";)]}'\".":
        number = _NUMBER.search(last)
        return spaced if number and _UNIT.match(body) else close
    if _OPEN_PREFIX.match(message) and _DATE.search(message):
        return spaced
    if message[-1].isdigit() and body[0].isdigit():
        return close
    return spaced
