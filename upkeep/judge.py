"""Holds a release against what is known, and says what went stale."""

from __future__ import annotations

from dataclasses import dataclass

from packaging.version import Version

from upkeep import table
from upkeep.architectures import Treatment
from upkeep.changes import Change, compare
from upkeep.facts import Facts
from upkeep.lines import Template
from upkeep.ours import Ours, likeness
from upkeep.store import NOT_OURS, KnownWording, Store

ALIKE = 0.55
"""From this similarity on a wording is taken for another form of a known kind."""


@dataclass(frozen=True, slots=True)
class NewWording:
    """A message that earlier releases did not print."""

    template: Template
    kind: str | None
    """The extractor that reads it as it is; None when none does."""
    nearest: str
    similarity: float
    instead_of: str = ""
    """The vanished wording of the same function that it most likely replaces."""

    @property
    def example(self) -> str:
        """The message as it can look."""
        return next(self.template.renderings())


@dataclass(frozen=True, slots=True)
class Vanished:
    """A wording that this release no longer prints."""

    known: KnownWording
    kind_lives: bool
    """Whether another wording of the same kind is still printed."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """How the dump differs from the one before."""

    added: tuple[tuple[str, str, str], ...] = ()
    """Name, default, the field before it."""
    gone: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    """Old name, new name: same default and neighbour."""
    defaults: tuple[tuple[str, str, str], ...] = ()
    """Name, default before, default now."""
    reordered: bool = False
    printed: tuple[str, str] | None = None
    """How the dump was and is put into its line, when that changed."""

    @property
    def stale(self) -> bool:
        """Whether the argument table no longer fits."""
        return bool(self.added or self.gone or self.renamed or self.defaults or self.reordered or self.printed)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a release changes for the project."""

    release: Version
    base: Version | None
    """The known release that it was held against."""
    known: bool
    """Whether the release itself was taken in before."""
    read: int
    """Wordings read by an extractor as before."""
    unread: tuple[NewWording, ...]
    """New memory wordings that no extractor reads."""
    readable: tuple[NewWording, ...]
    """New wordings that an extractor reads already."""
    lost: tuple[tuple[Template, str], ...]
    """Wordings that the named kind used to read and now none does."""
    vanished: tuple[Vanished, ...]
    arguments: Arguments
    changes: tuple[Change, ...]
    citations: dict[str, tuple[str, ...]]
    """Function -> places of the project that cite it."""
    models_new: tuple[Treatment, ...]
    models_gone: tuple[Treatment, ...]
    models_unknown: tuple[Treatment, ...]
    """New treatments of models that the project names nowhere."""
    unparsed: tuple[str, ...]

    @property
    def stale(self) -> bool:
        """Whether anything the project stands on changed."""
        return bool(
            self.unread
            or self.readable
            or self.lost
            or self.vanished
            or self.arguments.stale
            or any(change.stale for change in self.changes)
            or self.models_new
            or self.models_gone
        )


def judge(facts: Facts, store: Store, ours: Ours, baseline: Facts | None) -> Verdict:
    """`facts` against the nearest known release; `baseline` are that release's facts, for diffs, where at hand."""
    base = store.base_for(facts.release)
    unread, readable, lost, vanished, read = _lines(facts, store, ours, base)
    changes = _formulas(facts, store, base, baseline)
    before = {t for t, ranges in store.treatments.items() if base is not None and ranges.holds(base)}
    now = set(facts.special)
    return Verdict(
        release=facts.release,
        base=base,
        known=facts.release in store.releases,
        read=read,
        unread=unread,
        readable=readable,
        lost=lost,
        vanished=vanished,
        arguments=_arguments(facts, store, base),
        changes=changes,
        citations={c.name: tuple(map(str, ours.citations(c.name))) for c in changes if c.stale},
        models_new=tuple(sorted(now - before)),
        models_gone=tuple(sorted(before - now)),
        models_unknown=tuple(sorted(t for t in now - before if t.model not in ours.models)),
        unparsed=facts.unparsed,
    )


