"""The CBF tree: the minimum spanning tree over the round trips of an overlay's links (MEDYM, section 5.1.3).

On a mesh it is the tree over all servers, on a tree it is the overlay itself. The paper configures it beforehand and
does not say how; here it is prepared once from the delays of the links, before brokers start.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from broker_service.messages import BrokerId
from broker_service.routing.common.distances import ranked
from broker_service.routing.common.spanning_tree import spanning_tree
from broker_service.routing.options import PlannedLink, PlannedMesh

_UNLINKED: Final = np.iinfo(np.uint32).max

_decode = msgspec.msgpack.Decoder(tuple[str, ...]).decode


def cbf_tree(brokers: Collection[BrokerId], links: Iterable[PlannedLink]) -> Mapping[BrokerId, Sequence[BrokerId]]:
    """Neighbours of every broker in the minimum spanning tree, the nearest first.

    Of links of equal length, the one is taken first whose brokers come first. Raises `ValueError` when the links do not
    connect all brokers.
    """
    if isinstance(links, PlannedMesh):
        names, ranks = list(links.brokers), ranked(links.round_trips)
    else:
        names = list(brokers)
        ranks = _ranked_links(names, links)
    edges = spanning_tree(ranks, 0, np.arange(1, len(names)))
    if any(ranks[edge] == _UNLINKED for edge in edges):
        raise ValueError("content-based forwarding needs one tree over all brokers, but the links do not connect them")
    tree: dict[BrokerId, list[BrokerId]] = {broker: [] for broker in brokers}
    for a, b in sorted(edges, key=ranks.__getitem__):
        tree[names[a]].append(names[b])
        tree[names[b]].append(names[a])
    return tree


def _ranked_links(names: Sequence[BrokerId], links: Iterable[PlannedLink]) -> NDArray[np.uint32]:
    """The place of each two brokers' link among all links in order of their round trips; `_UNLINKED` without one."""
    number = {broker: place for place, broker in enumerate(names)}
    ends = ((link.delay + link.reverse_delay, number[link.a], number[link.b]) for link in links)
    ranks = np.full((len(names), len(names)), _UNLINKED, np.uint32)
    for rank, (_, a, b) in enumerate(sorted((length, min(a, b), max(a, b)) for length, a, b in ends)):
        ranks[a, b] = ranks[b, a] = rank
    return ranks


def encode_neighbours(neighbours: Sequence[BrokerId]) -> bytes:
    """The result of `ProtocolOptions.prepare` for a broker."""
    return msgspec.msgpack.encode(neighbours)


def decode_neighbours(prepared: bytes) -> Sequence[BrokerId]:
    """A broker's neighbours in the tree, from what was prepared for it."""
    return _decode(prepared)
