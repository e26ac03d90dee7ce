"""The plan that every server gets before a run: the partition of the event space, and the trees of its channels.

Each channel has a multicast tree over the servers with a subscription that may match an event of the channel (MEDYM,
section 2.2), the minimum spanning tree over their round trips. A server outside of a channel hands its events to the
nearest server in it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from broker_service.messages import BrokerId
from broker_service.routing.channelization.clustering import cluster
from broker_service.routing.channelization.event_space import EventSpace, event_space
from broker_service.routing.preparation import PlannedLink, Preparation


class Partition(msgspec.Struct, frozen=True, array_like=True):
    """The partition of the event space, the same at every server."""

    space: EventSpace
    channels: tuple[int, ...]
    """Channel of each cell."""
    waste: float
    """Servers that an event reaches in vain, as expected from the subscriptions."""


class Place(msgspec.Struct, frozen=True, array_like=True):
    """A server's place in the tree of one channel."""

    member: bool
    neighbours: tuple[BrokerId, ...]
    """A member's neighbours in the tree; otherwise the nearest member, or none if the channel has no member."""


class Plan(msgspec.Struct, frozen=True, array_like=True):
    """The plan for one server."""

    partition: bytes
    """A `Partition`, encoded once for all servers."""
    places: tuple[Place, ...]
    """By channel."""

    @property
    def epoch(self) -> int:
        """A number that stands for the partition. Publications carry it, because another one has other channels."""
        return zlib.crc32(self.partition)


def plans(preparation: Preparation, channels: int, attribute: str) -> Mapping[BrokerId, bytes]:
    """The encoded plan of every server.

    Raises `ValueError` unless any two servers are linked, and when subscriptions name too many values.
    """
    brokers = tuple(preparation.brokers)
    distances = _distances(brokers, preparation.links)
    every = [found for broker in brokers for found in preparation.subscriptions.get(broker, ())]
    space = event_space(every, attribute)
    wanted = np.zeros((len(space), len(brokers)), np.bool_)
    for column, broker in enumerate(brokers):
        for subscription in preparation.subscriptions.get(broker, ()):
            wanted[np.array(space.cells_of(subscription), np.intp), column] = True
    found = cluster(wanted, space.weights, channels, np.random.default_rng(preparation.seed))
    partition = Partition(space, tuple(found.channels.tolist()), found.waste)
    encoded = msgspec.msgpack.encode(partition)
    places: list[list[Place]] = [[] for _ in brokers]
    for channel in range(max(partition.channels) + 1):
        members = np.flatnonzero(wanted[found.channels == channel].any(axis=0))
        for of_broker, place in zip(places, _places(brokers, distances, members), strict=True):
            of_broker.append(place)
    return {
        broker: msgspec.msgpack.encode(Plan(encoded, tuple(of_broker)))
        for broker, of_broker in zip(brokers, places, strict=True)
    }


def read_plan(prepared: bytes) -> Plan:
    """A server's plan from `RouterContext.prepared`."""
    return msgspec.msgpack.decode(prepared, type=Plan)


@lru_cache(maxsize=4)
def read_partition(encoded: bytes) -> Partition:
    """The partition in a plan. Servers of one process share it."""
    return msgspec.msgpack.decode(encoded, type=Partition)


def _distances(brokers: Sequence[BrokerId], links: Iterable[PlannedLink]) -> NDArray[np.floating[Any]]:
    """Round trips between all servers."""
    numbers = {broker: number for number, broker in enumerate(brokers)}
    distances = np.full((len(brokers), len(brokers)), np.inf, np.float32)
    for a, b, delay, reverse_delay in links:
        one, other = numbers[a], numbers[b]
        distances[one, other] = distances[other, one] = delay + reverse_delay
    np.fill_diagonal(distances, 0.0)
    if np.isinf(distances).any():
        raise ValueError("it needs a link between any two brokers; use `overlay: full` or `kind: full`")
    return distances


def _places(
    brokers: Sequence[BrokerId], distances: NDArray[np.floating[Any]], members: NDArray[np.intp]
) -> list[Place]:
    """The place of every server in the tree over some of them."""
    if not len(members):
        return [Place(False, ())] * len(brokers)
    nearest = members[distances[:, members].argmin(axis=1)]
    tree: dict[int, list[BrokerId]] = {member: [] for member in members.tolist()}
    for parent, child in _spanning_tree(distances, members):
        tree[parent].append(brokers[child])
        tree[child].append(brokers[parent])
    return [
        Place(True, tuple(tree[number])) if number in tree else Place(False, (brokers[nearest[number]],))
        for number in range(len(brokers))
    ]


def _spanning_tree(distances: NDArray[np.floating[Any]], members: NDArray[np.intp]) -> Iterable[tuple[int, int]]:
    """Edges of the minimum spanning tree over members, by Prim's algorithm from the first one."""
    waiting = members[1:].copy()
    closest, parents = distances[members[0], waiting], np.full(len(waiting), members[0])
    while len(waiting):
        place = int(closest.argmin())
        joined = int(waiting[place])
        yield int(parents[place]), joined
        waiting, closest, parents = (np.delete(array, place) for array in (waiting, closest, parents))
        from_joined = distances[joined, waiting]
        parents[from_joined < closest] = joined
        closest = np.minimum(closest, from_joined)
