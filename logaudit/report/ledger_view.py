"""The ledger of one rank as a table and as the parts of a picture that share letters and colours."""

from __future__ import annotations

from dataclasses import dataclass

from logaudit.report.blocks import Cell, Column, Row, Table
from logaudit.report.document import LaunchDoc, LedgerItem, LedgerRow, RankInfo, RankRow
from logaudit.report.figures import gib, rank_name, rank_names
from logaudit.report.inline import Inline, clip, code, join, one_line, words
from logaudit.report.links import Links

_CLASSES = (
    ("left", ("free at the end", "left at the end", "still free", "final")),
    ("rest", ("not accounted", "unaccounted", "unexplained", "between two readings", "no line explains")),
    ("draft-kv", ("draft kv", "draft k", "draft pool")),
    ("draft-weights", ("draft weight", "draft model")),
    ("graphs", ("graph",)),
    ("state", ("mamba", "state", "linear attention", "conv")),
    ("weights", ("weight",)),
    ("kv", ("kv", "cache", "pool", "swa", "tokens")),
)

_KNOWN = frozenset(css for css, _ in _CLASSES) | {"other"}


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a GPU's memory in the picture."""

    label: str
    letter: str
    css: str
    gib: float


def part_class(item: LedgerItem) -> str:
    """Which colour a ledger item has: by its kind where the ledger gives one, else by its words."""
    if item.kind in _KNOWN:
        return item.kind
    name = item.item.lower()
    for css, marks in _CLASSES:
        if any(mark in name for mark in marks):
            return css
    return "other"


def parts(row: LedgerRow) -> list[Part]:
    """The items of a ledger as parts, lettered in order."""
    return [
        Part(one_line(item.item), letter(index), part_class(item), item.gib.value)
        for index, item in enumerate(row.items)
    ]


def letter(index: int) -> str:
    """`A` to `Z`, then `AA` …"""
    return chr(65 + index) if index < 26 else letter(index // 26 - 1) + letter(index % 26)


def before_load(launch: LaunchDoc, row: LedgerRow) -> float:
    """What was free before loading on that rank: as printed, or what the items add up to."""
    for rank in launch.ranks:
        if rank.worker == row.worker and rank.rank == row.rank and rank.before_load_gib is not None:
            return rank.before_load_gib
    return sum(item.gib.value for item in row.items)


def _above(item: LedgerItem, *, first: bool) -> Row:
    """A row above the log's own figures: the card, or what was taken from it before loading."""
    sign = "" if first else "+ " if item.gib.value < 0 else "− "
    amount = words(gib(abs(item.gib.value)))
    return Row((Cell(words(sign + one_line(item.item))), Cell(amount), Cell(words(one_line(item.detail)))))


def ledger_table(launch: LaunchDoc, row: LedgerRow, links: Links) -> Table:
    """The ledger from `free before loading` down to what is left, with the line of each figure."""
    rows = [_above(item, first=place == 0) for place, item in enumerate(row.above)]
    rows += [
        Row(
            (
                Cell(words(("= " if row.above else "") + "free before loading")),
                Cell(words(gib(before_load(launch, row)))),
                Cell(links.lines(row.before_evidence)),
            ),
            "start",
        )
    ]
    for index, item in enumerate(row.items):
        kind = part_class(item)
        last = kind == "left" and index == len(row.items) - 1
        # What was given back is added, so that the column adds up as it stands.
        given_back = not last and item.gib.value < 0 and gib(item.gib.value) != "0.00"
        sign = "= " if last else "+ " if given_back else "− "
        rows.append(
            Row(
                (
                    Cell(words(sign + one_line(item.item)), swatch=kind, letter=letter(index)),
                    Cell(words(gib(abs(item.gib.value) if given_back else item.gib.value))),
                    Cell(_origin(item, links), small=words(_detail(item))),
                ),
                "total" if last else "",
            )
        )
    columns = (Column(_caption(launch, row)), Column("GiB", numeric=True), Column("from"))
    return Table(f"Where the memory of {_caption(launch, row)} went", columns, tuple(rows), "ledger")


_COMPUTED = "computed, no line prints it"


def _detail(item: LedgerItem) -> str:
    return "" if item.detail == _COMPUTED else clip(one_line(item.detail), 200)


def _origin(item: LedgerItem, links: Links) -> Inline:
    said = words(_COMPUTED) if item.computed else ()
    return join((said, links.lines(item.evidence)))


def _caption(launch: LaunchDoc, row: LedgerRow) -> str:
    everyone = [rank for rank in launch.ranks if rank.worker == row.worker]
    total = max(len(everyone), row.alike)
    if total <= 1:
        return _gpu(row.rank)
    alike = "all alike" if row.alike >= total else f"{row.alike} alike" if row.alike > 1 else "they differ"
    return f"{_gpu(row.rank)} of {total} ({alike})"


def _gpu(rank: RankInfo) -> str:
    name = rank_name(rank)
    return name if name == "GPU" else f"GPU {name}"


def fold_alike(rows: list[RankRow]) -> list[tuple[RankRow, str]]:
    """Rank rows with equal figures as one, with the names of all that it stands for."""
    dtypes: dict[object, set[str]] = {}
    for row in rows:
        dtypes.setdefault((row.worker, row.draft_index), set()).update({row.kv_dtype} if row.kv_dtype else ())
    groups: dict[object, list[RankRow]] = {}
    for row in rows:
        # Most releases print the dtype on one rank only: a row without one is like those with the only one there is.
        printed = dtypes[row.worker, row.draft_index]
        figures = (
            row.worker,
            row.draft_index,
            row.before_load_gib,
            row.after_load_gib,
            row.weights_gib,
            row.kv_dtype or (next(iter(printed)) if len(printed) == 1 else None),
            row.kv_tokens,
            row.kv_gib,
            tuple((pool.name, pool.tokens, pool.slots, pool.gib) for pool in row.pools),
            row.pool_end_gib,
            row.graphs_gib,
            row.final_gib,
        )
        groups.setdefault(figures, []).append(row)
    return [(group[0], rank_names([row.rank for row in group])) for group in groups.values()]


def pool_words(row: RankRow) -> Inline:
    """The pools of a rank beyond the plain one, as `swa 12,345 tokens 1.20 GiB`."""
    named = [pool for pool in row.pools if pool.name != "kv" or len(row.pools) > 1]
    out = []
    for pool in named:
        amount = (
            f"{pool.tokens:,} tokens"
            if pool.tokens is not None
            else f"{pool.slots:,} slots"
            if pool.slots is not None
            else ""
        )
        held = f"{gib(pool.gib)} GiB" if pool.gib is not None else ""
        out.append(words(" ".join(filter(None, (one_line(pool.name), amount, held)))))
    return join(out, "; ")


def dtype_words(row: RankRow) -> Inline:
    """The KV dtype without `torch.`."""
    return code(row.kv_dtype.removeprefix("torch.")) if row.kv_dtype else ()
