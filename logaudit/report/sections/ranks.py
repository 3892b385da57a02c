"""One row for each rank and worker, alike ones folded, with the ledgers of those that differ."""

from __future__ import annotations

from typing import Any

from logaudit.report.blocks import Block, Cell, Column, Fold, Paragraph, Row, Table
from logaudit.report.document import LaunchDoc, RankRow
from logaudit.report.figures import count, gib, number
from logaudit.report.inline import Inline, join, one_line, strong, words
from logaudit.report.ledger_view import dtype_words, fold_alike, ledger_table, pool_words
from logaudit.report.links import Links
from logaudit.report.picture import memory_picture

_READINGS = ("before_load_gib", "after_load_gib")


def rank_blocks(launch: LaunchDoc, links: Links) -> tuple[Block, ...]:
    """One row a rank and worker, alike ranks folded, the deciding minimum marked; ledgers of ranks that differ."""
    if not launch.ranks:
        return ()
    folded = sorted(fold_alike(launch.ranks), key=lambda group: group[0].worker != "target")
    several = len([1 for row, _ in folded if row.worker == "target"]) > 1
    lowest = _lowest([row for row, _ in folded if row.worker == "target"]) if several else {}
    rows = tuple(_rank_row(row, names, lowest) for row, names in folded)
    columns = (
        Column("rank"),
        Column("free before", numeric=True),
        Column("weights", numeric=True),
        Column("free after", numeric=True),
        Column("KV tokens", numeric=True),
        Column("KV", numeric=True),
        Column("dtype", wide_only=True),
        Column("after pools", numeric=True),
        Column("graphs", numeric=True),
        Column("final", numeric=True),
    )
    blocks: list[Block] = [Table("Ranks and workers, in GiB", columns, rows, "ranks")]
    if lowest:
        blocks.append(
            Paragraph(words("“lowest” marks the smallest reading of all ranks: it decides the size on every rank."))
        )
    pools = [(names, row) for row, names in folded if pool_words(row)]
    blocks.extend(
        Paragraph(join((words(f"{_worker(row)} {names}: "), pool_words(row)), ""), bullet=True) for names, row in pools
    )
    blocks.extend(_per_replica(launch))
    others = launch.ledger[1:]
    if others:
        inner: list[Block] = []
        for index, row in enumerate(others, 1):
            picture = memory_picture(launch, row, f"{links.prefix}-memory-{index}", small=True)
            if picture:
                inner.append(picture)
            inner.append(ledger_table(launch, row, links))
        blocks.append(Fold(f"Ledgers of the other ranks ({len(others)})", tuple(inner)))
    return tuple(blocks)


def _lowest(rows: list[RankRow]) -> dict[str, float]:
    lowest: dict[str, float] = {}
    for name in _READINGS:
        known = [value for row in rows if (value := getattr(row, name)) is not None]
        if len(set(known)) > 1:
            lowest[name] = min(known)
    return lowest


def _rank_row(row: RankRow, names: str, lowest: dict[str, float]) -> Row:
    def reading(name: str) -> Cell:
        value: float | None = getattr(row, name)
        marked = row.worker == "target" and name in lowest and value == lowest[name]
        return Cell(words(_or_dash(value)), small=strong("lowest") if marked else ())

    return Row(
        (
            Cell(words(names), small=words(_worker(row))),
            reading("before_load_gib"),
            Cell(words(_or_dash(row.weights_gib))),
            reading("after_load_gib"),
            Cell(words(count(row.kv_tokens) if row.kv_tokens is not None else "–")),
            Cell(words(_or_dash(row.kv_gib)), small=_key_value(row)),
            Cell(dtype_words(row)),
            Cell(words(_or_dash(row.pool_end_gib))),
            Cell(words(_or_dash(row.graphs_gib))),
            Cell(words(_or_dash(row.final_gib))),
        )
    )


def _or_dash(value: float | None) -> str:
    return gib(value) if value is not None else "–"


def _key_value(row: RankRow) -> Inline:
    if row.k_gib is None or row.v_gib is None:
        return ()
    return words(f"K {gib(row.k_gib)} V {gib(row.v_gib)}")


def _worker(row: RankRow) -> str:
    if row.worker != "draft":
        return one_line(row.worker)
    return "draft" if not row.draft_index else f"draft {row.draft_index}"


def _per_replica(launch: LaunchDoc) -> list[Block]:
    """The capacity values that differ between replicas or stages, as the document lists them."""
    capacity = launch.capacity
    blocks: list[Block] = []
    if capacity.replicas and capacity.replicas > 1 and capacity.total_tokens is not None:
        blocks.append(
            Paragraph(words(f"{capacity.replicas} replicas hold {count(capacity.total_tokens)} tokens together."))
        )
    if capacity.per_rank:
        names = list(dict.fromkeys(name for entry in capacity.per_rank for name in entry))
        rows = tuple(Row(tuple(Cell(words(_value(entry.get(name)))) for name in names)) for entry in capacity.per_rank)
        columns = tuple(
            Column(one_line(name), numeric=all(_is_number(entry.get(name)) for entry in capacity.per_rank))
            for name in names
        )
        blocks.append(Table("Capacity where ranks or replicas differ", columns, rows, "per-rank"))
    return blocks


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


def _value(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return count(value)
    if isinstance(value, float):
        return number(value)
    if isinstance(value, dict):
        return " ".join(f"{key.upper()}{entry}" for key, entry in value.items() if entry is not None) or "–"
    return str(value)
