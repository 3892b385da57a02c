"""Takes the wrappers off one piece of text, whatever their order, and learns from it for the pieces beside it."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

import regex

from logaudit.lazy import lazy_pattern
from logaudit.scan import prefix
from logaudit.scan.wrappers import colours, glued, indent, one_line, recognisers
from logaudit.scan.wrappers.interface import Hit, Recogniser


class Layer(NamedTuple):
    """One wrapper of a block."""

    recogniser: Recogniser
    shape: str
    gap: int
    """Blanks between the wrapper and the text inside: more than these belong to the text."""


Chain = tuple[Layer, ...]
"""Wrappers from the outside in."""

MAX_DEPTH = 8
MAX_LOOKS = 160
"""How many texts one search looks at before it takes the line as it stands."""
MAX_PARTS = 200_000

ENTITY = regex.compile(r"&(?:gt|lt|amp|quot|apos|nbsp|#\d{1,5}|#x[0-9a-fA-F]{1,5});")
_QUOTED = lazy_pattern(r"""[\s,\[{(]*[bruBRU]{0,2}["']""")
"""An entity inside a quote can stand for the quote's own sign: it is read when the quote is off."""
_EXCEPTION = regex.compile(r"(?:[A-Za-z_][\w.]{0,100})?(?:Error|Exception|Warning|Interrupt|Exit)\b")
_ESCAPED = regex.compile(r"\\([_#*\[\]<>|~`-])")


@dataclass(slots=True)
class Leaf:
    """What is left of one physical line when its wrappers are off."""

    number: int
    text: str
    raw: str
    time: datetime | None = None
    stream: str = ""
    host: str = ""
    lengths: tuple[int, ...] = ()
    """Length of the text at each depth, the outermost first; 0 where it stood in one piece with other lines."""
    bare: bool = False
    """Whether a log line starts here."""
    gap: bool = False
    """Whether lines are missing before it."""
    spaced: bool = False
    """Whether blank lines stand before it."""
    depth: int | None = None
    """The depth at which it may go on from the line before, where that is not its own: the first of several parts."""
    joined: bool = False
    """Whether it was put together from lines that broke inside a quote or a bracket."""
    alone: bool = True
    """Whether its physical line holds nothing else."""
    lost: int = 0
    """How many signs of colours were taken off it: they count where a width was measured."""


def clean(text: str, name: Callable[[str], None] | None = None) -> str:
    """The text without colours, entities and Markdown's escapes."""
    plain = colours.strip(text)
    if name is not None and len(plain) < len(text) and (colours.marked(text) or "[0m" in text):
        name(colours.NAME)
    if "&" in plain and ENTITY.search(plain) and not _QUOTED.match(plain):
        plain = ENTITY.sub(lambda found: html.unescape(found[0]), plain).replace("\u00a0", " ")
    if "\\_" in plain or "\\[" in plain or "\\#" in plain:
        plain = _ESCAPED.sub(r"\1", plain)
    return plain


def gap(text: str, inner: str) -> int:
    """How many blanks stand in `text` before `inner` at its end."""
    body = inner.rstrip()
    whole = text.rstrip()
    if not body or not whole.endswith(body):
        return 0
    outer = whole[: len(whole) - len(body)]
    return len(outer) - len(outer.rstrip(" "))


def widen(text: str, inner: str, more: int) -> str:
    """`inner` with `more` of the blanks that stand before it in `text`."""
    if not inner.strip():
        return ""
    at = len(text.rstrip()) - len(inner.rstrip())
    return text[at - more : at] + inner


def _whole_row(text: str, hit: Hit | None) -> Hit | None:
    """The hit with the bar that opens a table's row left to the row."""
    if hit is None or len(hit.texts) != 1 or not text.rstrip().endswith("|"):
        return hit
    inner = hit.texts[0]
    if not inner or not text.endswith(inner):
        return hit
    outer = text[: len(text) - len(inner)]
    bar = outer.rfind("|")
    if bar <= 0 or outer[bar + 1 :].strip() or not outer[:bar].strip():
        return hit
    return replace(hit, texts=(text[bar:],))


def holds_more(text: str) -> bool:
    """Whether several lines may stand in this one."""
    return "\r" in text or glued.may_hold(text) or one_line.may_hold(text)


class Peeler:
    """Peels texts and remembers, between texts, which wrappers were there and which lines are still open."""

    def __init__(self, name: Callable[[str], None]) -> None:
        self._name = name
        self._all = recognisers()
        self._sure = tuple(recogniser for recogniser in self._all if recogniser.sure)
        self._open: dict[tuple[str, str], Leaf] = {}
        self.chain: Chain | None = None
        self.prefixed = False
        """Whether SGLang's lines have a prefix here: then an indented one without is rather a line's further piece."""

    def find(self, text: str) -> Chain | None:
        """The wrappers that must come off for a log line to come to light; None when none does."""
        looks = [MAX_LOOKS]
        if text[:1] != "{" and not prefix.may_hold_line(text):
            return None
        if self.chain and self._reaches(self.chain, text):
            return self.chain
        return self._search(text, 0, looks)

    def _reaches(self, chain: Chain, text: str) -> bool:
        for recogniser, shape, _ in chain:
            text = clean(text)
            hit = _whole_row(text, recogniser.follow(text, shape))
            if hit is None or not hit.texts:
                return False
            text = hit.texts[0]
        return prefix.is_bare(clean(text))

    def _search(self, text: str, depth: int, looks: list[int]) -> Chain | None:
        text = clean(text)
        if prefix.is_bare(text):
            return ()
        if _EXCEPTION.match(text):
            # What a known message follows here is the exception's name: no wrapper to be looked for.
            looks[0] = -1
            return None
        if depth >= MAX_DEPTH:
            return None
        if "\r" in text:
            for part in text.split("\r"):
                if part.strip() and prefix.is_bare(part):
                    return ()
        for recogniser in self._all:
            if looks[0] < 0:
                return None
            hit = _whole_row(text, recogniser.match(text))
            if hit is None:
                continue
            for inner in hit.texts[:40]:
                looks[0] -= 1
                if looks[0] < 0:
                    return None
                if len(inner) >= len(text) and inner == text:
                    continue
                rest = self._search(inner, depth + 1, looks if len(hit.texts) == 1 else [looks[0]])
                if rest is not None and (rest or self._begins(recogniser, clean(inner)) or len(hit.texts) > 1):
                    return (Layer(recogniser, hit.shape, gap(text, inner)), *rest)
        if depth < 4 and one_line.may_hold(text):
            parts = one_line.split(text, self._starts(depth, looks))
            if len(parts) > 1:
                for part in parts[:40]:
                    looks[0] -= 1
                    if looks[0] < 0:
                        return None
                    if self._search(part, depth + 1, [looks[0]]) is not None:
                        return ()
        return None

    def _begins(self, recogniser: Recogniser, text: str) -> bool:
        """Whether a line of SGLang begins right behind a wrapper."""
        return not (self.prefixed and recogniser.name == indent.NAME) or prefix.has_prefix(text) or holds_more(text)

    def leaves(self, leaf: Leaf, chain: Chain) -> Iterator[Leaf]:
        """What a clean physical line holds once `chain` is off it, as far as it fits, and all that is sure beyond."""
        yield from self._apply(leaf, chain, 0)

    @property
    def has_open(self) -> bool:
        """Whether the rest of a line is still to come."""
        return bool(self._open)

    def closed(self) -> list[Leaf]:
        """The lines whose rest never came."""
        left = list(self._open.values())
        self._open.clear()
        return left

    def _apply(self, leaf: Leaf, chain: Chain, depth: int) -> Iterator[Leaf]:
        if depth:
            leaf.text = clean(leaf.text, self._name)
        leaf.lengths = (*leaf.lengths, len(leaf.text) + leaf.lost)
        text = leaf.text
        if prefix.is_bare(text):
            leaf.bare = True
            yield from self._parts(leaf, depth)
            return
        if chain:
            recogniser, shape, blanks = chain[0]
            hit = _whole_row(text, recogniser.follow(text, shape))
            if hit is not None:
                if len(hit.texts) == 1 and (more := gap(text, hit.texts[0]) - blanks) > 0:
                    hit = replace(hit, texts=(widen(text, hit.texts[0], more),))
                yield from self._inside(leaf, recogniser, hit, chain[1:], depth)
                return
        if depth < MAX_DEPTH:
            for recogniser in self._sure:
                hit = recogniser.match(text)
                if hit is not None:
                    yield from self._inside(leaf, recogniser, hit, chain, depth)
                    return
        yield from self._parts(leaf, depth)

    def _inside(self, leaf: Leaf, recogniser: Recogniser, hit: Hit, rest: Chain, depth: int) -> Iterator[Leaf]:
        self._name(recogniser.name)
        inner = replace(leaf, time=hit.time or leaf.time, host=hit.host or leaf.host)
        if hit.stream and hit.stream != leaf.stream:
            inner.stream = f"{leaf.stream}/{hit.stream}" if leaf.stream else hit.stream
        key = (recogniser.name, inner.stream)
        if hit.partial:
            begun = self._open.get(key)
            if begun is None:
                self._open[key] = replace(inner, text=hit.texts[0], lengths=(0,) * len(leaf.lengths))
            else:
                begun.text += hit.texts[0]
            return
        begun = self._open.pop(key, None) if self._open and hit.texts else None
        if begun is not None:
            whole = replace(begun, text=begun.text + hit.texts[0], lengths=(0,) * len(leaf.lengths))
            chain = self.find(whole.text)
            yield from self._apply(whole, rest if chain is None else chain, depth + 1)
            return
        alone = len(hit.texts) == 1
        for text in hit.texts[:MAX_PARTS]:
            part = replace(inner, text=text, lengths=inner.lengths if alone else (0,) * len(inner.lengths))
            part_chain = rest
            if not alone and rest and not self._reaches(rest, text):
                part_chain = self._search(text, depth + 1, [MAX_LOOKS]) or rest
            elif not alone and not rest:
                part_chain = self._search(text, depth + 1, [MAX_LOOKS]) or ()
            yield from self._apply(part, part_chain, depth + 1)

    def _chains(self, parts: list[str], depth: int) -> list[Chain]:
        """The wrappers of each part; one that shows none of its own has those of the part beside it."""
        found: list[Chain | None] = []
        last: Chain = ()
        for part in parts:
            chain = last if last and self._reaches(last, part) else self._search(part, min(depth + 1, 4), [MAX_LOOKS])
            last = chain or last
            found.append(chain)
        last = next((chain for chain in found if chain), ())
        chains: list[Chain] = []
        for chain in found:
            last = last if chain is None else chain
            chains.append(last)
        return chains

    def _starts(self, depth: int, looks: list[int]) -> Callable[[str], bool]:
        """Whether a part of a line begins a log line, with wrappers of its own or without."""
        return lambda part: self._search(part, max(depth + 1, 4), looks) is not None

    def _parts(self, leaf: Leaf, depth: int) -> Iterator[Leaf]:
        """The lines that are written or glued together in what is left."""
        text = leaf.text
        parts = [text]
        if one_line.may_hold(text):
            parts = one_line.split(text, self._starts(depth, [MAX_LOOKS]))
            if parts != [text]:
                self._name(one_line.NAME)
        if len(parts) <= 1:
            if parts:
                text = parts[0]
            pieces = glued.split(text)
            if len(pieces) > 1:
                self._name(glued.NAME)
                for piece in pieces:
                    yield replace(leaf, text=piece, lengths=(0,) * len(leaf.lengths), bare=prefix.is_bare(piece))
                return
            if pieces:
                leaf.text = pieces[0]
                if pieces[0] != text:
                    leaf.bare = prefix.is_bare(leaf.text)
            yield leaf
            return
        parts = parts[:MAX_PARTS]
        chains = self._chains(parts, depth)
        nothing = (0,) * len(leaf.lengths)
        for index, part in enumerate(parts):
            yield from self._apply(
                replace(
                    leaf,
                    text=part,
                    # The last part ends where the physical line does, which may go on in the next one.
                    lengths=leaf.lengths if index == len(parts) - 1 else nothing,
                    bare=False,
                    depth=len(leaf.lengths) - 1 if index == 0 else None,
                ),
                chains[index],
                depth + 1,
            )
