"""Joins the nodes of one server into one launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from logaudit.launches.keys import order
from logaudit.launches.model import Launch, Outcome

OUTCOMES: tuple[Outcome, ...] = ("crashed", "ready", "initialised", "incomplete")
"""What counts when nodes differ: one crashed node is a crashed server; only node 0 prints `ready`."""


def _server(launch: Launch) -> tuple[object, ...] | None:
    """What the nodes of one server have in common; None for a server of one node."""
    nodes, address = launch.args.get("nnodes"), launch.args.get("dist_init_addr")
    if not isinstance(nodes, int) or nodes < 2 or not isinstance(address, str):
        return None
    return (nodes, address, launch.args.get("model_path"))


def join_nodes(launches: Sequence[Launch], first_index: int = 0) -> tuple[Launch, ...]:
    """Launches with the same `dist_init_addr` and `nnodes` and different `node_rank` become one, then all are numbered.

    A node that starts again (the same `node_rank` twice) opens the next launch of that server.
    """
    joined: list[list[Launch]] = []
    open_servers: dict[tuple[object, ...], list[Launch]] = {}
    for launch in launches:
        server = _server(launch)
        group = None if server is None else open_servers.get(server)
        ranks = () if group is None else tuple(member.args.get("node_rank") for member in group)
        if group is None or launch.args.get("node_rank") in ranks:
            group = []
            joined.append(group)
            if server is not None:
                open_servers[server] = group
        group.append(launch)
    return tuple(replace(_merge(group), index=first_index + place) for place, group in enumerate(joined))


def _merge(group: Sequence[Launch]) -> Launch:
    if len(group) == 1:
        return group[0]
    members = sorted(group, key=lambda launch: str(launch.args.get("node_rank")))
    first = members[0]
    outcome = next(name for name in OUTCOMES if any(member.outcome == name for member in members))
    starts = [member.started_at for member in members if member.started_at is not None]
    ranks = sorted((rank for member in members for rank in member.ranks), key=lambda rank: order(rank.key))
    note = f"{len(members)} nodes of one server were joined."
    return replace(
        first,
        first_line=min(m.first_line for m in members if m.source == first.source),
        last_line=max(m.last_line for m in members if m.source == first.source),
        records=tuple(record for member in members for record in member.records),
        outcome=outcome,
        failure=next((member.failure for member in members if member.failure is not None), None),
        started_at=min(starts, default=None),
        ready_at=next((member.ready_at for member in members if member.ready_at is not None), None),
        ranks=tuple(ranks),
        schedulers=tuple(scheduler for member in members for scheduler in member.schedulers),
        traffic=tuple(record for member in members for record in member.traffic),
        notes=(*first.notes, note),
    )
