"""The CBF tree: the minimum spanning tree over the round trips of an overlay's links (MEDYM, section 5.1.3).

On a mesh it is the tree over all servers, on a tree it is the overlay itself. The paper configures it beforehand and
does not say how; here it is prepared once from the delays of the links, before brokers start.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from broker_service.messages import BrokerId
from broker_service.routing.preparation import PlannedLink, PlannedMesh

_decode = msgspec.msgpack.Decoder(tuple[str, ...]).decode


def spanning_tree(brokers: Collection[BrokerId], links: Iterable[PlannedLink]) -> Mapping[BrokerId, Sequence[BrokerId]]:
    """Neighbours of every broker in the minimum spanning tree.

    Of links of equal length, the one is taken first whose brokers come first. This is Kruskal's algorithm. Raises
    `ValueError` when the links do not connect all brokers.
    """
    tree: dict[BrokerId, list[BrokerId]] = {broker: [] for broker in brokers}
    parts = {broker: [broker] for broker in brokers}
    for link in _shortest_first(brokers, links):
        greater, smaller = parts[link.a], parts[link.b]
        if greater is smaller:
            continue
        tree[link.a].append(link.b)
        tree[link.b].append(link.a)
        if len(greater) < len(smaller):
            greater, smaller = smaller, greater
        greater += smaller
        for broker in smaller:
            parts[broker] = greater
        if len(greater) == len(tree):
            return tree
    if len(tree) > 1:
        raise ValueError("content-based forwarding needs one tree over all brokers, but the links do not connect them")
    return tree


def _shortest_first(brokers: Collection[BrokerId], links: Iterable[PlannedLink]) -> Iterable[PlannedLink]:
    if isinstance(links, PlannedMesh):
        return links.shortest_first()
    number = {broker: place for place, broker in enumerate(brokers)}

    def length(link: PlannedLink) -> tuple[float, int, int]:
        a, b = sorted((number[link.a], number[link.b]))
        return link.delay + link.reverse_delay, a, b

    return sorted(links, key=length)


def encode_neighbours(neighbours: Sequence[BrokerId]) -> bytes:
    """The result of `ProtocolOptions.prepare` for a broker."""
    return msgspec.msgpack.encode(neighbours)


def decode_neighbours(prepared: bytes) -> Sequence[BrokerId]:
    """A broker's neighbours in the tree, from what was prepared for it."""
    return _decode(prepared)
