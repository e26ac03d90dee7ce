"""The plan that every server gets before a run: the partition of the event space, and the trees of its channels.

Each channel has a multicast tree over the servers with a subscription that may match an event of the channel (MEDYM,
section 2.2), the minimum spanning tree over their round trips. A server outside of a channel hands its events to the
nearest server in it.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec
import numpy as np

from broker_service.messages import BrokerId
from broker_service.routing.channelization.clustering import cluster
from broker_service.routing.channelization.event_space import EventSpace, event_space
from broker_service.routing.common.distances import Distances, Servers
from broker_service.routing.common.full_mesh import require_full_mesh, round_trips
from broker_service.routing.common.spanning_tree import spanning_tree
from broker_service.routing.options import Preparation


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
    """This server's place in each channel, by the channel's number."""

    @property
    def epoch(self) -> int:
        """A number that stands for the partition. Publications carry it, because another one has other channels."""
        return zlib.crc32(self.partition)


def plans(preparation: Preparation, channels: int, attribute: str) -> Mapping[BrokerId, bytes]:
    """The encoded plan of every server.

    Raises `ValueError` unless any two servers are linked, and when subscriptions name too many values.
    """
    brokers = tuple(preparation.brokers)
    require_full_mesh(preparation)
    numbers = {broker: number for number, broker in enumerate(brokers)}
    distances = Distances(round_trips(preparation, numbers))
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
        members = np.flatnonzero(wanted[found.channels == channel].any(axis=0)).astype(np.uint16)
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


def _places(brokers: Sequence[BrokerId], distances: Distances, members: Servers) -> list[Place]:
    """The place of every server in the tree over some of them."""
    if not len(members):
        return [Place(False, ())] * len(brokers)
    nearest = members[distances.values[:, members].argmin(axis=1)]
    tree: dict[int, list[BrokerId]] = {member: [] for member in members.tolist()}
    for parent, child in spanning_tree(distances.ranks, int(members[0]), members[1:]):
        tree[parent].append(brokers[child])
        tree[child].append(brokers[parent])
    return [
        Place(True, tuple(tree[number])) if number in tree else Place(False, (brokers[nearest[number]],))
        for number in range(len(brokers))
    ]
