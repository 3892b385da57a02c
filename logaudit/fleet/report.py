"""The report on a fleet: how many tokens where, what falls out of line and why, what crashed, what is wasted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import msgspec

from logaudit import __version__
from logaudit.fleet import questions as ask
from logaudit.fleet.questions import Fewer, Group, Start
from logaudit.report.blocks import Block, Cell, Column, Paragraph, Row, Section, Table, Tone
from logaudit.report.figures import count, gib
from logaudit.report.inline import Inline, clip, code, one_line, words
from logaudit.report.page import PageView, render_page
from logaudit.report.render import safe_in_a_terminal

MOST_ROWS = 50
"""Rows of one table; the dataset has all."""
_FLAGS_TOLD = (
    "mem_fraction_static",
    "max_total_tokens",
    "max_running_requests",
    "context_length",
    "page_size",
    "chunked_prefill_size",
    "speculative_algorithm",
    "speculative_num_draft_tokens",
    "swa_full_tokens_ratio",
    "mamba_full_memory_ratio",
    "max_mamba_cache_size",
    "disable_radix_cache",
    "enable_dp_attention",
    "enable_hierarchical_cache",
    "disable_cuda_graph",
)
"""Flags of a configuration that a table has room for; the dataset has all."""


def render_fleet(frame: Any, chosen: str) -> str:
    """The report on the rows of a fleet's dataset (a pandas frame): `html`, `md`, `text` or `json`."""
    rows = plain(frame)
    answers = answers_of(rows)
    if chosen == "json":
        return safe_in_a_terminal(msgspec.json.format(msgspec.json.encode(answers), indent=2).decode()) + "\n"
    data = msgspec.json.encode(answers).decode()
    return render_page(fleet_view(rows), chosen, __version__, data=data)


def plain(frame: Any) -> list[dict[str, Any]]:
    """Rows of a frame as dicts with None for missing values."""
    return [{name: _plain(value) for name, value in row.items()} for row in frame.astype(object).to_dict("records")]


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist") and not isinstance(value, str):
        value = value.tolist()
    if value is None or isinstance(value, str | list | bool | int):
        return value
    return None if not isinstance(value, float) or math.isnan(value) else value


