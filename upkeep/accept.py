"""Takes a release in: writes what a program can write, and the short page with what it cannot."""

from __future__ import annotations

from collections.abc import Container, Iterable
from pathlib import Path

from packaging.version import Version

from upkeep.architectures import Treatment
from upkeep.facts import Facts
from upkeep.judge import Verdict, matters
from upkeep.ours import Ours
from upkeep.render import kept_page
from upkeep.store import NOT_OURS, KnownWording, Ranges, Store

WORDINGS = "kind, releases, wording"
PAGES = Path(__file__).parent.parent / "docs" / "knowledge"


def accept(facts: Facts, verdict: Verdict, store: Store, ours: Ours, *, tasks: list[str], pages: Path = PAGES) -> Store:
    """Write `facts` into the tables of `store`, and its page with the `tasks` left; returns the store as it is then."""
    release = facts.release
    known = sorted({*store.releases, release})
    following = next((r for r in known if r > release), None)
    store.write("releases.tsv", "release", ([r] for r in known))
    store.write("wordings.tsv", WORDINGS, _wordings(facts, store, ours, known))
    store.write("treatments.tsv", "trait, model, releases", _treatments(facts, store, known))
    functions: dict[str, list[str]] = {}
    for function in facts.formula:
        functions.setdefault(function.name, []).append(f"{function.digest}@{function.path}")
    state = {name: " ".join(sorted(places)) for name, places in functions.items()}
    store.write(
        "functions.tsv",
        "function, from release, digest@path",
        store.functions.with_state(release, state, following).rows(),
    )
    printed = {"printed": facts.printed, "form": facts.form}
    store.write("dump.tsv", "what, from release, how", store.dump.with_state(release, printed, following).rows())
    pages.mkdir(parents=True, exist_ok=True)
    (pages / f"{release}.md").write_text(kept_page(verdict, tasks), "utf-8")
    return Store(store.folder, store.table)


def _wordings(facts: Facts, store: Store, ours: Ours, known: list[Version]) -> list[tuple[str, str, str]]:
    here = _kept(facts, store.wordings, ours)
    rows = []
    for wording in {*here, *store.wordings}:
        was = store.wordings.get(wording, KnownWording(wording, NOT_OURS, Ranges(())))
        present = was.ranges.members(store.releases) - {facts.release}
        if wording in here:
            present.add(facts.release)
        if present:
            rows.append((here.get(wording, was.kind), str(Ranges.of(present, known)), wording))
    return sorted(rows, key=lambda row: (row[0], row[2]))


def reread(taken: Iterable[Facts], store: Store, ours: Ours) -> Store:
    """The table of wordings anew from releases already taken in, oldest first: after a change to the kinds."""
    kinds: dict[str, str] = {}
    present: dict[str, set[Version]] = {}
    for facts in taken:
        here = _kept(facts, kinds, ours)
        kinds |= here
        for wording in here:
            present.setdefault(wording, set()).add(facts.release)
    rows = sorted((kinds[wording], wording) for wording in present)
    table = [(kind, str(Ranges.of(present[wording], store.releases)), wording) for kind, wording in rows]
    store.write("wordings.tsv", WORDINGS, table)
    return Store(store.folder, store.table)


def _kept(facts: Facts, known: Container[str], ours: Ours) -> dict[str, str]:
    """Wording -> kind, of the messages of a release that are known or matter."""
    here: dict[str, str] = {}
    for template in facts.templates:
        kind = ours.reads_template(template)
        if template.key in known or matters(template, facts, kind):
            here[template.key] = kind or here.get(template.key, NOT_OURS)
    return here


def _treatments(facts: Facts, store: Store, known: list[Version]) -> list[tuple[str, str, str]]:
    here = set(facts.special)
    rows: list[tuple[Treatment, str]] = []
    for treatment in {*here, *store.treatments}:
        ranges = store.treatments.get(treatment, Ranges(()))
        present = ranges.members(store.releases) - {facts.release}
        if treatment in here:
            present.add(facts.release)
        if present:
            rows.append((treatment, str(Ranges.of(present, known))))
    return [(t.trait, t.model, ranges) for t, ranges in sorted(rows)]
