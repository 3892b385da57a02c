"""Draws a GPU's memory as one bar and the start as steps, in SVG that needs no script and keeps its type size."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup, escape

from logaudit.report.blocks import Figure
from logaudit.report.document import LaunchDoc, LedgerRow
from logaudit.report.figures import gib, rank_name
from logaudit.report.inline import clip, one_line
from logaudit.report.ledger_view import Part, before_load, parts

_CHARACTER_PX = 7.2
"""Width of an average character of a label, in CSS pixels; generous, so that no label overflows its part."""
_STEPS_PX = (240, 320, 400, 520, 640, 760, 900, 1040)
"""Widths of the picture for which the style sheet can hide a label."""


@dataclass(frozen=True, slots=True)
class _Placed:
    part: Part
    start: float
    """Percent of the bar's width."""
    width: float


def memory_picture(launch: LaunchDoc, row: LedgerRow, name: str, *, small: bool = False) -> Figure | None:
    """The bar of one rank; None when there is nothing to draw to scale.

    What was given back between two readings has no place on a bar: it makes the parts longer than what was free at
    first, and a tick shows where that ends.
    """
    total = before_load(launch, row)
    items = parts(row)
    whole = max(total, sum(item.gib for item in items if item.gib > 0))
    if total <= 0 or not any(item.gib > 0 for item in items):
        return None
    placed = _place(items, whole)
    who = rank_name(row.rank)
    title = f"Memory of {'the GPU' if who == 'GPU' else who}: {gib(total)} GiB free before loading"
    described = "; ".join(f"{item.letter} {item.label} {gib(item.gib)} GiB" for item in items)
    reserve = None if small else _reserve(launch, total)
    naive = None if small else _naive(launch, placed, whole)
    top, tall = (_TOP if reserve else 4), (30 if small else 44)
    height = top + tall + 4
    pieces = [_bar(placed, top=top, height=tall)]
    if reserve:
        pieces.append(_bracket(reserve, total, whole))
        described += f"; the reserve that is kept out of the KV cache is {gib(reserve)} GiB"
    if naive:
        pieces.append(_dashed(naive[0], naive[1], top=top, bottom=height))
        height += 20
        described += f"; {naive[1][0]}"
    pieces.append(_axis(total, whole, height))
    height += 20
    svg = _svg(name, title, described + ".", height, "".join(pieces), "bar small" if small else "bar")
    caption = "One GPU's memory, in the order of the ledger; the letters are those of its rows."
    if whole > total * 1.001:
        caption += " What was given back between two readings is not drawn."
    return Figure(svg, title if small else caption, small)


_TOP = 34


def _place(items: list[Part], whole: float) -> list[_Placed]:
    placed: list[_Placed] = []
    start = 0.0
    for item in items:
        width = max(item.gib, 0.0) / whole * 100
        placed.append(_Placed(item, start, width))
        start += width
    return placed


def _reserve(launch: LaunchDoc, total: float) -> float | None:
    """The reserve in GiB: the formula's own term, or the fraction's complement of what was free before loading."""
    if launch.expected:
        for term in launch.expected.terms:
            if "reserve" in term.name.lower() and term.gib is not None and 0 < term.gib.value < total:
                return term.gib.value
    if launch.mem_fraction_static and 0 < launch.mem_fraction_static.value < 1:
        return total * (1 - launch.mem_fraction_static.value)
    return None


def _naive(launch: LaunchDoc, placed: list[_Placed], whole: float) -> tuple[float, list[str]] | None:
    """Where the KV cache would end by the first naive sum (percent), and the words for it, from long to short."""
    cache = next((one for one in placed if one.part.css == "kv"), None)
    if not launch.naive or cache is None:
        return None
    first = launch.naive[0]
    end = cache.start + first.gib / whole * 100
    if end <= cache.start:
        return None
    belief = clip(one_line(first.belief).replace("`", ""), 60)
    size = f"{gib(first.gib)} GiB"
    return min(end, 100.0), [
        f"{belief}: the cache would be {size} and end here",
        f"{belief}: {size}",
        f"expected: {size}",
    ]


def _bar(placed: list[_Placed], *, top: float, height: float) -> str:
    out = []
    for one in placed:
        if one.width <= 0:
            continue
        label = f"{one.part.label} {gib(one.part.gib)}"
        box = f'x="{one.start:.3f}%" y="{top}" width="{one.width:.3f}%" height="{height}"'
        out.append(f'<rect class="part {one.part.css}" {box}/>')
        middle = f'x="{one.start + one.width / 2:.3f}%" text-anchor="middle"'
        out.extend(_labels(one, label, middle, top + height / 2 + 4.5))
    out.append(f'<rect class="frame" x="0" y="{top}" width="100%" height="{height}"/>')
    return "".join(out)


def _labels(one: _Placed, label: str, place: str, y: float) -> list[str]:
    choices = [f"{one.part.letter} · {label}", f"{one.part.letter} {gib(one.part.gib)}", one.part.letter]
    return _fitting(choices, one.width / 100, "label", f'{place} y="{y:.1f}"')


