"""Takes wrappers and prefixes off the lines of a log and joins what was broken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

import regex
from msgspec.structs import replace as replace_in

from logaudit.lazy import lazy_pattern
from logaudit.scan import peel, prefix, rejoin, remarks, unfold
from logaudit.scan.line import Line, SourceLine
from logaudit.scan.opened import join_opened, opens
from logaudit.scan.peel import Chain, Leaf, Peeler, clean
from logaudit.scan.wrappers import colours, one_line

BLOCK_LINES = 256
"""How many lines are looked at together: as far as a wrapper can be learnt from lines that come later."""
MAX_HELD = 6_000
"""How many lines of one broken line are held back at most."""
MAX_HELD_CHARS = 4_000_000

_CLOSERS = lazy_pattern(
    r"""(?<=[\w.%)'\]])(?:(?:\\n)?"[\]})]{0,4},?|(?:</\w{1,10}>){1,4}|(?:\*{1,3}|`{1,3})[.,;]?)$|[ ]{2,}[│┃║|]$"""
)
"""What closes a wrapper that was opened on an earlier row of a broken line."""
_COMMAND = regex.compile(r"(?:--[a-z]|\bsglang\b|\bpython\d?\b)")


@dataclass(slots=True)
class Piece:
    """A physical line, or several joined because a bracket or a quote stayed open."""

    number: int
    text: str
    raw: str
    gap: bool
    spaced: bool
    joined: bool = False
    time: datetime | None = None
    stream: str = ""
    host: str = ""


class _Before(NamedTuple):
    """A plain line that waits for the next: only a line that does not start as SGLang's could belong to it."""

    line: SourceLine
    plain: Line
    gap: bool
    spaced: bool


