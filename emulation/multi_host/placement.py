"""The placement of brokers on hosts: the same overlay and hosts always give the same placement.

A broker that the inventory puts on a host is placed there. The others are spread by the hosts' weights, evenly where
these are equal, with few links between hosts: first in runs along the overlay (breadth first, so that neighbours are
near each other), then by exchanges of two brokers on different hosts, as long as an exchange reduces the number of such
links, as Kernighan and Lin (1970) do for two parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import networkx

from emulation.multi_host.model import Member
from record.errors import BadInputError
from topology.link_properties import BrokerId
from topology.model import Overlay
from topology.sites import Site

Placement = Mapping[BrokerId, str]
"""The name of each broker's host."""

_MOST_ROUNDS = 50


def place_brokers(overlay: Overlay, members: Sequence[Member]) -> Placement:
    """Places the brokers. Raises `BadInputError` for a broker that the inventory puts on two hosts, and for a host
    without brokers."""
    brokers = [broker.id for broker in overlay.brokers]
    placed = _wanted(overlay, members)
    movable = [broker for broker in brokers if broker not in placed]
    rooms = _rooms(members, placed, len(brokers))
    if len(brokers) < len(members):
        raise BadInputError(f"{len(brokers)} brokers cannot be on {len(members)} hosts: use fewer hosts")
    if empty := [
        member.name
        for member, room in zip(members, rooms, strict=True)
        if not room and member.name not in placed.values()
    ]:
        raise BadInputError(
            f"{', '.join(empty)} would have no broker by brokerlab_brokers and brokerlab_weight: leave some to it"
        )
    graph: networkx.Graph[BrokerId] = networkx.Graph()
    graph.add_nodes_from(brokers)
    graph.add_edges_from((link.a, link.b) for link in overlay.links)
    free = [broker for broker in _along(graph, brokers) if broker not in placed]
    for member, room in zip(members, rooms, strict=True):
        placed |= dict.fromkeys(free[:room], member.name)
        del free[:room]
    _exchange(graph, placed, movable)
    return {broker: placed[broker] for broker in brokers}


def place_sites(sites: Iterable[Site], placement: Placement) -> Mapping[str, str]:
    """The name of each site's host, which is that of its broker at the start."""
    return {site.name: placement[site.broker] for site in sites}


def links_between_hosts(overlay: Overlay, placement: Placement) -> int:
    """The number of links with ends on two hosts."""
    return sum(placement[link.a] != placement[link.b] for link in overlay.links)


def _wanted(overlay: Overlay, members: Sequence[Member]) -> dict[BrokerId, str]:
    """The placement by the inventory. Brokers that this overlay lacks may belong to another scenario, and are
    ignored."""
    there = {broker.id for broker in overlay.brokers}
    wanted: dict[BrokerId, str] = {}
    for member in members:
        for broker in member.brokers:
            if wanted.get(broker, member.name) != member.name:
                raise BadInputError(
                    f"brokerlab_brokers: {broker} is wanted on {wanted[broker]} and on {member.name}; leave one out"
                )
            if broker in there:
                wanted[broker] = member.name
    return wanted


def _rooms(members: Sequence[Member], placed: Placement, brokers: int) -> list[int]:
    """Number of unplaced brokers each host receives so that totals are as the hosts' weights where possible.

    Each broker goes where it leaves the fewest for a unit of weight, so a host of weight 2 has two before another of
    weight 1 has more than one.
    """
    has = [sum(host == member.name for host in placed.values()) for member in members]
    rooms = [0] * len(members)
    for _ in range(brokers - len(placed)):
        least = min(
            range(len(members)),
            key=lambda number: ((has[number] + rooms[number] + 1) / members[number].weight, number),
        )
        rooms[least] += 1
    return rooms


def _along(graph: networkx.Graph[BrokerId], brokers: Sequence[BrokerId]) -> list[BrokerId]:
    """The brokers breadth first, beginning at the one with the fewest neighbours; of equal ones at the first."""
    order = {broker: number for number, broker in enumerate(brokers)}
    found: dict[BrokerId, None] = {}
    for start in sorted(brokers, key=lambda broker: (graph.degree[broker], order[broker])):
        if start not in found:
            found[start] = None
            neighbours = networkx.bfs_edges(
                graph, start, sort_neighbors=lambda neighbours: sorted(neighbours, key=order.__getitem__)
            )
            found |= {broker: None for _, broker in neighbours}
    return list(found)


def _exchange(graph: networkx.Graph[BrokerId], placed: dict[BrokerId, str], movable: Sequence[BrokerId]) -> None:
    """Exchanges pairs of brokers, the best exchange first, until none reduces the links between hosts."""
    for _ in range(_MOST_ROUNDS * max(1, len(movable))):
        best, pair = 0, None
        outside = {broker: _towards(graph, placed, broker) for broker in movable}
        for number, first in enumerate(movable):
            for second in movable[number + 1 :]:
                here, there = placed[first], placed[second]
                if here == there:
                    continue
                gain = outside[first].get(there, 0) - outside[first].get(here, 0)
                gain += outside[second].get(here, 0) - outside[second].get(there, 0)
                gain -= 2 * graph.has_edge(first, second)
                if gain > best:
                    best, pair = gain, (first, second)
        if pair is None:
            return
        placed[pair[0]], placed[pair[1]] = placed[pair[1]], placed[pair[0]]


def _towards(graph: networkx.Graph[BrokerId], placed: Placement, broker: BrokerId) -> dict[str, int]:
    """The number of a broker's neighbours on each host."""
    counts: dict[str, int] = {}
    for neighbour in graph.neighbors(broker):
        counts[placed[neighbour]] = counts.get(placed[neighbour], 0) + 1
    return counts