def _fitting(choices: list[str], share: float, css: str, place: str) -> list[str]:
    """The first of the texts that fits into `share` of the picture, for each width that the style sheet knows."""
    out: list[str] = []
    upper = 0
    for text in choices:
        needed = (len(text) * _CHARACTER_PX + 8) / share if share else float("inf")
        step = next((step for step in _STEPS_PX if step >= needed), None)
        if step is None or step == upper:
            continue
        classes = f"{css} from-{step}" + (f" below-{upper}" if upper else "")
        out.append(f'<text class="{classes}" {place}>{escape(text)}</text>')
        if step == _STEPS_PX[0]:
            break
        upper = step
    return out


def _bracket(reserve: float, total: float, whole: float) -> str:
    end = total / whole * 100
    start = max(0.0, (total - reserve) / whole * 100)
    text = f"reserve {gib(reserve)} GiB = {reserve / total * 100:.3g} % of {gib(total)}"
    place, anchor = (end, "end") if end > 50 else (start, "start")
    return (
        f'<line class="bracket" x1="{start:.3f}%" y1="26" x2="{end:.3f}%" y2="26"/>'
        f'<line class="bracket" x1="{start:.3f}%" y1="22" x2="{start:.3f}%" y2="{_TOP}"/>'
        f'<line class="bracket" x1="{min(end, 99.95):.3f}%" y1="22" x2="{min(end, 99.95):.3f}%" y2="{_TOP}"/>'
        f'<text class="note" x="{place:.3f}%" y="15" text-anchor="{anchor}">{escape(text)}</text>'
    )


def _dashed(at: float, texts: list[str], *, top: float, bottom: float) -> str:
    anchor, room = ("end", at) if at > 50 else ("start", 100 - at)
    place = f'x="{at:.3f}%" y="{bottom + 14}" text-anchor="{anchor}"'
    line = f'<line class="naive" x1="{at:.3f}%" y1="{top - 6}" x2="{at:.3f}%" y2="{bottom + 4}"/>'
    return line + "".join(_fitting(texts, room / 100, "note naive-note", place))


def _axis(total: float, whole: float, y: float) -> str:
    end = total / whole * 100
    return (
        f'<text class="axis" x="0" y="{y + 12}">0</text>'
        f'<line class="bracket" x1="{min(end, 99.95):.3f}%" y1="{y - 3}" x2="{min(end, 99.95):.3f}%" y2="{y + 2}"/>'
        f'<text class="axis" x="{end:.3f}%" y="{y + 12}" text-anchor="{"end" if end > 50 else "start"}">'
        f"{gib(total)} GiB free before loading</text>"
    )


def _svg(name: str, title: str, described: str, height: float, body: str, kind: str) -> Markup:
    return Markup(  # noqa: S704 - numbers of ours, every text escaped
        f'<svg class="{kind}" role="img" aria-labelledby="{name}-t {name}-d" width="100%" height="{height:.0f}" '
        f'xmlns="http://www.w3.org/2000/svg"><title id="{name}-t">{escape(title)}</title>'
        f'<desc id="{name}-d">{escape(described)}</desc>{body}</svg>'
    )


def timeline_picture(launch: LaunchDoc, name: str) -> Figure | None:
    """Free memory as a step for each reading; None with fewer than three readings."""
    steps = launch.timeline
    if len(steps) < 3 or len(steps) > 80:
        return None
    top = max(step.free_gib for step in steps)
    if top <= 0:
        return None
    height = 150.0
    base = height - 6

    def level(free: float) -> float:
        return 10 + (1 - max(free, 0.0) / top) * (base - 10)

    width = 100 / len(steps)
    out = [f'<line class="grid" x1="0" y1="{base:.1f}" x2="100%" y2="{base:.1f}"/>']
    for index, step in enumerate(steps):
        left, y = index * width, level(step.free_gib)
        box = f'x="{left:.3f}%" y="{y:.1f}" width="{width:.3f}%" height="{base - y:.1f}"'
        out.append(f'<rect class="free" {box}/>')
        out.append(f'<line class="step" x1="{left:.3f}%" y1="{y:.1f}" x2="{left + width:.3f}%" y2="{y:.1f}"/>')
        if index:
            before = level(steps[index - 1].free_gib)
            out.append(f'<line class="step" x1="{left:.3f}%" y1="{before:.1f}" x2="{left:.3f}%" y2="{y:.1f}"/>')
        if len(steps) <= 24:
            need = next((px for px in _STEPS_PX if px >= 44 * len(steps)), _STEPS_PX[-1])
            above = y - 4 if y > 24 else y + 14
            out.append(
                f'<text class="label from-{need}" x="{left + width / 2:.3f}%" y="{above:.1f}" '
                f'text-anchor="middle">{gib(step.free_gib)}</text>'
            )
    described = "; ".join(f"{clip(one_line(step.what), 60)}: {gib(step.free_gib)} GiB free" for step in steps)
    title = f"Free memory at {len(steps)} readings, from {gib(steps[0].free_gib)} to {gib(steps[-1].free_gib)} GiB"
    svg = _svg(name, title, described + ".", height, "".join(out), "steps")
    return Figure(svg, "Free memory at each reading of the table below, left to right.")
