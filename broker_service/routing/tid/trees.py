"""Trees at one broker: the advertisements that it knows, and the neighbours that it has them from (rule 1 of `router`).

A tree that ends, or is lost here (`reconciliation`), takes all that is bound to it along.
"""

from __future__ import annotations

import sys

from broker_service.messages import BrokerId, Kind, Message
from broker_service.routing.common.decoding import encode_header
from broker_service.routing.common.identifiers import Home, split_id
from broker_service.routing.common.reconciliation import Reconciliation
from broker_service.routing.interface import Action, Actions, MalformedMessageError, Send
from broker_service.routing.tid.bindings import Bindings, Propagation
from broker_service.routing.tid.messages import Lost, advertise_message, decode_advertise
from broker_service.routing.tid.placement.exchange import Exchange
from broker_service.routing.tid.reconciliation import Announcement, KnownIncarnations, Tree, is_void
from broker_service.routing.tid.routes import TreeId, shared_path
from broker_service.routing.tid.tables import AdvertisementRow, SubscriptionRoutingTable


class Trees:
    """Builds the trees at one broker, offers them to neighbours, and ends them."""

    def __init__(
        self,
        home: Home,
        neighbours: tuple[BrokerId, ...],
        advertisements: SubscriptionRoutingTable,
        *,
        incarnations: KnownIncarnations,
        bindings: Bindings,
        propagation: Propagation,
        reconciliation: Reconciliation[Announcement],
        exchange: Exchange,
    ) -> None:
        self._home = home
        self._neighbours = neighbours
        self._advertisements = advertisements
        self._incarnations = incarnations
        self._bindings = bindings
        self._propagation = propagation
        self._reconciliation = reconciliation
        self._exchange = exchange

    def announce(self, row: AdvertisementRow) -> list[Action]:
        """A client of this broker advertises."""
        self._advertisements.add(row)
        self._exchange.announced(row.id)
        message = advertise_message(row, self._home.broker, 1)
        return [*self.broadcast(message, None), *self._bindings.bind_local(row)]

    def receive(self, neighbour: BrokerId, message: Message) -> Actions:
        """Rule 1: the first copy counts, but never one that came through this very broker.

        When that one comes from this broker's last hop of the tree, two brokers hang below each other, and the tree is
        given up.
        """
        path = tuple(map(sys.intern, decode_advertise(message.header).path))
        root, _ = split_id(message.id)
        if is_void(message.id, self._advertisements, self._incarnations):
            return []
        known = self._advertisements.get(message.id)
        if len(set(path)) < len(path):
            raise MalformedMessageError("its path leads through one broker twice")
        if self._home.broker in path:
            return self.give_up(known) if known is not None and known.last_hop == neighbour else []
        self._reconciliation.confirm(neighbour, Tree(message.id))
        if known is not None:
            return self._renew_path(known, neighbour, message, path)
        entry = AdvertisementRow(message.id, message.body, neighbour, shared_path(path), root)
        self._advertisements.add(entry)
        onward = advertise_message(entry, self._home.broker, 1 + message.hops)
        return [
            *self.broadcast(onward, neighbour),
            *self._bindings.bind_local(entry),
            *self._propagation.renew(neighbour, (entry.id,)),
            *self._exchange.announced(entry.id),
        ]

    def _renew_path(
        self, row: AdvertisementRow, neighbour: BrokerId, message: Message, path: tuple[BrokerId, ...]
    ) -> Actions:
        """A tree reaches this broker by another path since a broker on it was restarted.

        All brokers behind must learn it; otherwise a broker on the new path, restarted in turn, would accept the tree
        from its own descendants.
        """
        if row.last_hop != neighbour or row.path == path:
            return []
        row.path = path
        return self.broadcast(advertise_message(row, self._home.broker, 1 + message.hops), neighbour)

    def receive_end(self, neighbour: BrokerId, message: Message) -> Actions:
        """A tree ends from its root outwards: a copy from elsewhere may have overtaken publications on the tree.

        Such a copy goes up the tree, because a broker above that waits for a link may learn of the end in no other way.
        """
        row = self._advertisements.get(message.id)
        if row is None or row.last_hop is None or row.last_hop == neighbour:
            return self.withdraw(message.id, neighbour)
        if row.id in self._advertisements.ending:
            return []
        self._advertisements.ending.add(row.id)
        if self._reconciliation.is_up(row.last_hop):
            return [Send(row.last_hop, message)]
        return [self._reconciliation.set_timer(row.last_hop)]

    def withdraw(self, tid: TreeId, source: BrokerId | None) -> list[Action]:
        """Ends a tree for good, here and at all neighbours but `source`."""
        known = self._advertisements.withdraw(tid)
        self._bindings.unbind_all(tid)
        if known is None:
            return []
        return [*self.broadcast(Message(Kind.UNADVERTISE, tid), source), *self._exchange.forget(tid)]

    def give_up(self, row: AdvertisementRow) -> list[Action]:
        """The tree does not reach this broker any more; a tree that is known to end is withdrawn for good."""
        if row.id in self._advertisements.ending:
            return self.withdraw(row.id, None)
        self._advertisements.remove(row.id)
        self._bindings.unbind_all(row.id)
        lost = Message(Kind.CONTROL, row.id, b"", encode_header(Lost(row.id)))
        return [*self.broadcast(lost, None), *self._exchange.forget(row.id)]

    def offer(self, neighbour: BrokerId, row: AdvertisementRow) -> list[Action]:
        """Offers a tree to a neighbour, unless the tree ends or leads through it.

        The neighbour would refuse a path through itself, so leaving out that offer saves a message and nothing else
        (tests/broker_service/routing/tid/test_offers.py).
        """
        if row.id in self._advertisements.ending or row.last_hop == neighbour or neighbour in row.path:
            return []
        return [Send(neighbour, advertise_message(row, self._home.broker, 1 + len(row.path)))]

    def ending_through(self, neighbour: BrokerId) -> list[AdvertisementRow]:
        """Trees that have ended, though the copy that says so along the tree has not come from this neighbour yet."""
        ending = self._advertisements.ending
        if not ending:
            return []
        return [row for row in self._advertisements if row.id in ending and row.last_hop == neighbour]

    def broadcast(self, message: Message, source: BrokerId | None) -> list[Action]:
        """Sends a message to all neighbours but `source`."""
        return [Send(neighbour, message) for neighbour in self._neighbours if neighbour != source]
