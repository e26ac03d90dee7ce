"""The tables of OctopiA: the cluster link table for advertisements, the publication routing table for subscriptions.

Both are looked up by identifiers, which every broker makes for what its own clients say. They name a row for its
withdrawal; they detect no duplicates, for there are none (OctopiA, sections 6 and 7).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from operator import attrgetter

from broker_service.language import Advertisement, Subscription
from broker_service.language.relations import intersects
from broker_service.messages import BrokerId, ClientId
from broker_service.routing.common.identifiers import Home, split_id
from broker_service.routing.matcher import Matcher
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
    place: int = -1
    """Grows with every subscription that comes to this broker."""


_place: Callable[[SubscriptionRow], int] = attrgetter("place")


class PublicationRoutingTable:
    """The PRT: all subscriptions of the own cluster, and the index by which publications find them."""

    def __init__(self, matcher: Matcher[SubscriptionRow]) -> None:
        self.matcher = matcher
        """Holds every row of the table."""
        self._rows: dict[str, SubscriptionRow] = {}
        self._oldest_first: list[SubscriptionRow] = []
        self._places = count()

    def __iter__(self) -> Iterator[SubscriptionRow]:
        return iter(self._rows.values())

    def get(self, id: str) -> SubscriptionRow | None:
        return self._rows.get(id)

    def add(self, row: SubscriptionRow) -> None:
        row.place = next(self._places)
        self._rows[row.id] = row
        self._oldest_first.append(row)
        self.matcher.add(row, row.subscription)

    def remove(self, row: SubscriptionRow) -> None:
        del self._rows[row.id]
        del self._oldest_first[bisect_left(self._oldest_first, row.place, key=_place)]
        self.matcher.remove(row)

    def oldest_intersecting(self, advertisement: Advertisement, since: int = 0) -> SubscriptionRow | None:
        """The oldest subscription that intersects an advertisement, of those at this place or later."""
        rows = self._oldest_first
        begin = bisect_left(rows, since, key=_place)
        later = (rows[index] for index in range(begin, len(rows)))
        return next((row for row in later if intersects(advertisement, row.subscription)), None)


@dataclass(slots=True, eq=False)
class AdvertisementRow:
    """A row {advertisement, CIV, last hop} of the cluster link table."""

    id: str
    body: bytes
    advertisement: Advertisement
    civ: ClusterIndexVector
    """CIV_a at the host broker; CIV_s at a secondary broker, whose own bit says what the host broker was told."""
    last_hop: BrokerId | None
    """The host broker; None when the publisher is a client of this very broker."""
    witness: SubscriptionRow | None = None
    """At a secondary broker: the oldest subscription of the own cluster that intersects the advertisement, if there is
    any. While it stands, the own bit stays, and nothing else has to be compared; when it leaves, only younger ones."""

    @property
    def number(self) -> int:
        """Counts up with everything the host broker's clients say."""
        return split_id(self.id)[1]


class ClusterLinkTable:
    """The CLT: the advertisements of the host region, in the order they came."""

    def __init__(self) -> None:
        self._rows: dict[str, AdvertisementRow] = {}

    def __iter__(self) -> Iterator[AdvertisementRow]:
        return iter(self._rows.values())

    def get(self, id: str) -> AdvertisementRow | None:
        return self._rows.get(id)

    def own(self) -> list[AdvertisementRow]:
        """Those of publishers at this broker."""
        return [row for row in self if row.last_hop is None]

    def from_neighbour(self, neighbour: BrokerId) -> list[AdvertisementRow]:
        return [row for row in self if row.last_hop == neighbour]

    def add(self, row: AdvertisementRow) -> None:
        self._rows[row.id] = row

    def remove(self, id: str) -> AdvertisementRow | None:
        return self._rows.pop(id, None)
