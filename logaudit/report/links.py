"""References from a figure to the quoted line that it was read from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from logaudit.report.blocks import Quoted, QuotedLine
from logaudit.report.document import LaunchDoc
from logaudit.report.inline import Inline, Span, clip, one_line

QUOTE_LIMIT = 1000
"""Characters of a quoted line that are shown; an argument dump can have many thousands."""


@dataclass(frozen=True, slots=True)
class Links:
    """What is quoted in one launch, by line number."""

    prefix: str
    quoted: dict[int, str]

    @classmethod
    def of(cls, launch: LaunchDoc) -> Links:
        return cls(f"start-{launch.index}", {quote.line: quote.text for quote in launch.quotes})

    def anchor(self, line: int) -> str:
        """Id of the quote of a line."""
        return f"{self.prefix}-line-{line}"

    def target(self, line: int) -> str:
        """Id to jump to for a line; empty when it is not quoted."""
        return self.anchor(line) if line in self.quoted else ""

    def line(self, number: int | None) -> Inline:
        """`line 27`, as a reference."""
        return () if number is None else (Span("line", f"line {number}", self.target(number)),)

    def lines(self, numbers: Iterable[int], most: int = 4) -> Inline:
        """`lines 52, 55`, each a reference; beyond `most` only how many more."""
        known = sorted(set(numbers))
        if not known:
            return ()
        if len(known) == 1:
            return self.line(known[0])
        out = [Span("text", "lines ")]
        for index, number in enumerate(known[:most]):
            out.append(Span("text", ", ")) if index else None
            out.append(Span("line", str(number), self.target(number)))
        if len(known) > most:
            out.append(Span("text", f" and {len(known) - most} more"))
        return tuple(out)

    def quote(self, numbers: Iterable[int], most: int = 6) -> Quoted | None:
        """The text of some lines, to be read where they matter; None when none of them is quoted."""
        known = [number for number in sorted(set(numbers)) if number in self.quoted]
        shown = tuple(
            QuotedLine(number, _cut(self.quoted[number]), target=self.anchor(number)) for number in known[:most]
        )
        return Quoted(shown) if shown else None

    def all(self) -> Quoted | None:
        """Every quoted line with its anchor."""
        lines = tuple(QuotedLine(n, _cut(text), anchor=self.anchor(n)) for n, text in sorted(self.quoted.items()))
        return Quoted(lines) if lines else None


def _cut(text: str) -> str:
    return clip(one_line(text), QUOTE_LIMIT)
