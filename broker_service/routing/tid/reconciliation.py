"""Cleaning up after broker restarts in TID-based routing: which state is void, and which must be announced again.

*Void state.* What the clients of a broker had is void everywhere as soon as its next incarnation is known (`Restarted`
is broadcast).

*Unconfirmed state.* Trees that lead through a restarted neighbour, and subscriptions that it passed on, may have been
withdrawn while it was down. What it has not announced again in time (see `common.reconciliation`) is given up:
subscriptions are withdrawn along their trees, and a tree is *lost*.

*Lost trees.* A broker that loses a tree forgets all that is bound to it and notifies all neighbours (`Lost`). Those
below it lose the tree too; a neighbour that has it by another path offers it again. So a tree grows again that was
given up because the announcement was slow, or because brokers had come to hang below each other. No broker offers a
path that leads through the receiver, so in the end every broker forgets what does not lead to the publisher any more.
Unlike a withdrawn tree, a lost one may come back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from broker_service.messages import BrokerId
from broker_service.routing.common.bounds import MOST_BROKERS
from broker_service.routing.common.identifiers import Home, split_id
from broker_service.routing.interface import MalformedMessageError
from broker_service.routing.tid.routes import TreeId
from broker_service.routing.tid.tables import AdvertisementRow, SubscriptionRoutingTable, SubscriptionRow


class Tree(NamedTuple):
    """A tree that a neighbour has yet to announce again."""

    tid: TreeId


class Binding(NamedTuple):
    """A subscription that a neighbour has yet to pass on again, along this tree."""

    subscription: str
    tid: TreeId


Announcement = Tree | Binding


def announced_by(
    neighbour: BrokerId, trees: Iterable[AdvertisementRow], subscriptions: Iterable[SubscriptionRow]
) -> Iterator[Announcement]:
    """All trees that lead through a neighbour, and all subscriptions that it passed on."""
    for row in trees:
        if row.last_hop == neighbour:
            yield Tree(row.id)
    for entry in subscriptions:
        for tid, route in entry.routes.by_tid.items():
            if route.last_hop == neighbour:
                yield Binding(entry.id, tid)


class KnownIncarnations:
    """The latest known incarnation of every broker."""

    def __init__(self, home: Home, configured: Callable[[BrokerId], int | None]) -> None:
        """`configured` is `latest_incarnation` of `RouterContext`."""
        self._configured = configured
        self._latest: dict[BrokerId, int] = {home.broker: home.incarnation}

    def is_former(self, home: Home) -> bool:
        """True when a later incarnation of the broker is known."""
        return home.incarnation < self._latest.get(home.broker, 0)

    def require_possible(self, broker: BrokerId, incarnation: int) -> None:
        """Raises `MalformedMessageError` for an incarnation that a broker cannot have."""
        latest = self._configured(broker)
        if incarnation < 1 or (latest is not None and incarnation > latest):
            raise MalformedMessageError(f"{broker} has no incarnation {incarnation}")

    def learn(self, broker: BrokerId, incarnation: int) -> bool:
        """Notes an incarnation; False when it, or a later one, was known.

        Raises `MalformedMessageError` for a broker beyond those that an overlay has.
        """
        if self._latest.get(broker, 1) >= incarnation:
            return False
        if len(self._latest) >= MOST_BROKERS and broker not in self._latest:
            raise MalformedMessageError(f"{broker} is one broker more than the {MOST_BROKERS} that an overlay has")
        self._latest[broker] = incarnation
        return True


def is_void(tid: TreeId, trees: SubscriptionRoutingTable, incarnations: KnownIncarnations) -> bool:
    """True when a tree has ended for good."""
    return tid in trees.withdrawn or incarnations.is_former(split_id(tid)[0])
