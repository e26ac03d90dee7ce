"""Routes of TID-based routing, and a publication's steps along them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from broker_service.messages import BrokerId

TreeId = str
"""A TID: the overlay-wide identifier of an advertisement, which names the tree that its broadcast built."""


class Route(msgspec.Struct, frozen=True):
    """A route to a subscriber: the neighbour that passed the subscription on along a tree, and the hops behind it."""

    last_hop: BrokerId
    distance: int


@dataclass(frozen=True, eq=False)
class Routes:
    """All routes to a subscriber, by TID. Subscriptions with the same routes share one object."""

    by_tid: Mapping[TreeId, Route]
    longest: int = field(init=False)
    """Hops of the longest route; 0 without any."""

    def __post_init__(self) -> None:
        distances = (route.distance for route in self.by_tid.values())
        object.__setattr__(self, "longest", max(distances, default=0))


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
