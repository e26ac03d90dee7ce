"""Tables of OctopiA: the cluster link table for advertisements, the publication routing table for subscriptions.

Both are looked up by the identifiers that brokers give to what their clients advertise and subscribe to. An identifier
names a row for its withdrawal; it detects no duplicates, because there are none (OctopiA, sections 6 and 7).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from operator import attrgetter

from broker_service.language import Advertisement, Subscription
from broker_service.language.relations import intersects
from broker_service.messages import BrokerId, ClientId
from broker_service.routing.common.identifiers import Home, split_id
from broker_service.routing.common.tables import AdvertisementTable, RoutingTable
from broker_service.routing.interface import Matcher
from broker_service.routing.octopia.messages import CivSetForSubscription
from broker_service.routing.octopia.vector import ClusterIndexVector


@dataclass(slots=True, eq=False)
class SubscriptionRow:
    """A row of the publication routing table."""

    id: str
    body: bytes
    home: Home
    """The subscriber's broker."""
    subscription: Subscription
    last_hop: BrokerId | None
    """The primary neighbour it came from; None when the subscriber is a client of this broker."""
    client: ClientId = ""
    """The subscriber, when it is a client of this broker."""
    sequence: int = -1
    """Grows with every subscription that arrives at this broker."""


_sequence: Callable[[SubscriptionRow], int] = attrgetter("sequence")


class PublicationRoutingTable(RoutingTable[SubscriptionRow]):
    """The PRT: all subscriptions of the own cluster, and the index by which publications find them."""

    def __init__(self, matcher: Matcher[SubscriptionRow]) -> None:
        super().__init__()
        self.matcher = matcher
        """Matcher that holds every row of the table."""
        self._oldest_first: list[SubscriptionRow] = []
        self._sequence = count()

    def add(self, row: SubscriptionRow) -> None:
        super().add(row)
        row.sequence = next(self._sequence)
        self._oldest_first.append(row)
        self.matcher.add(row, row.subscription)

    def remove(self, row: SubscriptionRow) -> None:
        """Removes a row. Raises `KeyError` when it is not in the table."""
        del self._rows[row.id]
        del self._oldest_first[bisect_left(self._oldest_first, row.sequence, key=_sequence)]
        self.matcher.remove(row)

    def oldest_intersecting(self, advertisement: Advertisement, since: int = 0) -> SubscriptionRow | None:
        """The oldest subscription that intersects an advertisement, among those of this sequence number or a later."""
        rows = self._oldest_first
        begin = bisect_left(rows, since, key=_sequence)
        later = (rows[index] for index in range(begin, len(rows)))
        return next((row for row in later if intersects(advertisement, row.subscription)), None)


@dataclass(slots=True, eq=False)
class AdvertisementRow:
    """A row {advertisement, CIV, last hop} of the cluster link table."""

    id: str
    body: bytes
    advertisement: Advertisement
    civ: ClusterIndexVector
    """CIV_a at the host broker; CIV_s at a secondary broker, where the own bit is what the host broker was sent."""
    last_hop: BrokerId | None
    """The host broker; None when the publisher is a client of this very broker."""
    witness: SubscriptionRow | None = None
    """At a secondary broker: the oldest subscription of the own cluster that intersects the advertisement, if there is
    one. While it stays, the own bit stays, and nothing else has to be compared; when it leaves, only younger ones."""

    @property
    def number(self) -> int:
        """Grows with every operation of the host broker's clients."""
        return split_id(self.id)[1]


class ClusterLinkTable(AdvertisementTable[AdvertisementRow]):
    """The CLT: advertisements of the host region, in the order they came, and the bit of the own cluster in each."""

    def __init__(self, own_bit: ClusterIndexVector) -> None:
        super().__init__()
        self._own_bit = own_bit
        self._newest: dict[BrokerId, str] = {}
        """The advertisement that arrived last from each secondary neighbour."""

    def add(self, row: AdvertisementRow) -> None:
        """Adds a row, in place of one with its identifier."""
        super().add(row)
        if row.last_hop is not None:
            self._newest[row.last_hop] = row.id

    def forget(self, host: BrokerId) -> None:
        """A secondary neighbour has lost its tables."""
        self._newest.pop(host, None)
        for row in self.from_neighbour(host):
            self.remove(row.id)

    def is_set(self, row: AdvertisementRow) -> bool:
        """True when the host broker forwards the advertisement's publications to this cluster."""
        return bool(row.civ & self._own_bit)

    def unconfirmed(self, host: BrokerId) -> list[AdvertisementRow]:
        """Advertisements for which the host broker has set this cluster's bit, without a witness here."""
        return [row for row in self.from_neighbour(host) if self.is_set(row) and row.witness is None]

    def set_for(self, subscribed: SubscriptionRow) -> list[tuple[BrokerId, CivSetForSubscription]]:
        """Makes a subscription the witness of the advertisements for which it is the first in the cluster. Returns
        their host brokers that are to set the bit, each with the last advertisement that has come from it."""
        hosts: dict[BrokerId, None] = {}
        for row in self._rows.values():
            if row.last_hop is None or row.witness is not None:
                continue
            if intersects(row.advertisement, subscribed.subscription):
                row.witness = subscribed
                if not self.is_set(row):
                    row.civ |= self._own_bit
                    hosts[row.last_hop] = None
        return [(host, CivSetForSubscription(self._newest[host])) for host in hosts]

    def without_witness(
        self, withdrawn: SubscriptionRow, subscriptions: PublicationRoutingTable
    ) -> list[AdvertisementRow]:
        """Seeks successors of a withdrawn subscription. Returns the advertisements that have no witness now."""
        orphaned = []
        for row in self._rows.values():
            if row.witness is withdrawn:
                row.witness = subscriptions.oldest_intersecting(row.advertisement, withdrawn.sequence)
                if row.witness is None:
                    orphaned.append(row)
        return orphaned

    def unset(self, rows: Iterable[AdvertisementRow]) -> Mapping[BrokerId, list[str]]:
        """Takes the own bit back from advertisements. Returns those that have had it, by host broker."""
        by_host: dict[BrokerId, list[str]] = {}
        for row in rows:
            if row.last_hop is not None and self.is_set(row):
                row.civ &= ~self._own_bit
                by_host.setdefault(row.last_hop, []).append(row.id)
        return by_host