def matters(template: Template, facts: Facts, kind: str | None) -> bool:
    """Whether a wording is one to keep: an extractor reads it, or it accounts for memory in a module that does."""
    return kind is not None or (template.accounts and template.path in facts.memory_modules)


def _lines(
    facts: Facts, store: Store, ours: Ours, base: Version | None
) -> tuple[tuple[NewWording, ...], tuple[NewWording, ...], tuple[tuple[Template, str], ...], tuple[Vanished, ...], int]:
    expected = {w: k for w, k in store.wordings.items() if base is not None and k.ranges.holds(base)}
    here: dict[str, Template] = {}
    for template in facts.templates:
        here.setdefault(template.key, template)
    gone = {w: k for w, k in expected.items() if w not in here}
    fresh: list[NewWording] = []
    lost: list[tuple[Template, str]] = []
    kinds_here: set[str] = set()
    read = 0
    for wording, template in here.items():
        known = expected.get(wording)
        kind = ours.reads_template(template)
        kinds_here.add(kind or "")
        if known is not None:
            read += kind is not None
            if known.kind != NOT_OURS and kind is None:
                lost.append((template, known.kind))
            continue
        replaced = _replaced(template, gone) if kind is None else ""
        if matters(template, facts, kind) or replaced:
            nearest, similarity = (kind, 1.0) if kind else ours.nearest(next(template.renderings()))
            fresh.append(NewWording(template, kind, nearest, similarity, replaced))
    fresh.sort(key=lambda w: (-w.similarity, w.template.key))
    return (
        tuple(w for w in fresh if w.kind is None),
        tuple(w for w in fresh if w.kind is not None),
        tuple(lost),
        tuple(Vanished(k, k.kind in kinds_here) for k in sorted(gone.values(), key=lambda k: (k.kind, k.wording))),
        read,
    )


def _replaced(template: Template, gone: dict[str, KnownWording]) -> str:
    """The vanished wording of a known kind that `template` rewords, if it is alike enough."""
    best, score = "", ALIKE
    for wording, known in gone.items():
        if known.kind != NOT_OURS:
            alike = likeness(template.key, wording)
            if alike > score:
                best, score = wording, alike
    return best


def _formulas(facts: Facts, store: Store, base: Version | None, baseline: Facts | None) -> tuple[Change, ...]:
    if base is None:
        return ()
    code = {(f.name, f.path, f.digest): f for f in baseline.formula} if baseline else {}
    before = [code.get((f.name, f.path, f.digest), f) for f in store.functions_at(base)]
    return tuple(compare(before, facts.formula))


def _arguments(facts: Facts, store: Store, base: Version | None) -> Arguments:
    if base is None:
        return Arguments()
    was = table.arguments_at(base, store.table or table.FOLDER)
    now = table.as_written(facts.dump)
    old, new = dict(was), dict(now)
    added = [name for name, _ in now if name not in old]
    gone = [name for name, _ in was if name not in new]
    renamed: dict[str, str] = {}
    for name in gone:
        before = _neighbour(was, name)
        place = {before, renamed.get(before, before)}
        twin = next((n for n in added if new[n] == old[name] and _neighbour(now, n) in place), None)
        if twin is not None:
            renamed[name] = twin
            added.remove(twin)
    gone = [name for name in gone if name not in renamed]
    kept = [name for name, _ in was if name in new]
    printed = store.dump.at(base).get("printed", "")
    return Arguments(
        added=tuple((name, new[name], _neighbour(now, name)) for name in added),
        gone=tuple(gone),
        renamed=tuple(renamed.items()),
        defaults=tuple((n, old[n], new[n]) for n in kept if old[n] != new[n]),
        reordered=kept != [name for name, _ in now if name in old],
        printed=(printed, facts.printed) if printed != facts.printed else None,
    )


def _neighbour(fields: list[tuple[str, str]], name: str) -> str:
    names = [n for n, _ in fields]
    at = names.index(name)
    return names[at - 1] if at else ""
