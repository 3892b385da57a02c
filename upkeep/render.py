"""A verdict as Markdown for a reader, as JSON for a program, and as the short page that is kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from upkeep.changes import Change
from upkeep.judge import NewWording, Verdict

NEAR = 0.35
"""Below this similarity no known kind is called near."""
KEPT_ROWS = 25
"""Most rows of one list on the page that is kept."""


def to_json(verdict: Verdict) -> str:
    """The verdict as JSON text."""
    return msgspec.json.format(msgspec.json.encode(as_dict(verdict)), indent=2).decode()


def as_dict(verdict: Verdict) -> dict[str, Any]:
    """The verdict as plain values."""
    arguments = verdict.arguments
    return {
        "release": str(verdict.release),
        "held_against": str(verdict.base) if verdict.base else None,
        "known": verdict.known,
        "stale": verdict.stale,
        "lines": {
            "read": verdict.read,
            "unread": [_wording(w) for w in verdict.unread],
            "readable": [_wording(w) for w in verdict.readable],
            "lost": [{"wording": t.shown, "kind": kind, "place": t.place} for t, kind in verdict.lost],
            "vanished": [
                {"wording": v.known.wording, "kind": v.known.kind, "kind_still_printed": v.kind_lives}
                for v in verdict.vanished
            ],
        },
        "arguments": {
            "added": [{"name": n, "default": d, "after": b} for n, d, b in arguments.added],
            "gone": list(arguments.gone),
            "renamed": [{"from": old, "to": new} for old, new in arguments.renamed],
            "defaults": [{"name": n, "from": old, "to": new} for n, old, new in arguments.defaults],
            "reordered": arguments.reordered,
            "printed": {"from": arguments.printed[0], "to": arguments.printed[1]} if arguments.printed else None,
        },
        "formulas": [
            {
                "change": c.kind,
                "function": c.name,
                "path": (c.now or c.was).path,  # type: ignore[union-attr]
                "cited_by": list(verdict.citations.get(c.name, ())),
                "diff": c.diff() if c.stale else "",
            }
            for c in verdict.changes
        ],
        "architectures": {
            "new": [{"trait": t.trait, "model": t.model} for t in verdict.models_new],
            "gone": [{"trait": t.trait, "model": t.model} for t in verdict.models_gone],
            "not_named_by_us": [{"trait": t.trait, "model": t.model} for t in verdict.models_unknown],
        },
        "unparsed": list(verdict.unparsed),
    }


def to_markdown(verdict: Verdict, *, diffs: bool = True) -> str:
    """The whole report for a reader; `diffs` adds the normalised code of what changed."""
    return "\n".join(_report(verdict, diffs)) + "\n"


def checklist(verdict: Verdict) -> list[str]:
    """What a program cannot write, one task a line."""
    tasks = [f"Nothing reads `{w.example}` ({w.template.place}); nearest kind: {_near(w)}." for w in verdict.unread]
    tasks += [f"`{kind}` no longer reads `{t.shown}` ({t.place})." for t, kind in verdict.lost]
    tasks += [f"Kind `{v.known.kind}` is printed no more: end its range." for v in verdict.vanished if _ends_kind(v)]
    for change in verdict.changes:
        cited = verdict.citations.get(change.name, ())
        if change.stale and cited:
            tasks.append(f"`{change.name}` {change.kind}: see {', '.join(cited)}.")
    tasks += [f"Name `{t.model}` ({t.trait})." for t in verdict.models_unknown]
    if verdict.arguments.printed:
        tasks.append("The dump is put into its line in another way: see that it still parses.")
    return tasks


def kept_page(verdict: Verdict, tasks: list[str]) -> str:
    """The short page for `docs/knowledge/`: what changed, without code, and the tasks left."""
    arguments = verdict.arguments
    lines = [f"# {verdict.release}", ""]
    if verdict.base is None:
        return "\n".join([*lines, "The first release taken in.", ""])
    lines += [f"Held against {verdict.base}. {'Changes:' if verdict.stale else 'Nothing that matters changed.'}", ""]
    if verdict.readable or verdict.unread or verdict.vanished:
        lines.append(
            f"- Wordings: {verdict.read} read as before, {len(verdict.readable)} new and read, "
            f"{len(verdict.unread)} new and unread, {len(verdict.vanished)} gone."
        )
    for label, names in (
        ("added", [f"`{n}` = {d}" for n, d, _ in arguments.added]),
        ("gone", [f"`{n}`" for n in arguments.gone]),
        ("renamed", [f"`{a}` to `{b}`" for a, b in arguments.renamed]),
        ("default changed", [f"`{n}` {a} to {b}" for n, a, b in arguments.defaults]),
    ):
        if names:
            lines.append(f"- Arguments {label}: {_some(names)}.")
    if arguments.reordered:
        lines.append("- Arguments in another order.")
    if arguments.printed:
        lines.append(f"- The dump is printed as `{arguments.printed[1]}`.")
    for kind in ("changed", "new", "gone"):
        names = [f"`{c.name}`" for c in verdict.changes if c.kind == kind]
        if names:
            lines.append(f"- Sizing functions {kind}: {_some(names)}.")
    for label, treatments in (("new", verdict.models_new), ("gone", verdict.models_gone)):
        names = [f"`{t.model}` ({t.trait})" for t in treatments]
        if names:
            lines.append(f"- Models {label}: {_some(names)}.")
    if tasks:
        lines += ["", "To do by hand:", "", *(f"- [ ] {task}" for task in tasks[: 2 * KEPT_ROWS])]
        if len(tasks) > 2 * KEPT_ROWS:
            lines.append(f"- [ ] and {len(tasks) - 2 * KEPT_ROWS} more, see the full report.")
    return "\n".join([*lines, ""])


def _report(verdict: Verdict, diffs: bool) -> Iterator[str]:
    yield f"# What SGLang {verdict.release} changes"
    yield ""
    if verdict.base is None:
        yield "Nothing is known yet to hold it against: everything is new."
        return
    against = (
        "what is known of it" if verdict.base == verdict.release else f"{verdict.base}, the newest known before it"
    )
    yield f"Held against {against}. " + ("**Something went stale.**" if verdict.stale else "Nothing went stale.")
    yield from _lines_part(verdict)
    yield from _arguments_part(verdict)
    yield from _formulas_part(verdict, diffs)
    yield from _models_part(verdict)
    if verdict.unparsed:
        yield from ("", f"Not parsed by this Python: {', '.join(verdict.unparsed)}.")
    tasks = checklist(verdict)
    if tasks:
        yield from ("", "## To do by hand", "", *(f"- [ ] {task}" for task in tasks))


def _lines_part(verdict: Verdict) -> Iterator[str]:
    yield from ("", "## Lines", "", f"{verdict.read} wordings are read as before.")
    if verdict.unread:
        yield from ("", f"### New or changed, and no extractor reads them: {len(verdict.unread)}", "")
        for wording in verdict.unread:
            yield f"- `{wording.example}`"
            yield f"  {wording.template.call} at {wording.template.place}; nearest kind {_near(wording)}"
            if wording.instead_of:
                yield f"  in place of `{wording.instead_of}`"
    if verdict.readable:
        yield from ("", f"### New, and read already: {len(verdict.readable)}", "")
        yield from (f"- {w.kind}: `{w.template.key}` ({w.template.place})" for w in verdict.readable)
    if verdict.lost:
        yield from ("", f"### Printed as before, and no longer read: {len(verdict.lost)}", "")
        yield from (f"- {kind}: `{t.shown}` ({t.place})" for t, kind in verdict.lost)
    if verdict.vanished:
        yield from ("", f"### Gone: {len(verdict.vanished)}", "")
        for vanished in verdict.vanished:
            end = "" if not _ends_kind(vanished) else " (the kind's last wording)"
            yield f"- {vanished.known.kind}: `{vanished.known.wording}`{end}"


def _arguments_part(verdict: Verdict) -> Iterator[str]:
    arguments = verdict.arguments
    yield from ("", "## Arguments", "")
    if not arguments.stale:
        yield "As before."
    yield from (f"- added `{name}` = `{default}` after `{before}`" for name, default, before in arguments.added)
    yield from (f"- gone `{name}`" for name in arguments.gone)
    yield from (f"- renamed `{old}` to `{new}`" for old, new in arguments.renamed)
    yield from (f"- default of `{name}`: `{old}` to `{new}`" for name, old, new in arguments.defaults)
    if arguments.reordered:
        yield "- in another order"
    if arguments.printed:
        yield f"- printed as `{arguments.printed[1]}` (was `{arguments.printed[0]}`)"


def _formulas_part(verdict: Verdict, diffs: bool) -> Iterator[str]:
    yield from ("", "## Formulas", "")
    stale = [c for c in verdict.changes if c.stale]
    if not stale:
        yield "No sizing function changed."
    for change in stale:
        cited = verdict.citations.get(change.name, ())
        place = change.now or change.was
        yield f"### `{change.name}` {change.kind} ({place.path if place else ''})"
        yield from ("", f"Cited by: {', '.join(cited) if cited else 'none of our terms'}.", "")
        if diffs:
            yield from _diff(change)
    for change in verdict.changes:
        if not change.stale and change.was and change.now:
            was, now = change.was, change.now
            yield f"- {change.kind}, code the same: `{was.name}` ({was.path}) to `{now.name}` ({now.path})"


def _diff(change: Change) -> Iterator[str]:
    if change.was and not change.was.code:
        yield from ("The code before is not at hand.", "")
    else:
        yield from ("```diff", change.diff(), "```", "")


def _models_part(verdict: Verdict) -> Iterator[str]:
    yield from ("", "## Architectures", "")
    if not verdict.models_new and not verdict.models_gone:
        yield "As before."
    unknown = set(verdict.models_unknown)
    for treatment in verdict.models_new:
        yield f"- new `{treatment.model}`: {treatment.trait}{', not named by us' if treatment in unknown else ''}"
    yield from (f"- gone `{t.model}`: {t.trait}" for t in verdict.models_gone)


def _wording(wording: NewWording) -> dict[str, Any]:
    return {
        "wording": wording.template.shown,
        "example": wording.example,
        "call": wording.template.call,
        "place": wording.template.place,
        "kind": wording.kind,
        "nearest": wording.nearest,
        "similarity": round(wording.similarity, 2),
        "instead_of": wording.instead_of,
    }


def _near(wording: NewWording) -> str:
    near = wording.nearest and wording.similarity >= NEAR
    return f"`{wording.nearest}` ({wording.similarity:.0%})" if near else "none"


def _ends_kind(vanished: Any) -> bool:
    return vanished.known.kind != "-" and not vanished.kind_lives


def _some(names: list[str]) -> str:
    more = f" and {len(names) - KEPT_ROWS} more" if len(names) > KEPT_ROWS else ""
    return ", ".join(names[:KEPT_ROWS]) + more