def answers_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The answers as data: what the HTML carries and the JSON is."""
    starts = ask.starts_of(rows)
    groups = ask.groups_of(starts)
    return {
        "schema_version": 1,
        "logaudit_version": __version__,
        "logs": len({row["source"] for row in rows}),
        "starts": len(starts),
        "groups": [
            {
                **group.configuration,
                "starts": len(group.starts),
                "tokens": _spread(group.values("tokens")),
                "headroom_gib": _spread(group.values("headroom_gib")),
                "flags": group.flags,
            }
            for group in groups
        ],
        "fewer_tokens": [
            {
                "start": fewer.start.name,
                "tokens": fewer.start["tokens"],
                "others": fewer.others_tokens,
                "causes": [{"cause": cause, "tokens": tokens} for cause, tokens in fewer.causes],
            }
            for fewer in ask.holding_fewer(groups)
        ],
        "crashed": [
            {"kind": kind, "phase": phase, "starts": [start.name for start in members]}
            for kind, phase, members in ask.crashes(starts)
        ],
        "running_out": [
            {"start": start.name, "headroom_gib": start["headroom_gib"]} for start in ask.running_out(starts)
        ],
        "wasted": [
            {"start": waste.start.name, "gib_per_rank": waste.gib, "ranks": waste.start.ranks, "tokens": waste.tokens}
            for waste in ask.wasted(starts)
        ],
        "drift": [
            {
                "host": drift.host,
                "first": drift.first.name,
                "last": drift.last.name,
                "starts": drift.starts,
                "free_before_loading_gib": drift.before_gib,
                "tokens": drift.tokens,
                "headroom_gib": drift.headroom_gib,
            }
            for drift in ask.drifts(groups)
        ],
        "unread": [{"source": row["source"], "error": row["error"]} for row in rows if row.get("error")],
    }


def _spread(values: Sequence[float]) -> dict[str, float] | None:
    return {"lowest": min(values), "median": median(values), "highest": max(values)} if values else None


def fleet_view(rows: Sequence[Mapping[str, Any]]) -> PageView:
    """The report as a page, worst news first."""
    starts = ask.starts_of(rows)
    groups = ask.groups_of(starts)
    crashed, fewer = ask.crashes(starts), ask.holding_fewer(groups)
    scarce, waste = ask.running_out(starts), ask.wasted(starts)
    unread = [row for row in rows if row.get("error")]
    logs = len({row["source"] for row in rows})
    broken = sum(len(members) for _, _, members in crashed)
    sections = (
        _crash_section(crashed),
        _scarce_section(scarce),
        _fewer_section(fewer),
        _waste_section(waste),
        _drift_section(ask.drifts(groups)),
        _group_section(groups),
        _unread_section(unread),
    )
    tone: Tone = "bad" if broken else "warning" if scarce or fewer or unread else "good"
    ready = sum(start["outcome"] in ("ready", "initialised") for start in starts)
    sentences = [f"{ready:,} starts came up, {broken:,} crashed; {len(unread):,} logs could not be read."]
    if fewer:
        lost = sum(one.others_tokens - float(one.start["tokens"]) for one in fewer)
        sentences.append(
            f"{len(fewer):,} starts hold fewer tokens than others of their configuration: {count(lost)} tokens in all."
        )
    if waste:
        total = sum(one.gib * one.start.ranks for one in waste)
        sentences.append(
            f"{len(waste):,} servers leave {gib(total)} GiB free that their release would use, over all their ranks."
        )
    return PageView(
        kind="fleet report",
        title=f"{logs:,} logs, {len(starts):,} starts",
        tone=tone,
        verdict=words(f"{len(starts):,} starts of {len(groups):,} configurations in {logs:,} logs"),
        sentences=tuple(words(text) for text in sentences),
        sections=tuple(section for section in sections if section is not None),
    )


def _table(caption: str, columns: Sequence[Column], rows: Sequence[Sequence[Inline]]) -> tuple[Block, ...]:
    shown = tuple(Row(tuple(Cell(cell) for cell in row)) for row in rows[:MOST_ROWS])
    blocks: tuple[Block, ...] = (Table(caption, tuple(columns), shown),)
    if len(rows) > MOST_ROWS:
        rest = f"{len(rows) - MOST_ROWS:,} more are in the dataset."
        blocks += (Paragraph(words(rest), small=True),)
    return blocks


def _signed(value: float | None, show: Any = count) -> Inline:
    if value is None:
        return words("–")
    return words(f"+{show(value)}" if value > 0 else show(value))


def _crash_section(found: Sequence[tuple[str, str, list[Start]]]) -> Section | None:
    if not found:
        return None
    columns = (Column("reason"), Column("while"), Column("starts", numeric=True), Column("one of them"), Column("said"))
    rows = [
        (
            words(kind.replace("_", " ")),
            words(phase),
            words(count(len(members))),
            code(clip(members[0].name, 120)),
            words(clip(one_line(members[0]["failure_text"] or ""), 160)),
        )
        for kind, phase, members in found
    ]
    return Section("crashed", "Starts that crashed", _table("Crashed starts by reason", columns, rows))


def _scarce_section(found: Sequence[Start]) -> Section | None:
    if not found:
        return None
    columns = (
        Column("start"),
        Column("host"),
        Column("GiB left", numeric=True),
        Column("GiB the release keeps", numeric=True),
    )
    rows = [
        (
            code(clip(start.name, 160)),
            words(start["host"] or ""),
            words(gib(start["headroom_gib"])),
            words("–" if start["reserve_rule_gib"] is None else gib(start["reserve_rule_gib"])),
        )
        for start in found
    ]
    return Section("running-out", "Close to running out", _table("Servers with little left", columns, rows))


def _fewer_section(found: Sequence[Fewer]) -> Section | None:
    if not found:
        return None
    columns = (Column("start"), Column("tokens", numeric=True), Column("others", numeric=True), Column("because"))
    rows = [
        (
            code(clip(fewer.start.name, 160)),
            words(count(fewer.start["tokens"])),
            words(count(fewer.others_tokens)),
            words("; ".join(_cause(*cause) for cause in fewer.causes) or "nothing that the log shows"),
        )
        for fewer in found
    ]
    caption = "Starts that hold fewer tokens than others of their configuration"
    return Section("fewer", "Fewer tokens than their like", _table(caption, columns, rows))


def _cause(text: str, tokens: float | None) -> str:
    return text if tokens is None else f"{text} ({count(tokens)} tokens)"


def _waste_section(found: Sequence[ask.Waste]) -> Section | None:
    if not found:
        return None
    columns = (
        Column("start"),
        Column("GiB left", numeric=True),
        Column("GiB the release keeps", numeric=True),
        Column("GiB to use, a rank", numeric=True),
        Column("ranks", numeric=True),
        Column("tokens to gain", numeric=True),
    )
    rows = [
        (
            code(clip(waste.start.name, 160)),
            words(gib(waste.start["headroom_gib"])),
            words(gib(waste.start["reserve_rule_gib"])),
            words(gib(waste.gib)),
            words(count(waste.start.ranks)),
            words("–" if waste.tokens is None else count(waste.tokens)),
        )
        for waste in found
    ]
    caption = "Headroom well above the reserve that the release's own rule keeps"
    return Section("wasted", "Wasted memory", _table(caption, columns, rows))


def _drift_section(found: Sequence[ask.Drift]) -> Section | None:
    if not found:
        return None
    columns = (
        Column("host"),
        Column("first start"),
        Column("last start"),
        Column("starts", numeric=True),
        Column("free before loading, GiB", numeric=True),
        Column("tokens", numeric=True),
        Column("left at the end, GiB", numeric=True),
    )
    rows = [
        (
            words(drift.host),
            words(str(drift.first["started_at"])),
            words(str(drift.last["started_at"])),
            words(count(drift.starts)),
            _signed(drift.before_gib, gib),
            _signed(drift.tokens),
            _signed(drift.headroom_gib, gib),
        )
        for drift in found
    ]
    caption = "What changed from the first start of a configuration on a host to its last"
    return Section("drift", "Drift over time", _table(caption, columns, rows))


def _group_section(groups: Sequence[Group]) -> Section | None:
    if not groups:
        return None
    columns = (
        Column("model"),
        Column("hardware"),
        Column("SGLang"),
        Column("flags in common"),
        Column("starts", numeric=True),
        Column("tokens", numeric=True),
        Column("GiB left", numeric=True),
    )
    rows = [
        (
            code(clip(str(group.configuration["model_path"] or group.starts[0]["architecture"] or "unknown"), 80)),
            words(_hardware(group)),
            words(_release(group)),
            code(_flags(group)),
            words(count(len(group.starts))),
            words(_range(group.values("tokens"), count)),
            words(_range(group.values("headroom_gib"), gib)),
        )
        for group in groups
    ]
    caption = "Tokens and headroom by model, hardware, release and flags: median, lowest to highest"
    return Section("groups", "Capacity by configuration", _table(caption, columns, rows))


def _hardware(group: Group) -> str:
    card, device = group.configuration["card_gib"], group.configuration["device"] or ""
    tp, pp = group.configuration["tp_size"] or 1, group.configuration["pp_size"] or 1
    size = "" if card is None else f" of about {card:.0f} GiB"
    return f"{tp * pp} × {device}{size}"


def _release(group: Group) -> str:
    low, high = group.configuration["sglang_low"], group.configuration["sglang_high"]
    if low == high:
        return low or "unknown"
    return f"{low or '…'} to {high or '…'}"


def _flags(group: Group) -> str:
    told = [(name, group.flags[name]) for name in _FLAGS_TOLD if name in group.flags]
    shown = (f"--{name.replace('_', '-')}" + ("" if value is True else f" {one_line(value)}") for name, value in told)
    return clip(" ".join(shown), 200)


def _range(values: Sequence[float], show: Any) -> str:
    if not values:
        return "–"
    low, middle, high = min(values), median(values), max(values)
    return show(middle) if show(low) == show(high) else f"{show(middle)} ({show(low)} to {show(high)})"


def _unread_section(found: Sequence[Mapping[str, Any]]) -> Section | None:
    if not found:
        return None
    rows = [(code(clip(str(row["source"]), 160)), words(clip(one_line(row["error"]), 300))) for row in found]
    columns = (Column("log"), Column("why"))
    return Section("unread", "Logs that could not be read", _table("Logs that could not be read", columns, rows))
