"""Which SGLang release printed a log: it never says so itself, but its arguments and its wordings narrow it down."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import Protocol

from packaging.version import InvalidVersion, Version

from logaudit.sglang.facts import read_defaults, read_fields, read_lines
from logaudit.sglang.server_args import ParsedArgs

_DATA = files("logaudit.sglang") / "data"


class Dated(Protocol):
    """A record that knows which releases print its wording."""

    @property
    def kind(self) -> str:
        """Kind of line."""

    @property
    def line(self) -> int:
        """1-based line in the source."""

    @property
    def releases(self) -> str:
        """`0.4.4..0.5.8`, several ranges joined by commas, or `` when the wording says nothing."""


@dataclass(frozen=True, slots=True)
class Bracket:
    """The releases that a log can come from."""

    low: Version | None
    """Oldest release that it can be, or the known one below an unknown release; None where nothing bounds it."""
    high: Version | None
    """Newest release that it can be, or the known one above an unknown release; None when it may be newer than all."""
    candidates: tuple[Version, ...]
    """The known releases that the log allows, oldest first; of an unknown release its neighbours."""
    exact: bool
    """Whether a complete dump has exactly the fields of one known release."""
    evidence: tuple[str, ...]
    """What was concluded from what, one sentence each."""
    unknown_fields: tuple[str, ...]
    """Arguments that no known release has: a newer release, one in between, or a fork."""

    def holds(self, release: Version) -> bool:
        """Whether `release` lies in the bracket."""
        return (self.low is None or self.low <= release) and (self.high is None or release <= self.high)


@dataclass(frozen=True, slots=True)
class _Place:
    """A known release (`below is above`), or the gap between two neighbours, where unknown releases lie."""

    below: Version | None
    above: Version | None

    @property
    def known(self) -> bool:
        return self.below is not None and self.below == self.above


@cache
def known_releases() -> tuple[Version, ...]:
    """The releases whose arguments are known, oldest first."""
    return tuple(sorted(_fields()))


def field_names(release: Version) -> tuple[str, ...]:
    """The argument names of a known release in the order of its dump; raises KeyError for another release."""
    return _fields()[release]


@cache
def all_field_names() -> frozenset[str]:
    """Every argument name of any known release."""
    return frozenset().union(*_field_sets().values())


@cache
def defaults(release: Version) -> Mapping[str, object]:
    """Field -> default of a release (or of the known one before it), for arguments that a log does not show.

    Fields without a default, and those whose default only the running program knows, are left out.
    """
    earlier = [known for known in known_releases() if known <= release] or [known_releases()[0]]
    known = read_defaults(_text("server_args_defaults.tsv"))
    found: dict[str, object] = {}
    for name in field_names(earlier[-1]):
        since = [text for start, text in known.get(name, {}).items() if Version(start) <= earlier[-1]]
        if since:
            try:
                found[name] = _constant(ast.parse(since[-1], mode="eval").body)
            except (SyntaxError, ValueError):
                continue
    return MappingProxyType(found)


def bracket(args: ParsedArgs | None, records: Iterable[Dated]) -> Bracket:
    """The releases that a start can come from, by its arguments (field names and form) and the wordings of its lines.

    The arguments weigh more than the wordings: where the two exclude each other, the wordings are left aside, as a fork
    may have changed them. Never narrower than the facts: a release between two known ones stays inside.
    """
    evidence: list[str] = []
    places: Sequence[_Place] = _places()
    if args is not None and args.names_in_order:
        places = _by_form(args, places, evidence)
        if thinned(args):
            evidence.append("server_args was shortened by hand: only the fields shown count")
            args = replace(args, form="short", complete=False)
        places = _by_fields(args, places, evidence)
    places = _by_wordings(records, places, evidence)
    unknown = _unknown_fields(args) if args is not None else ()
    if unknown:
        evidence.append(f"arguments of no known release: {', '.join(unknown[:8])}{' …' if len(unknown) > 8 else ''}")
    known = tuple(place.below for place in places if place.below is not None and place.known)
    if known and (not unknown or args is None or args.form == "short"):
        exact = len(known) == 1 and args is not None and args.complete
        if known == known_releases():
            return Bracket(None, None, known, False, tuple(evidence), unknown)
        newest = known[-1] == known_releases()[-1] and not (args is not None and args.complete)
        return Bracket(known[0], None if newest else known[-1], known, exact, tuple(evidence), unknown)
    low = places[0].below
    high = places[-1].above
    between = tuple(
        release for release in known_releases() if (low is None or low <= release) and (high is None or release <= high)
    )
    return Bracket(low, high, between, False, tuple(evidence), unknown)


def thinned(args: ParsedArgs) -> bool:
    """Whether fields were taken out of a dump that looks whole: the release that fits best has many more of them.

    Builds beside the releases lack a few fields of their neighbours, and a cut dump keeps its order up to the cut.
    """
    if args.form == "short" or not args.names_in_order or not args.complete:
        return False
    shown = frozenset(name for name in args.names_in_order if not name.startswith("_"))
    lacking = min(len(fields - shown) for fields in _best_known(shown))
    return lacking > max(THINNED_FIELDS, THINNED_SHARE * len(shown))


THINNED_FIELDS = 12
THINNED_SHARE = 0.25
"""More fields lacking than this (number, share of those shown) were taken out by whoever pasted the dump."""


def _best_known(shown: frozenset[str]) -> list[frozenset[str]]:
    """The field sets that hold most of the fields shown."""
    held = {release: len(shown & fields) for release, fields in _field_sets().items()}
    return [fields for release, fields in _field_sets().items() if held[release] == max(held.values())]


@cache
def _places() -> tuple[_Place, ...]:
    """Every known release and every gap, oldest first."""
    releases = known_releases()
    places = [_Place(None, releases[0])]
    for release, following in zip(releases, [*releases[1:], None], strict=True):
        places += [_Place(release, release), _Place(release, following)]
    return tuple(places)


def _by_form(args: ParsedArgs, places: Sequence[_Place], evidence: list[str]) -> Sequence[_Place]:
    for form, ranges in (line.split("=") for line in read_lines(_text("dump_forms.txt"))):
        if form == args.form:
            evidence.append(f"server_args printed as a {form}: {ranges}")
            return [place for place in places if _allows(ranges, place)] or places
    return places


def _by_fields(args: ParsedArgs, places: Sequence[_Place], evidence: list[str]) -> Sequence[_Place]:
    names = tuple(name for name in args.names_in_order if not name.startswith("_"))
    counts = _contradictions(args.form, args.complete, names, tuple(places))
    counted = list(zip(counts, places, strict=True))
    least = min(count for count, _ in counted)
    best = [place for count, place in counted if count == least]
    exact = [place for place in best if place.known]
    if least == 0 and exact:
        listed = _span(exact)
        if args.complete:
            evidence.append(f"server_args has exactly the {len(names)} fields of {listed}")
        else:
            evidence.append(f"server_args, as far as shown, has the fields of {listed}")
        return exact
    evidence.append(f"server_args has a set of fields between those of known releases: {_span(best)}")
    return best


@lru_cache(maxsize=128)
def _contradictions(form: str, complete: bool, names: tuple[str, ...], places: tuple[_Place, ...]) -> tuple[int, ...]:
    """How many of the fields shown, or not shown, speak against each place; starts of one release show the same."""
    shown = frozenset(names)
    known = shown & all_field_names()
    return tuple(_against(place, form, complete, names, shown, known) for place in places)


def _against(
    place: _Place, form: str, complete: bool, names: tuple[str, ...], shown: frozenset[str], known: frozenset[str]
) -> int:
    sets = _field_sets()
    around = [sets[release] for release in (place.below, place.above) if release is not None]
    strange = len(known - around[0].union(*around[1:]))
    if form == "short":
        return strange
    if place.known and place.below is not None:
        strange += len(shown - known)
        return strange + _missing(complete, names, shown, field_names(place.below))
    if not complete or len(around) < 2:
        return strange
    return strange + len(around[0].intersection(*around[1:]) - shown)


def _missing(complete: bool, names: tuple[str, ...], shown: frozenset[str], expected: Sequence[str]) -> int:
    """How many fields of a release a dump lacks; a cut dump is held against the fields up to the last one it shows."""
    if complete:
        return len(frozenset(expected) - shown)
    last = max((index for index, name in enumerate(expected) if name in shown), default=-1)
    order = tuple(expected[: last + 1])
    if order == names:
        return 0
    return max(1, len(frozenset(order) - shown))


def _by_wordings(records: Iterable[Dated], places: Sequence[_Place], evidence: list[str]) -> Sequence[_Place]:
    seen: dict[str, Dated] = {}
    for record in records:
        if record.releases:
            seen.setdefault(record.releases, record)
    if not seen:
        return places
    votes = [(sum(_allows(ranges, place) for ranges in seen), place) for place in places]
    most = max(count for count, _ in votes)
    chosen = [place for count, place in votes if count == most]
    if most == len(seen):
        if len(chosen) < len(places):
            evidence += [
                f"line {seen[ranges].line}, {seen[ranges].kind}: worded as in {ranges}"
                for ranges in _decisive(seen, places)
            ]
        return chosen
    if len(places) < len(_places()):
        evidence.append("the wordings of some lines belong to other releases than the arguments: left aside")
        return places
    evidence.append("the wordings of the lines belong to several releases: most agree on " + _span(chosen))
    return chosen


def _decisive(seen: Mapping[str, Dated], places: Sequence[_Place]) -> list[str]:
    """The wordings that alone rule out the most, up to four, in the order of their lines."""
    ranked = sorted(seen, key=lambda ranges: sum(_allows(ranges, place) for place in places))
    useful = [ranges for ranges in ranked if not all(_allows(ranges, place) for place in places)]
    return sorted(useful[:4], key=lambda ranges: seen[ranges].line)


@cache
def _allows(ranges: str, place: _Place) -> bool:
    """Whether a wording of these releases can come from a place; between two releases that were read, either's can."""
    return any(_overlaps(low, high, place) for low, high in _bounds(ranges))


