"""Subscriptions bound to trees at one broker (rule 2 of `router`), the messages that carry them up the trees, and their
withdrawals, and the index of those that are matched here.

All trees whose next hop is the same share one message.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence, Set

from broker_service.language import Subscription
from broker_service.language.relations import intersects
from broker_service.messages import BrokerId, Kind, Message
from broker_service.routing.common.bounds import MOST_TREES_NAMED
from broker_service.routing.common.decoding import encode_header
from broker_service.routing.common.identifiers import Home
from broker_service.routing.interface import Action, Actions, MalformedMessageError, Matcher, Send
from broker_service.routing.tid.messages import SubscribeHeader, UnsubscribeHeader
from broker_service.routing.tid.routes import TreeId
from broker_service.routing.tid.tables import (
    AdvertisementRow,
    PublicationRoutingTable,
    SubscriptionRoutingTable,
    SubscriptionRow,
)


class Propagation:
    """Makes the messages of one broker. The router owns and maintains the tables."""

    def __init__(self, advertisements: SubscriptionRoutingTable, subscriptions: PublicationRoutingTable) -> None:
        self._advertisements = advertisements
        self._subscriptions = subscriptions

    def forward(self, entry: SubscriptionRow, tids: Iterable[TreeId], hops: int) -> list[Send]:
        """Sends a subscription one hop up each of these trees, except back to where it came from."""
        by_next_hop: dict[BrokerId, list[TreeId]] = {}
        for tid in tids:
            next_hop = None if (row := self._advertisements.get(tid)) is None else row.last_hop
            route = entry.routes.by_tid.get(tid)
            if next_hop is not None and (route is None or route.last_hop != next_hop):
                by_next_hop.setdefault(next_hop, []).append(tid)
        return [
            Send(neighbour, _subscribe_message(entry, part, hops + 1))
            for neighbour, bound in by_next_hop.items()
            for part in _parts(bound)
        ]

    def renew(self, neighbour: BrokerId, tids: Iterable[TreeId]) -> list[Send]:
        """Sends every subscription that is bound to these trees, all of which lead to this neighbour."""
        together: dict[tuple[SubscriptionRow, int], list[TreeId]] = {}
        for tid in tids:
            for entry in self._subscriptions.bound_to(tid):
                route = entry.routes.by_tid.get(tid)
                if route is None or route.last_hop != neighbour:
                    together.setdefault((entry, route.distance if route else 0), []).append(tid)
        return [
            Send(neighbour, _subscribe_message(entry, part, distance + 1))
            for (entry, distance), bound in together.items()
            for part in _parts(bound)
        ]

    def withdraw(self, entry: SubscriptionRow, tids: Iterable[TreeId], source: BrokerId | None) -> list[Send]:
        """Sends a withdrawal one hop up each of these trees, except back to `source`."""
        by_next_hop: dict[BrokerId, list[TreeId]] = {}
        for tid in tids:
            next_hop = None if (row := self._advertisements.get(tid)) is None else row.last_hop
            if next_hop is not None and next_hop != source:
                by_next_hop.setdefault(next_hop, []).append(tid)
        return [
            Send(next_hop, Message(Kind.UNSUBSCRIBE, entry.id, b"", encode_header(UnsubscribeHeader(part))))
            for next_hop, bound in by_next_hop.items()
            for part in _parts(bound)
        ]


def _subscribe_message(row: SubscriptionRow, tids: tuple[TreeId, ...], hops: int) -> Message:
    """The subscription of a row along these trees, as its next broker gets it."""
    return Message(Kind.SUBSCRIBE, row.id, row.body, encode_header(SubscribeHeader(row.client, tids)), hops)


def _parts(tids: list[TreeId]) -> Sequence[tuple[TreeId, ...]]:
    """Trees in groups that fit into a header."""
    if len(tids) <= MOST_TREES_NAMED:
        return (tuple(tids),)
    return [tuple(tids[begin : begin + MOST_TREES_NAMED]) for begin in range(0, len(tids), MOST_TREES_NAMED)]


class Bindings:
    """Binds and unbinds; the router owns the tables and performs the actions."""

    def __init__(
        self,
        home: Home,
        subscriptions: PublicationRoutingTable,
        matching: Matcher[SubscriptionRow],
        propagation: Propagation,
        report_dropped: Callable[[Message, str], None],
        *,
        rooted: Set[TreeId],
    ) -> None:
        """`rooted` are the trees that are rooted at this broker, a live view. `report_dropped` is that of
        `RouterContext`."""
        self._home_name = str(home)
        self._rooted = rooted
        self._subscriptions = subscriptions
        self._matching = matching
        self._propagation = propagation
        self._report_dropped = report_dropped

    def bind_local(self, row: AdvertisementRow) -> list[Action]:
        """Binds the subscriptions of this broker's clients to a tree that is new here."""
        actions: list[Action] = []
        for entry in self._subscriptions.by_home.get(self._home_name, {}).values():
            if self.intersects(row, entry.subscription):
                self._subscriptions.bind(entry, (row.id,), None)
                self.index(entry)
                actions += self._propagation.forward(entry, (row.id,), 0)
        return actions

    def intersects(self, row: AdvertisementRow, subscription: Subscription) -> bool:
        """Most brokers never have to decode an advertisement; one that proves to be malformed intersects nothing."""
        try:
            return intersects(row.advertisement, subscription)
        except MalformedMessageError as error:
            self._report_dropped(Message(Kind.ADVERTISE, row.id, row.body), f"malformed: {error}")
            return False

    def withdraw(self, entry: SubscriptionRow, tids: Collection[TreeId], source: BrokerId | None) -> Actions:
        """Removes the routes that `source` announced (None: the subscriber itself), here and up the trees."""
        if source is not None:
            routes = entry.routes.by_tid
            tids = [tid for tid in tids if (route := routes.get(tid)) is not None and route.last_hop == source]
        self._subscriptions.unbind(entry, tids)
        if source is None or not entry.tids:
            self._subscriptions.remove(entry)
        self.index(entry)
        return self._propagation.withdraw(entry, tids, source)

    def index(self, entry: SubscriptionRow) -> None:
        """Keeps in the matching index exactly the subscriptions that are bound to a tree rooted here."""
        matched = not entry.tids.keys().isdisjoint(self._rooted)
        if matched and not entry.indexed:
            self._matching.add(entry, entry.subscription)
            entry.indexed = True
        elif entry.indexed and not matched:
            self._matching.remove(entry)
            entry.indexed = False

    def unbind_all(self, tid: TreeId) -> None:
        """Unbinds all subscriptions from a tree that has ended, or is lost here."""
        for entry in self._subscriptions.bound_to(tid):
            self._subscriptions.unbind(entry, (tid,))
            if not entry.local and not entry.tids:
                self._subscriptions.remove(entry)
            self.index(entry)
