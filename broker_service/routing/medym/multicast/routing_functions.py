"""Dynamic multicast: the next hops of an event and the destinations that each of them becomes responsible for.

A server `s` that is responsible for the destination list `DL` computes `{n_i, DL_i} = f_s(DL)` (MEDYM, section 3.1)
such that

(a) the lists `DL_i` together are `DL` without `s`,
(b) no two of them share a server, and
(c) next hop `n_i` is in `DL_i`.

Every destination then gets the event once, and only destinations get it. The three functions `f_s` of section 4.1 are
pure: they read distances, and know nothing of messages or of servers' state.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from broker_service.routing.common.distances import Distances, Servers
from broker_service.routing.common.spanning_tree import spanning_tree
from broker_service.routing.medym.options import CANDIDATES


class Branch(NamedTuple):
    """A next hop and its destination list."""

    next_hop: int
    destinations: Servers
    """Destinations over the next hop, itself included, in ascending order if the list that was split is."""


class Hop(NamedTuple):
    """An edge of a multicast tree: one message, and the number of servers in its destination list."""

    sender: int
    receiver: int
    destinations: int


Multicast = Callable[[Distances, int, Servers], list[Branch]]
"""A function `f_s`. The server's own number must not be among the destinations."""


def mst(distances: Distances, server: int, destinations: Servers) -> list[Branch]:
    """MST: the neighbours in the minimum spanning tree of the server and all destinations, and their subtrees."""
    next_hop_of: dict[int, int] = {}
    for parent, child in spanning_tree(distances.ranks, server, destinations):
        next_hop_of[child] = child if parent == server else next_hop_of[parent]
    listed: defaultdict[int, list[int]] = defaultdict(list)
    for destination in destinations.tolist():
        listed[next_hop_of[destination]].append(destination)
    return [Branch(hop, np.array(listed[hop], np.uint16)) for hop in sorted(listed)]


def close_mst(distances: Distances, server: int, destinations: Servers, candidates: int = CANDIDATES) -> list[Branch]:
    """CloseMST: the neighbours in the minimum spanning tree of the server and its closest destinations.

    Each other destination, a candidate or not, goes into the list of the next hop that is closest to it.
    """
    return _assigned(
        distances, _neighbours(distances, server, _closest(distances, server, destinations, candidates)), destinations
    )


def balanced_mst(
    distances: Distances,
    server: int,
    destinations: Servers,
    overloaded: NDArray[np.bool_],
    candidates: int = CANDIDATES,
) -> list[Branch]:
    """BalancedMST: CloseMST whose spanning tree leaves out the candidates that are overloaded.

    `overloaded` has a place for every server. If all candidates are, the closest destination that is not is the only
    next hop. If all destinations are, nothing is gained by choosing among them, and CloseMST decides; the paper leaves
    that case open.
    """
    closest = _closest(distances, server, destinations, candidates)
    free = closest[~overloaded[closest]]
    if len(free):
        return _assigned(distances, _neighbours(distances, server, free), destinations)
    elsewhere = destinations[~overloaded[destinations]]
    if len(elsewhere):
        return [Branch(int(_closest(distances, server, elsewhere, 1)[0]), destinations)]
    return _assigned(distances, _neighbours(distances, server, closest), destinations)


def multicast_tree(distances: Distances, server: int, destinations: Servers, multicast: Multicast) -> Iterator[Hop]:
    """All messages by which a publication reaches `destinations`, if each server on the way applies the same
    function."""
    responsible = [(server, destinations)]
    while responsible:
        sender, listed = responsible.pop()
        for hop, branch in multicast(distances, sender, listed) if len(listed) else ():
            yield Hop(sender, hop, len(branch))
            responsible.append((hop, branch[branch != hop]))


def _closest(distances: Distances, server: int, destinations: Servers, count: int) -> Servers:
    """The `count` destinations that are closest to a server, or all if there are fewer, in no order."""
    if len(destinations) <= count:
        return destinations
    return destinations[np.argpartition(distances.ranks[server].take(destinations), count - 1)[:count]]


def _neighbours(distances: Distances, server: int, candidates: Servers) -> list[int]:
    """Neighbours of a server in the minimum spanning tree of it and some candidates, ascending."""
    return sorted(child for parent, child in spanning_tree(distances.ranks, server, candidates) if parent == server)


def _assigned(distances: Distances, next_hops: list[int], destinations: Servers) -> list[Branch]:
    """Every destination in the list of the next hop that is closest to it; a next hop is so to itself."""
    if len(next_hops) == 1:
        return [Branch(next_hops[0], destinations)]
    first, *others = next_hops
    closest, places = distances.ranks[first].take(destinations), np.zeros(len(destinations), np.uint16)
    for place, hop in enumerate(others, start=1):
        from_hop = distances.ranks[hop].take(destinations)
        np.putmask(places, from_hop < closest, place)
        np.minimum(closest, from_hop, out=closest)
    return [Branch(hop, destinations[places == place]) for place, hop in enumerate(next_hops)]
