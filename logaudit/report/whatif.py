"""A what-if answer in its JSON form and as text."""

from __future__ import annotations

from typing import Any

import msgspec

from logaudit.interval import Interval
from logaudit.reconcile.case import Case
from logaudit.reconcile.whatif import Figures, WhatIf
from logaudit.report.build import bounds, term_row
from logaudit.report.document import Bounds, TermRow


class FiguresDoc(msgspec.Struct, frozen=True):
    """Capacity under one set of arguments."""

    tokens: Bounds | None
    swa_tokens: Bounds | None
    max_running_requests: int | None
    headroom_gib: Bounds | None
    terms: list[TermRow]


class WhatIfDoc(msgspec.Struct, frozen=True):
    """What `logaudit whatif --format json` prints."""

    whatif: FiguresDoc
    today: FiguresDoc
    assumptions: list[str]
    changes: dict[str, Any]
    missing: list[str]
    launch: int


def _figures(figures: Figures) -> FiguresDoc:
    return FiguresDoc(
        bounds(figures.tokens),
        bounds(figures.swa_tokens),
        figures.max_running_requests,
        bounds(figures.headroom_gib),
        [term_row(term) for term in figures.terms],
    )


def whatif_document(case: Case, answer: WhatIf) -> WhatIfDoc:
    """The answer in its JSON form."""
    return WhatIfDoc(
        whatif=_figures(answer.changed),
        today=_figures(answer.today),
        assumptions=list(answer.assumptions),
        changes=dict(answer.changes),
        missing=list(answer.missing),
        launch=case.launch.index,
    )


def _count(value: Interval | None) -> str:
    if value is None:
        return "unknown"
    if value.width == 0:
        return f"{value.value:,.0f}"
    return f"{value.value:,.0f} ({value.low:,.0f} to {value.high:,.0f})"


def _gib(value: Interval | None) -> str:
    return "unknown" if value is None else f"{value.value:.2f} GiB"


def _number(value: int | None) -> str:
    return "unknown" if value is None else f"{value:,}"


def whatif_text(answer: WhatIf) -> str:
    """The answer as plain text: today beside the change, then what was assumed."""
    changed = ", ".join(f"{name} = {value}" for name, value in answer.changes.items()) or "nothing"
    lines = [f"Changed: {changed}", ""]
    if answer.missing:
        lines.append(f"Cannot be computed: {'; '.join(answer.missing)}")
    else:
        rows = [
            ("", "today", "with the change"),
            ("tokens", _count(answer.today.tokens), _count(answer.changed.tokens)),
            (
                "requests at once",
                _number(answer.today.max_running_requests),
                _number(answer.changed.max_running_requests),
            ),
            ("left at the end", _gib(answer.today.headroom_gib), _gib(answer.changed.headroom_gib)),
        ]
        if answer.changed.swa_tokens is not None:
            rows.insert(2, ("window tokens", _count(answer.today.swa_tokens), _count(answer.changed.swa_tokens)))
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        lines += [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
        ]
    if answer.assumptions:
        lines += ["", "Assumed:"] + [f"- {text}" for text in answer.assumptions]
    return "\n".join(lines) + "\n"
