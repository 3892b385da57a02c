"""Which process of a server printed a record."""

from __future__ import annotations

from logaudit.extract.extractor import Record
from logaudit.launches.model import RankKey


def key_of(record: Record) -> RankKey:
    """The rank as far as the record's prefix names it; `[gpu_id=N]` of the first releases counts as the TP rank."""
    tag = record.rank
    tp = tag.tp if tag.tp is not None else tag.gpu
    return RankKey(tp=tp, pp=tag.pp, dp=tag.dp, ep=tag.ep, attn_cp=tag.attn_cp, node=tag.node)


def order(key: RankKey) -> tuple[int, int, int, int, int]:
    """Sort key: replicas first, then stages, then tensor-parallel ranks."""
    node, dp, pp, tp, cp = (-1 if part is None else part for part in (key.node, key.dp, key.pp, key.tp, key.attn_cp))
    return (dp, pp, tp, cp, node)
