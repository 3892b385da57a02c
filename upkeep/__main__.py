"""`python -m upkeep`: what a release of SGLang changes for this project."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from logaudit.errors import LogauditError
from upkeep import ranges, table
from upkeep.accept import PAGES, accept, reread
from upkeep.facts import Facts, facts_of
from upkeep.judge import judge
from upkeep.ours import Ours
from upkeep.render import checklist, to_json, to_markdown
from upkeep.store import FOLDER, Store
from upkeep.wheels import as_version, cache_folder, cached, fetch, fetch_all, published

OUT = Path("out")


def main(argv: list[str] | None = None) -> int:
    """Exit code: 0 nothing stale (or accepted), 1 something is stale, 2 the release cannot be read."""
    options = _parser().parse_args(argv)
    try:
        return _run(options)
    except LogauditError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return problem.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m upkeep", description=__doc__)
    parser.add_argument(
        "release", nargs="?", default="", help="a release number or a wheel's path; default: the newest"
    )
    parser.add_argument("--all", action="store_true", help="every release since 0.4.0, oldest first, each taken in")
    parser.add_argument("--reread", action="store_true", help="which kind reads each known wording, after new kinds")
    parser.add_argument("--accept", action="store_true", help="write what a program can write, keep the short page")
    parser.add_argument("--cache", type=Path, default=None, help="where wheels are kept (default: the user's cache)")
    parser.add_argument("--out", type=Path, default=OUT, help="folder for the Markdown and the JSON (default: out/)")
    parser.add_argument("--store", type=Path, default=FOLDER, help="folder of the knowledge tables")
    parser.add_argument("--table", type=Path, default=None, help="folder of the argument table")
    parser.add_argument("--pages", type=Path, default=PAGES, help="folder of the pages that are kept")
    return parser


def _run(options: argparse.Namespace) -> int:
    cache = options.cache or cache_folder()
    store, ours = Store(options.store, options.table), Ours()
    if options.all:
        return _take_in_all(list(fetch_all(published(), cache).values()), store, ours, options)
    if options.reread:
        wheels = cached(cache)
        taken = (facts_of(wheels[release]) for release in store.releases if release in wheels)
        _put_ranges(reread(taken, store, ours))
        return 0
    facts = facts_of(_wheel(options.release, cache))
    verdict = judge(facts, store, ours, _baseline(facts, store, cache))
    options.out.mkdir(parents=True, exist_ok=True)
    text = to_markdown(verdict)
    (options.out / f"knowledge-{facts.release}.md").write_text(text, "utf-8")
    (options.out / f"knowledge-{facts.release}.json").write_text(to_json(verdict), "utf-8")
    print(text)
    if options.accept:
        store = accept(facts, verdict, store, ours, tasks=checklist(verdict), pages=options.pages)
        table.put({facts.release: facts.dump}, store.table or table.FOLDER)
        _put_ranges(store)
        return 0
    return int(verdict.stale)


def _take_in_all(wheels: list[Path], store: Store, ours: Ours, options: argparse.Namespace) -> int:
    """Every release, oldest first; the argument table first, since each release is held against the one before."""
    table.put({facts.release: facts.dump for facts in map(facts_of, wheels)}, store.table or table.FOLDER)
    for wheel in wheels:
        facts = facts_of(wheel)
        store = accept(facts, judge(facts, store, ours, None), store, ours, tasks=[], pages=options.pages)
        print(f"{facts.release} taken in", file=sys.stderr)
    _put_ranges(store)
    return 0


def _put_ranges(store: Store) -> None:
    """The samples' release ranges, when the tables are the project's own."""
    if store.folder == FOLDER:
        ranges.apply(ranges.edits(store, table.wording_releases()))
        table.put_wording_releases(store.releases)


def _wheel(asked: str, cache: Path) -> Path:
    if not asked:
        return fetch(published()[-1], cache)
    version = as_version(asked)
    return Path(asked) if version is None else fetch(version, cache)


def _baseline(facts: Facts, store: Store, cache: Path) -> Facts | None:
    """The facts of the release that this one is held against, for the diffs; None when its wheel cannot be had."""
    base = store.base_for(facts.release)
    if base is None:
        return None
    try:
        return facts_of(cached(cache).get(base) or fetch(base, cache))
    except LogauditError as problem:
        print(f"no diffs: {problem}", file=sys.stderr)
        return None


if __name__ == "__main__":
    sys.exit(main())
