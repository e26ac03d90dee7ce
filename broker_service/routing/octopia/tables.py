"""Tables of OctopiA: the cluster link table for advertisements, the publication routing table for subscriptions.

Both are looked up by the identifiers that brokers give to what their clients advertise and subscribe to. An identifier
names a row for its withdrawal; it detects no duplicates, because there are none (OctopiA, sections 6 and 7).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from operator import attrgetter

from broker_service.language import Advertisement, Subscription
from broker_service.language.relations import intersects
from broker_service.messages import BrokerId, ClientId
from broker_service.routing.common.identifiers import Home, split_id
from broker_service.routing.common.tables import AdvertisementTable, RoutingTable
from broker_service.routing.interface import Matcher
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


ClusterLinkTable = AdvertisementTable[AdvertisementRow]
"""The CLT: the advertisements of the host region, in the order they came."""
