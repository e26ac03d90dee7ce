"""Routes of TID-based routing, and a publication's steps along them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Final

import msgspec

from broker_service.messages import BrokerId

TreeId = str
"""A TID: the overlay-wide identifier of an advertisement, which names the tree that its broadcast built."""


_KEPT: Final = 4_096
"""Routes and paths that are kept after their use, because the same ones come again in the messages that follow."""


class Route(msgspec.Struct, frozen=True, gc=False):
    """A route to a subscriber: the neighbour that passed the subscription on along a tree, and the hops behind it."""

    last_hop: BrokerId
    distance: int


@lru_cache(maxsize=_KEPT)
def shared_route(last_hop: BrokerId, distance: int) -> Route:
    """A route, as one object for all subscriptions that took it lately."""
    return Route(last_hop, distance)


@lru_cache(maxsize=_KEPT)
def shared_path(path: tuple[BrokerId, ...]) -> tuple[BrokerId, ...]:
    """A path, as one object for all trees that took it lately: neighbours of one broker in a simulated overlay have the
    same one, and so do trees of one publisher."""
    return path


class Routes:
    """All routes to a subscriber, by TID; they never change. Subscriptions with the same routes share one object."""

    __slots__ = ("__weakref__", "_longest", "_shortest", "by_tid", "digest")

    def __init__(self, by_tid: Mapping[TreeId, Route], digest: int | None = None) -> None:
        """`digest` is that of `by_tid` where it is known."""
        self.by_tid = by_tid
        self.digest = _digest(by_tid) if digest is None else digest
        """Equal for equal routes, whatever their order. It changes with each route in constant time."""
        self._longest: int | None = None
        self._shortest: Mapping[BrokerId, tuple[int, TreeId]] | None = None

    def along(self, tids: Collection[TreeId], route: Route) -> Routes:
        """These routes, with `route` along these trees."""
        by_tid, digest = dict(self.by_tid), self.digest
        for tid in tids:
            if (former := by_tid.get(tid)) is not None:
                digest ^= hash((tid, former))
            by_tid[tid] = route
            digest ^= hash((tid, route))
        return Routes(by_tid, digest)

    def without(self, tids: Collection[TreeId]) -> Routes:
        """These routes without those along some trees; the same object where there is none of them."""
        gone = [tid for tid in tids if tid in self.by_tid]
        if not gone:
            return self
        by_tid, digest = dict(self.by_tid), self.digest
        for tid in gone:
            if (former := by_tid.pop(tid, None)) is not None:
                digest ^= hash((tid, former))
        return Routes(by_tid, digest)

    @property
    def longest(self) -> int:
        """Hops of the longest route; 0 without any."""
        if self._longest is None:
            self._longest = max([route.distance for route in self.by_tid.values()], default=0)
        return self._longest

    @property
    def shortest(self) -> Mapping[BrokerId, tuple[int, TreeId]]:
        """Least hops of a route to each neighbour that a route leads to, and the smallest TID of a route that long."""
        if self._shortest is None:
            self._shortest = self._find_shortest()
        return self._shortest

    def _find_shortest(self) -> Mapping[BrokerId, tuple[int, TreeId]]:
        shortest: dict[BrokerId, tuple[int, TreeId]] = {}
        for tid, route in self.by_tid.items():
            former, latter = shortest.get(route.last_hop), (route.distance, tid)
            if former is None or latter < former:
                shortest[route.last_hop] = latter
        return shortest


def _digest(by_tid: Mapping[TreeId, Route]) -> int:
    digest = 0
    for item in by_tid.items():
        digest ^= hash(item)
    return digest


NO_ROUTES = Routes({})


class Arrival(msgspec.Struct, frozen=True, gc=False):
    """A publication's state on its arrival at this broker."""

    tid: TreeId
    """The tree it travels on."""
    budget: int
    """Hops it may still travel."""
    source: BrokerId | None
    """The neighbour it came from; None at the publisher's broker."""


class NextHop(msgspec.Struct, frozen=True, gc=False):
    """A publication's next step: the neighbour it is sent to, and the tree that it travels on from here."""

    neighbour: BrokerId
    tid: TreeId
