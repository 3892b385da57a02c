"""Writes a redacted copy of a log of any size that has the same lines in the same places."""

from __future__ import annotations

import codecs
import hashlib
from collections.abc import Callable, Iterable, Iterator

import regex

from logaudit.report.redact import STAND_IN, UNCHECKED, Redactor
from logaudit.report.secrets import TooSlow

CHUNK_CHARS = 1 << 18
"""About how much text is looked at together."""
LONGEST_LINE_CHARS = 1 << 22
"""A longer line is cut for looking at it, so that memory stays bounded."""
_MOST_CARRIED = 200
_BOMS = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_CONTINUES = regex.compile(r"(?:\\|--?[A-Za-z][\w-]*|^\s*-\s+--[\w-]+|name[\"']?\s*:\s*\S+)\s*$")
_KEY_BEGINS = regex.compile(r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_KEY_ENDS = regex.compile(r"-----END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_NARROWEST = 60
_FRESH = regex.compile(r"\s*(?:\[|\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|[A-Z]+:|\{|$)")
_MOST_REMEMBERED = 1 << 16


def redact_log(read: Callable[[], Iterable[bytes]], redactor: Redactor) -> Iterator[bytes]:
    """The log that `read` gives, redacted, in the encoding that it came in.

    `read` is called twice: the first reading learns secrets and names, so that the second replaces them also where
    they stand before the line that gives them away.
    """
    innocent: set[bytes] = set()
    for chunk in _chunks(_decoded(read())[1]):
        width = wrapped_at(chunk)
        if width:
            redactor.learn(chunk)
            redactor.learn(_unwrapped(chunk, width))
        elif redactor.learn(chunk) == 0 and len(innocent) < _MOST_REMEMBERED:
            innocent.add(_digest(chunk))
    encoding, text = _decoded(read())
    for chunk in _chunks(text):
        searched = _digest(chunk) in innocent
        clean = redactor.known_only(chunk) if searched else _clean(chunk, redactor)
        yield clean.encode(encoding, "surrogateescape")


def _digest(chunk: str) -> bytes:
    """What tells a stretch that was searched already from one that has changed since."""
    return hashlib.blake2b(chunk.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _decoded(blocks: Iterable[bytes]) -> tuple[str, Iterator[str]]:
    """The encoding, and the text; bytes that are no text come through unchanged."""
    source = iter(blocks)
    head = next(source, b"")
    encoding = next((name for bom, name in _BOMS if head.startswith(bom)), "utf-8")
    decoder = codecs.getincrementaldecoder(encoding)("surrogateescape" if encoding == "utf-8" else "replace")

    def text() -> Iterator[str]:
        yield decoder.decode(head)
        for block in source:
            yield decoder.decode(block)
        yield decoder.decode(b"", final=True)

    return encoding, text()


def _chunks(text: Iterable[str]) -> Iterator[str]:
    """Stretches of whole lines; what belongs together (a key, a continued command) stays together."""
    held: list[str] = []
    size = 0
    for piece in text:
        held.append(piece)
        size += len(piece)
        if size < CHUNK_CHARS:
            continue
        whole = "".join(held)
        cut = _cut(whole)
        if cut:
            yield whole[:cut]
        held, size = [whole[cut:]], len(whole) - cut
    yield "".join(held)


def _cut(text: str) -> int:
    """Where `text` can be parted; 0 when it should grow first."""
    cut = text.rfind("\n") + 1
    if not cut:
        return len(text) if len(text) > LONGEST_LINE_CHARS else 0
    for _ in range(_MOST_CARRIED):
        begin = text.rfind("\n", 0, cut - 1) + 1
        if begin == 0 or not _CONTINUES.search(text[max(begin, cut - 512) : cut], timeout=5):
            break
        cut = begin
    tail = text[max(0, cut - 20_000) : cut]
    begins = [match.start() for match in _KEY_BEGINS.finditer(tail, timeout=5)]
    if begins and not _KEY_ENDS.search(tail, begins[-1], timeout=5):
        return text.rfind("\n", 0, max(0, cut - 20_000) + begins[-1]) + 1 or cut
    return cut


def _clean(chunk: str, redactor: Redactor) -> str:
    width = wrapped_at(chunk)
    if width:
        return _clean_wrapped(chunk, width, redactor)
    clean = redactor.text(chunk)
    if clean != UNCHECKED:
        return clean
    # Line by line, so that only the lines that are at fault are lost.
    return "\n".join(redactor.text(line) for line in chunk.split("\n"))


def wrapped_at(chunk: str) -> int:
    """The width at which a terminal cut the lines of `chunk`; 0 when they were not cut."""
    lines = chunk.split("\n")
    widest = max(map(len, lines))
    if widest < _NARROWEST:
        return 0
    full = [number for number, line in enumerate(lines) if len(line) == widest]
    if len(full) < 3 or len(full) * 20 < len(lines):
        return 0
    # Lines that are alike have one length too: a cut line is followed by its rest, not by a new entry.
    going_on = sum(1 for number in full if number + 1 < len(lines) and not _FRESH.match(lines[number + 1], timeout=1))
    return widest if going_on * 2 > len(full) else 0


def _unwrapped(chunk: str, width: int) -> str:
    """`chunk` without the line ends that a terminal of this width put in."""
    lines = chunk.split("\n")
    return "".join(line if len(line) == width else f"{line}\n" for line in lines)


def _clean_wrapped(chunk: str, width: int, redactor: Redactor) -> str:
    """A chunk of cut lines: secrets are found across the cuts and covered at their own length: no line moves."""
    joined = _unwrapped(chunk, width)
    try:
        found = redactor.spans(joined)
    except (TooSlow, TimeoutError):
        return "\n".join(redactor.text(line) for line in chunk.split("\n"))
    covered: list[str] = []
    at = 0
    for span in found:
        length = span.end - span.start
        filled = (STAND_IN + "x" * length)[:length]
        old = joined[span.start : span.end]
        kept = "".join("\n" if was == "\n" else fill for fill, was in zip(filled, old, strict=True))
        covered += [joined[at : span.start], kept]
        redactor.count(span.kind)
        at = span.end
    text = "".join([*covered, joined[at:]])
    return "\n".join(redactor.private(line) for line in _wrapped_again(text, chunk, width))


def _wrapped_again(joined: str, chunk: str, width: int) -> Iterator[str]:
    """The lines of `joined` cut where those of `chunk` were."""
    at = 0
    for line in chunk.split("\n"):
        yield joined[at : at + len(line)]
        at += len(line) + (0 if len(line) == width else 1)
