"""Subscriptions bound to trees at one broker (rule 2 of `router`), and the index of those that are matched here."""

from __future__ import annotations

from collections.abc import Callable, Collection

from broker_service.language import Subscription
from broker_service.language.relations import intersects
from broker_service.messages import BrokerId, Kind, Message
from broker_service.routing.common.identifiers import Home
from broker_service.routing.interface import Action, Actions, MalformedMessageError, Matcher
from broker_service.routing.tid.propagation import Propagation
from broker_service.routing.tid.routes import TreeId
from broker_service.routing.tid.tables import (
    AdvertisementRow,
    PublicationRoutingTable,
    SubscriptionRow,
)


class Bindings:
    """Binds and unbinds; the router owns the tables and performs the actions."""

    def __init__(
        self,
        home: Home,
        subscriptions: PublicationRoutingTable,
        matching: Matcher[SubscriptionRow],
        propagation: Propagation,
        report_dropped: Callable[[Message, str], None],
    ) -> None:
        """`report_dropped` is that of `RouterContext`."""
        self._home_name = str(home)
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
        matched = not entry.tids.keys().isdisjoint(self._subscriptions.rooted)
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