class Unwrapper:
    """Turns source lines into logical lines as they arrive; what it has learnt of the log lasts between calls."""

    def __init__(self) -> None:
        self.wrappers: list[str] = []
        """Names of the wrappers taken off so far, in order of first appearance."""
        self._block: list[Piece] = []
        self._before: _Before | None = None
        self._fresh = 0
        self._chars = 0
        self._number = 0
        self._spaced = False
        self._gap = False
        self._blanks = 0
        self._seen = 0
        self._peeler = Peeler(self._name)
        self._widths: dict[int, rejoin.Width] = {}
        self._hosts: dict[str, int] = {}
        self._shown_chain: Chain | None = None
        self._own_clock = False
        self._fold: unfold.Fold | None = None

    def feed(self, line: SourceLine) -> list[Line]:
        """Take one line; gives the logical lines that are complete by now."""
        gap = self._number != 0 and line.number != self._number + 1
        self._number = line.number
        self._gap = self._gap or gap
        self._seen += 1
        if not line.text or line.text.isspace():
            self._blanks += 1
            self._spaced = True
            return []
        if not self._block:
            plain = self._plain(line)
            before = self._before
            if plain is not None:
                self._before = _Before(line, plain, self._gap, self._spaced)
                self._gap = self._spaced = False
                return [before.plain] if before is not None else []
            self._before = None
            if before is not None:
                self._own_clock = True
                self._add(before.line, gap=before.gap, spaced=before.spaced)
        self._add(line, gap=self._gap, spaced=self._spaced)
        self._gap = self._spaced = False
        if self._fresh >= BLOCK_LINES or self._chars > MAX_HELD_CHARS:
            return self._run(last=False)
        return []

    @staticmethod
    def _plain(line: SourceLine) -> Line | None:
        """A line that stands as SGLang prints it and needs no look at its neighbours, but for the one behind it."""
        text = line.text
        found = prefix.split_plain(text)
        if found is None or not text.isascii() or not text.isprintable() or "\\" in text or "&" in text:
            return None
        time, rank, body = found
        if "[" in body or "<" in body or remarks.may_hold(body):
            # These signs can belong to colours, a second line or a remark.
            if peel.holds_more(text) or colours.marked(text) or "[0m" in text or "rank-check failed" in body:
                return None
            if remarks.strip(body) != body:
                return None
        return Line(line.number, body.rstrip(), text, time, rank)

    def _add(self, line: SourceLine, *, gap: bool, spaced: bool) -> None:
        self._block.append(Piece(line.number, line.text, line.text, gap, spaced))
        self._fresh += 1
        self._chars += len(line.text)

    def flush(self) -> list[Line]:
        """Give what is still held back; the source may go on afterwards."""
        before, self._before = self._before, None
        return [before.plain] if before else self._run(last=True)

    def _name(self, name: str) -> None:
        if name not in self.wrappers:
            self.wrappers.append(name)

    def _run(self, *, last: bool) -> list[Line]:
        block, self._block = self._block, []
        self._fresh = self._chars = 0
        if not block:
            return self._finish([[leaf] for leaf in self._peeler.closed()]) if last else []
        whole = last or len(block) > MAX_HELD or sum(len(piece.text) for piece in block) > MAX_HELD_CHARS
        block, rest = self._unfold(self._without_ends(block), whole)
        pieces, keep = join_opened(block, whole)
        open_pieces = block[keep:] + rest
        leaves = self._peel(pieces)
        groups = self._join(leaves)
        if last:
            groups.extend([leaf] for leaf in self._peeler.closed())
        elif (
            not whole
            and not open_pieces
            and groups
            and not self._peeler.has_open
            and (tail := self._held(groups[-1], block))
        ):
            groups.pop()
            open_pieces = tail
        self._block = open_pieces
        lines = self._finish(groups)
        if len(open_pieces) == 1:
            # Back to looking at single lines, once they stand alone again.
            piece = open_pieces[0]
            line = SourceLine(piece.number, piece.text)
            if plain := self._plain(line):
                self._block, self._before = [], _Before(line, plain, piece.gap, piece.spaced)
        return lines

    def _without_ends(self, block: list[Piece]) -> list[Piece]:
        """The block without what stands behind each line: a line end written out, or a few blanks."""
        end = one_line.common_end([piece.text for piece in block])
        if not end:
            return block
        if end.strip():
            self._name(one_line.NAME)
        return [replace(piece, text=piece.text.removesuffix(end)) for piece in block]

    def _unfold(self, block: list[Piece], whole: bool) -> tuple[list[Piece], list[Piece]]:
        """The block with lines joined that were cut around their wrappers, and the rows of a line not yet complete."""
        self._peeler.prefixed = any("[20" in piece.text for piece in block)
        fold = self._fold or (unfold.learn(block, self._found) if len(block) > unfold.MIN_ROWS else None)
        if fold is None:
            return block, []
        self._fold = fold
        groups = unfold.groups_of(block, fold, self._found)
        rest = [] if whole else groups.pop()
        if any(len(group) > 1 for group in groups):
            self._name(rejoin.NAME)
        return [unfold.joined(group, fold) for group in groups], rest

    def _found(self, text: str) -> Chain | None:
        """The wrappers that come off a text for a log line to come to light."""
        text = clean(text)
        return () if prefix.is_bare(text) else self._peeler.find(text)

    @staticmethod
    def _held(group: list[Leaf], block: list[Piece]) -> list[Piece]:
        """The physical lines of the last logical line, which the next block may continue."""
        first = group[0]
        if not all(leaf.alone for leaf in group):
            return []
        return [piece for piece in block if piece.number >= first.number]

    def _peel(self, pieces: list[Piece]) -> list[Leaf]:
        peeler = self._peeler
        chains: list[Chain | None] = []
        bare: list[bool] = []
        texts = [clean(piece.text, self._name) for piece in pieces]
        peeler.prefixed = any("[20" in text for text in texts)
        for text in texts:
            bare.append(prefix.is_bare(text))
            if bare[-1]:
                chains.append(())
                continue
            chain = peeler.find(text)
            chains.append(chain)
            if chain:
                peeler.chain = chain
        if (inner := self._opened_inside(pieces, texts, chains)) is not None:
            return self._peel(inner)
        following = _following(chains)
        leaves: list[Leaf] = []
        before: Chain = peeler.chain or () if not any(chains) else ()
        if self._shown_chain is not None:
            before = self._shown_chain
        for index, piece in enumerate(pieces):
            chain = chains[index]
            if piece.gap:
                leaves.extend(peeler.closed())
            text = texts[index]
            leaf = Leaf(
                piece.number, text, piece.raw, piece.time, piece.stream, piece.host, gap=piece.gap, spaced=piece.spaced
            )
            # Entities are written after lines were broken, colours before.
            leaf.lost = 0 if "&" in piece.text else len(piece.text.rstrip("\r")) - len(text)
            if chain == () and bare[index] and not peel.holds_more(text):
                leaf.bare = True
                leaf.lengths = (0,) if piece.joined else (len(text) + leaf.lost,)
                leaves.append(leaf)
                before = ()
                continue
            if chain is None:
                chain = self._nearest(text, before, following[index])
            elif not _begins(chain, before) or (not chain and prefix.has_prefix(text)):
                before = chain
            found = [part for part in peeler.leaves(leaf, chain) if part.text.strip()]
            if piece.joined:
                for part in found:
                    part.lengths = (0, *part.lengths[1:])
            for position, part in enumerate(found):
                part.gap = piece.gap and position == 0
                part.spaced = piece.spaced and position == 0
                part.alone = len(found) == 1
                leaves.append(part)
        self._shown_chain = before
        return self._reopened(leaves)

    def _reopened(self, leaves: list[Leaf]) -> list[Leaf]:
        """The leaves with those joined that broke inside a quote or a bracket, deeper than the outermost wrapper."""
        whole, _ = join_opened(leaves, True)
        if len(whole) == len(leaves):
            return leaves
        result: list[Leaf] = []
        for leaf in whole:
            if not leaf.joined or leaf.bare:
                result.append(leaf)
                continue
            bare = replace(leaf, text=clean(leaf.text), lengths=(0,), joined=False, alone=False)
            result.extend(
                part for part in self._peeler.leaves(bare, self._peeler.find(bare.text) or ()) if part.text.strip()
            )
        return result

    def _opened_inside(self, pieces: list[Piece], texts: list[str], chains: list[Chain | None]) -> list[Piece] | None:
        """The pieces without their outermost wrapper and joined, where lines broke inside a quote that it holds."""
        layers = Counter(chain[0] for chain in chains if chain and chain[0].recogniser.each)
        if not layers:
            return None
        (recogniser, shape, gap), _ = layers.most_common(1)[0]
        inner: list[Piece] = []
        broken = False
        for piece, text in zip(pieces, texts, strict=True):
            hit = None if prefix.is_bare(text) else recogniser.follow(text, shape)
            if hit is None or len(hit.texts) != 1 or hit.partial:
                inner.append(piece)
                continue
            body = hit.texts[0]
            if (more := peel.gap(text, body) - gap) > 0 and body:
                body = peel.widen(text, body, more)
            broken = broken or opens(body)
            meta = (hit.time or piece.time, hit.stream or piece.stream, hit.host or piece.host)
            inner.append(Piece(piece.number, body, piece.raw, piece.gap, piece.spaced, piece.joined, *meta))
        if not broken:
            return None
        joined, _ = join_opened(inner, True)
        if len(joined) == len(inner):
            return None
        self._name(recogniser.name)
        return joined

    @staticmethod
    def _nearest(text: str, before: Chain, after: Chain) -> Chain:
        for chain in (before, after):
            if chain and chain[0].recogniser.follow(text, chain[0].shape) is not None:
                return chain
        return ()

    def _join(self, leaves: list[Leaf]) -> list[list[Leaf]]:
        """Logical lines, each as the leaf that begins it, which carries the joined text, with its further pieces."""
        self._learn(leaves)
        spaced = self._blanks * 3 > self._seen
        groups: list[list[Leaf]] = []
        messages: list[str] = []
        for leaf in leaves:
            if groups and not leaf.gap and (spaced or not leaf.spaced):
                joined = self._joined(groups[-1], messages[-1], leaf)
                if joined is not None:
                    messages[-1] = joined
                    groups[-1].append(leaf)
                    continue
            groups.append([leaf])
            messages.append(leaf.text)
        for group, message in zip(groups, messages, strict=True):
            group[0].text = message
        return groups

    def _joined(self, group: list[Leaf], text: str, leaf: Leaf) -> str | None:
        """The logical line so far with this leaf behind it, None when the leaf begins a line of its own."""
        if not leaf.lengths[-1] or (leaf.bare and (len(group) > 1 or prefix.has_prefix(leaf.text))):
            return None
        depth = len(leaf.lengths) - 1 if leaf.depth is None else leaf.depth
        lengths = group[-1].lengths
        length = lengths[depth] if len(lengths) > depth else 0
        if not length:
            return None
        if text.endswith("\\") and not leaf.bare and _COMMAND.search(text):
            return f"{text[:-1].rstrip()} {leaf.text.strip()}"
        width = self._widths.get(depth)
        if not group[0].bare and width is None and not text.startswith("[2"):
            return None
        message = prefix.parse(text).text if len(group) < 3 else text
        if "server_args=" in message[:200]:
            message = message[message.index("server_args=") :]
        message = remarks.strip(message)
        if leaf.bare:
            # A message whose first words were cut off from its prefix looks like a start.
            joins = width is not None and rejoin.barely_begun(message) and not rejoin.starts_other(leaf.text)
        else:
            joins = rejoin.belongs(message, length, leaf.text, width, leaf.lost)
        if not joins:
            return None
        self._name(rejoin.NAME)
        return rejoin.glue(text, length, leaf.text, width)

    def _learn(self, leaves: list[Leaf]) -> None:
        depths = {len(leaf.lengths) - 1 for leaf in leaves if not leaf.bare}
        for depth in depths:
            there = [leaf for leaf in leaves if len(leaf.lengths) > depth]
            further = [
                not leaf.bare and (len(leaf.lengths) == depth + 1 if leaf.depth is None else leaf.depth == depth)
                for leaf in there
            ]
            starts = [not goes_on for goes_on in further]
            rows = [
                rejoin.Row(
                    leaf.lengths[depth],
                    "" if start else leaf.text,
                    start,
                    not leaf.gap,
                    prefix.parse(leaf.text).text if leaf.bare and not starts_next else "",
                )
                for leaf, start, starts_next in zip(there, starts, [*starts[1:], True], strict=True)
            ]
            found = _widest(rows, self._widths.get(depth))
            if found is not None:
                self._widths[depth] = found

    def _finish(self, groups: list[list[Leaf]]) -> list[Line]:
        lines: list[Line] = []
        if not self._own_clock:
            self._own_clock = any(prefix.parse(group[0].text).time is not None for group in groups)
        for group in groups:
            first = group[0]
            if len(group) == 1:
                self._emit(first, first.raw, lines)
                continue
            raw = "\n".join(leaf.raw for leaf in group)
            whole = replace(first, lengths=(0,), bare=False)
            whole.text = clean(whole.text)
            whole.text = _CLOSERS.sub("", whole.text) if _CLOSERS.search(group[-1].text) else whole.text
            chain = self._peeler.find(whole.text) or ()
            for leaf in self._peeler.leaves(whole, chain):
                joined: list[Line] = []
                self._emit(leaf, raw, joined)
                # An indent of further pieces, where the first held nothing but the prefix.
                lines.extend(replace_in(line, text=line.text.lstrip()) if leaf.bare else line for line in joined)
        return self._hosted(lines)

    def _emit(self, leaf: Leaf, raw: str, lines: list[Line]) -> None:
        parsed = prefix.parse(leaf.text)
        body = parsed.text.rstrip()
        text = remarks.strip(body)
        if text != body:
            self._name(remarks.NAME)
            text = text.rstrip()
        if text.endswith("`") and text.count("`") % 2:
            text = text[:-1]
        # A wrapper's clock may be that of another zone: it counts only where SGLang prints none.
        time = parsed.time or (None if self._own_clock else leaf.time)
        if leaf.host:
            self._hosts.setdefault(leaf.host, len(self._hosts))
        for rank in parsed.spread or (parsed.rank,):
            if leaf.host:
                rank = replace(rank, node=self._hosts[leaf.host])
            lines.append(Line(leaf.number, text, raw, time, rank, leaf.stream))

    def _hosted(self, lines: list[Line]) -> list[Line]:
        """Streams and numbers of nodes only where the wrapper tells several apart; one for each line is none."""
        if len({line.stream for line in lines}) > max(4, len(lines) // 4):
            lines = [replace_in(line, stream="") for line in lines]
        if not self._hosts:
            return lines
        count = len(self._hosts)
        if 1 < count <= max(2, self._seen // 2):
            return lines
        return [
            replace_in(line, rank=replace(line.rank, node=None)) if line.rank.node is not None else line
            for line in lines
        ]


def _widest(rows: list[rejoin.Row], before: rejoin.Width | None) -> rejoin.Width | None:
    """The wrapping of the stretches between lines too long to have been wrapped."""
    stretch: list[rejoin.Row] = []
    best: tuple[int, rejoin.Width] | None = None
    for row in [*rows, None]:
        if row is not None and row.length <= rejoin.MAX_WIDTH:
            stretch.append(row)
            continue
        found = rejoin.learn(stretch, before) if len(stretch) > 1 else None
        if found is not None and (best is None or len(stretch) > best[0]):
            best = (len(stretch), found)
        stretch = []
    return best[1] if best else None


def _begins(chain: Chain, longer: Chain) -> bool:
    """Whether a chain is the beginning of a longer one: what a line shows whose message was cut off from its prefix."""
    return len(chain) < len(longer) and all(a.recogniser is b.recogniser for a, b in zip(chain, longer, strict=False))


def _following(chains: list[Chain | None]) -> list[Chain]:
    following: list[Chain] = [()] * len(chains)
    after: Chain = ()
    for index in range(len(chains) - 1, -1, -1):
        chain = chains[index]
        if chain is not None:
            after = chain
        following[index] = after
    return following


class Unwrapped:
    """The logical lines of a log, and after they were read, the wrappers that were taken off."""

    def __init__(self, source: Iterable[SourceLine]) -> None:
        self._source = source
        self._unwrapper = Unwrapper()
        self.lines: Iterator[Line] = self._run()

    def _run(self) -> Iterator[Line]:
        for line in self._source:
            yield from self._unwrapper.feed(line)
        yield from self._unwrapper.flush()

    @property
    def wrappers(self) -> list[str]:
        """Names of the wrappers recognised, complete after iteration."""
        return list(self._unwrapper.wrappers)


def unwrap(lines: Iterable[SourceLine]) -> Unwrapped:
    """Logical lines of a log; numbers may have gaps, and nothing is ever joined across one."""
    return Unwrapped(lines)
