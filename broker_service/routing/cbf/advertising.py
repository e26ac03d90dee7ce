"""Advertisements at one server: a subscription is told only towards those that intersect it (rule 4 of `router`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from broker_service.language.relations import intersects
from broker_service.messages import BrokerId, Kind, Message
from broker_service.routing.cbf.announcements import ToldSums
from broker_service.routing.cbf.table import Advertised, ForwardingTable
from broker_service.routing.common.decoding import decode_advertisement
from broker_service.routing.common.reconciliation import Reconciliation
from broker_service.routing.common.tables import AdvertisementTable
from broker_service.routing.interface import Action, Actions, Send


class Declared(NamedTuple):
    """A subscription's content or an advertisement's identifier, as something that a neighbour has told."""

    kind: Kind
    key: bytes | str


class Advertising:
    """Spreads advertisements on the tree. The router owns the tables."""

    def __init__(
        self,
        rows: AdvertisementTable[Advertised],
        table: ForwardingTable,
        told: ToldSums,
        reconciliation: Reconciliation[Declared],
    ) -> None:
        self._rows = rows
        self._table = table
        self._told = told
        self._reconciliation = reconciliation

    def add(self, row: Advertised, hops: int) -> Actions:
        """Adds an advertisement, which has travelled `hops` links."""
        self._rows.add(row)
        actions = self._broadcast(Message(Kind.ADVERTISE, row.id, row.body, hops=hops + 1), row.last_hop)
        return [*actions, *self._towards(row)]

    def receive(self, neighbour: BrokerId, message: Message) -> Actions:
        """A neighbour has an advertisement, of which a restarted one may tell anew."""
        if message.id in self._rows:
            self._reconciliation.confirm(neighbour, Declared(Kind.ADVERTISE, message.id))
            return ()
        advertisement = decode_advertisement(message.body)
        return self.add(Advertised(message.id, advertisement, message.body, neighbour), message.hops)

    def remove(self, id: str, hops: int) -> Actions:
        """Removes an advertisement; the withdrawal has travelled `hops` links."""
        row = self._rows.remove(id)
        if row is None:
            return ()
        actions = self._broadcast(Message(Kind.UNADVERTISE, id, hops=hops + 1), row.last_hop)
        return [*actions, *self._towards(row)]

    def receive_end(self, neighbour: BrokerId, message: Message) -> Actions:
        """A neighbour has an advertisement no more."""
        if self._rows.last_hop(message.id) != neighbour:
            return ()
        return self.remove(message.id, message.hops)

    def _towards(self, row: Advertised) -> list[Action]:
        """Brings the sum for the neighbour in line that an advertisement came from, or came from until now."""
        if row.last_hop is None:
            return []
        entries = [entry for entry in self._table if intersects(row.advertisement, entry.subscription)]
        return [action for entry in entries for action in self._told.update(entry, 0)]

    def _broadcast(self, message: Message, source: BrokerId | None) -> Sequence[Send]:
        return [Send(neighbour, message) for neighbour in self._told.sums if neighbour != source]
