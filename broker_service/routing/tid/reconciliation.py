"""What restarts make void or doubtful, in TID-based routing, and how it is told from what still holds.

*Lives.* What a broker's clients had is void everywhere as soon as the broker is known to live its next life
(`Restarted` is broadcast).

*Doubts.* What came through a restarted neighbour may have been withdrawn while it was dead, and the news died with it:
trees that lead through it, and subscriptions that it passed on. It has `reconcile_after` seconds to say them again, not
counting the time in which the link to it is down. Whoever still waits then gives them up: subscriptions are withdrawn
along their trees, and a tree is *lost*.

*Lost trees.* Whoever loses a tree forgets all that is bound to it and says so to all neighbours (`Lost`). Those that
are below it lose the tree, too; another that has it by a way of its own offers it again, so a tree that was given up
because the news was slow, or because brokers had come to hang below each other, grows again. Nobody offers a way
through the receiver, so what does not lead to the publisher any more is forgotten by all in the end. Unlike a withdrawn
tree, a lost one may come back.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from broker_service.messages import BrokerId
from broker_service.routing.common.identifiers import Home
from broker_service.routing.tid.tables import AdvertisementEntry, SubscriptionEntry, TreeId


@dataclass(frozen=True, slots=True)
class Doubts:
    """What a restarted neighbour has yet to say again."""

    trees: set[TreeId] = field(default_factory=set)
    subscriptions: set[tuple[str, TreeId]] = field(default_factory=set)
    """With the trees they came along."""


class Reconciliation:
    """The lives of all brokers as far as heard of, and the doubts about each neighbour."""

    def __init__(self, home: Home) -> None:
        self._lives: dict[BrokerId, int] = {home.broker: home.incarnation}
        self._met: dict[BrokerId, int] = {}
        self._doubts: dict[BrokerId, Doubts] = {}

    def is_former(self, home: Home) -> bool:
        """Whether the broker is known to live a later life."""
        return home.incarnation < self._lives.get(home.broker, 0)

    def learn(self, broker: BrokerId, incarnation: int) -> bool:
        """Notes the life a broker lives; False when that, or a later one, is known."""
        if self._lives.get(broker, 1) >= incarnation:
            return False
        self._lives[broker] = incarnation
        return True

    def meet(self, neighbour: BrokerId, incarnation: int) -> int | None:
        """Notes the life of a neighbour that is told our tables, and returns the one that was told them last."""
        former = self._met.get(neighbour)
        self._met[neighbour] = incarnation
        return former

    def doubt(
        self, neighbour: BrokerId, trees: Iterable[AdvertisementEntry], subscriptions: Iterable[SubscriptionEntry]
    ) -> None:
        """The neighbour was restarted: all that came through it is in doubt."""
        self._doubts[neighbour] = Doubts(
            {row.tid for row in trees if row.last_hop == neighbour},
            {
                (entry.id, tid)
                for entry in subscriptions
                for tid, route in entry.routes.by_tid.items()
                if route.last_hop == neighbour
            },
        )

    def has_doubts(self, neighbour: BrokerId) -> bool:
        return neighbour in self._doubts

    def renew_tree(self, neighbour: BrokerId, tid: TreeId) -> None:
        """A neighbour has said again that the tree leads through it."""
        self._doubts.get(neighbour, _NO_DOUBTS).trees.discard(tid)

    def renew_subscription(self, neighbour: BrokerId, id: str, tid: TreeId) -> None:
        """A neighbour has passed on the subscription again, along this tree."""
        self._doubts.get(neighbour, _NO_DOUBTS).subscriptions.discard((id, tid))

    def settle(self, neighbour: BrokerId) -> Doubts:
        """The neighbour has had its time; returns what it has not said again."""
        return self._doubts.pop(neighbour, _NO_DOUBTS)


_NO_DOUBTS = Doubts()