def _overlaps(low: Version | None, high: Version | None, place: _Place) -> bool:
    if place.known and place.below is not None:
        return (low is None or low < place.below) and (high is None or place.below < high)
    lows = [version for version in (low, place.below) if version is not None]
    highs = [version for version in (high, place.above) if version is not None]
    return not lows or not highs or max(lows) < min(highs)


@cache
def _bounds(ranges: str) -> tuple[tuple[Version | None, Version | None], ...]:
    """For each range `a..b` the releases read just outside of it; a release between may carry either wording."""
    read = sorted(Version(name) for name in read_lines(_text("wording_releases.txt")))
    bounds = []
    for part in ranges.split(","):
        first, _, last = part.strip().partition("..")
        try:
            low, high = Version(first), Version(last or first)
        except InvalidVersion:
            continue
        below = [release for release in read if release < low]
        above = [release for release in read if release > high]
        bounds.append((below[-1] if below else None, above[0] if above else None))
    return tuple(bounds)


def _unknown_fields(args: ParsedArgs) -> tuple[str, ...]:
    if args.form == "short":
        return ()
    return tuple(name for name in args.names_in_order if not name.startswith("_") and name not in all_field_names())


def _span(places: Sequence[_Place]) -> str:
    low, high = places[0].below, places[-1].above
    if low is not None and low == high:
        return str(low)
    return f"{low or 'before ' + str(known_releases()[0])} to {high or 'newer than ' + str(known_releases()[-1])}"


@cache
def _fields() -> dict[Version, tuple[str, ...]]:
    return {Version(release): names for release, names in read_fields(_text("server_args_fields.tsv")).items()}


@cache
def _field_sets() -> dict[Version, frozenset[str]]:
    return {release: frozenset(names) for release, names in _fields().items()}


@cache
def _text(name: str) -> str:
    return (_DATA / name).read_text(encoding="utf-8")


def _constant(node: ast.expr) -> object:
    """The value of a literal or of a product of literals, as sizes are written in source; ValueError for all else."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        left, right = _constant(node.left), _constant(node.right)
        if isinstance(left, int) and isinstance(right, int):
            return left * right
        raise ValueError("no constant")
    value: object = ast.literal_eval(node)
    return value
