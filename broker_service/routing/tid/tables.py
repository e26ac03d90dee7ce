"""Tables of TID-based routing: advertisements and subscriptions, and the neighbour towards each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Set
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakValueDictionary

from broker_service.language import Advertisement, Subscription
from broker_service.messages import BrokerId
from broker_service.routing.common.decoding import decode_advertisement, decode_subscription
from broker_service.routing.common.identifiers import Home, split_id
from broker_service.routing.common.tables import AdvertisementTable, RoutingTable
from broker_service.routing.tid.routes import NO_ROUTES, Route, Routes, TreeId

_NAME_BYTES: Final = 64
"""Bytes of memory for a name in a row, about."""

Group = tuple[int, ...]
"""Numbers of subscriptions of one client, at least one."""


@dataclass(slots=True, eq=False)
class AdvertisementRow:
    """A row of the subscription routing table: an advertisement and the neighbour it came from."""

    id: TreeId
    """Identifier of the advertisement's tree (TID)."""
    body: bytes
    last_hop: BrokerId | None
    """The neighbour towards the publisher; None when the publisher is a client of this broker."""
    path: tuple[BrokerId, ...]
    """The brokers that it came through, the publisher's first, this one not included."""
    root: Home
    _advertisement: Advertisement | None = None
    ending: bool = False
    """True once the tree's end is known, but its message has not come along the tree yet."""

    @property
    def advertisement(self) -> Advertisement:
        """Decoded when a subscription must be compared with it, which most brokers never have to.

        Raises `MalformedMessageError`.
        """
        if self._advertisement is None:
            self._advertisement = decode_advertisement(self.body)
        return self._advertisement


class SubscriptionRoutingTable(AdvertisementTable[AdvertisementRow]):
    """The SRT: one row for each advertisement, by TID, and the TIDs withdrawn lately.

    A withdrawn TID is remembered, because a copy of the advertisement may still arrive over a slower path; taken for a
    new one, it would be broadcast again. A removed row may come again.
    """

    WITHDRAWN_KEPT = 10_000

    def __init__(self) -> None:
        super().__init__()
        self.withdrawn: dict[TreeId, None] = {}
        """TIDs that were withdrawn lately."""
        self.rooted: set[TreeId] = set()
        """Trees that are rooted at this broker."""
        self._by_root: dict[BrokerId, dict[TreeId, None]] = {}

    def add(self, row: AdvertisementRow) -> None:
        self._rows[row.id] = row
        if row.last_hop is None:
            self.rooted.add(row.id)
        else:
            self.rooted.discard(row.id)
        self._by_root.setdefault(row.root.broker, {})[row.id] = None

    def remove(self, id: TreeId) -> AdvertisementRow | None:
        row = self._rows.pop(id, None)
        if row is not None:
            self.rooted.discard(id)
            _discard(self._by_root, row.root.broker, id)
        return row

    def rooted_at(self, broker: BrokerId) -> Collection[TreeId]:
        """The trees of one broker, of all its incarnations."""
        return self._by_root.get(broker, {}).keys()

    def withdraw(self, tid: TreeId) -> AdvertisementRow | None:
        """Removes a row, and refuses its TID from now on."""
        self.withdrawn[tid] = None
        if len(self.withdrawn) > self.WITHDRAWN_KEPT:
            del self.withdrawn[next(iter(self.withdrawn))]
        return self.remove(tid)

    def declared(self) -> Iterator[int]:
        """Bytes of each advertisement that came from a neighbour."""
        return (len(row.body) + _NAME_BYTES * len(row.path) for row in self if row.last_hop is not None)


@dataclass(slots=True, eq=False)
class SubscriptionRow:
    """A row of the publication routing table: `{subscription, [(TID, last hop)]}`."""

    id: str
    body: bytes
    home: Home
    number: int
    client: str
    """The subscriber. A publication that matches several of its subscriptions makes one notification."""
    local: bool
    """True when the subscriber is a client of this very broker."""
    tids: dict[TreeId, None] = field(default_factory=dict)
    """The trees that the subscription is bound to, as far as this broker knows."""
    rooted: dict[TreeId, None] = field(default_factory=dict)
    """Trees of `tids` that are rooted at this broker."""
    routes: Routes = NO_ROUTES
    """Routes to the subscriber; empty when it is local."""
    home_name: str = field(init=False)
    """`home` as `id` has it."""
    indexed: bool = False
    """True while the matching index of this broker has it."""
    _subscription: Subscription | None = None

    def __post_init__(self) -> None:
        self.home_name = self.id.rpartition(".")[0]

    @property
    def subscription(self) -> Subscription:
        """Decoded only where publications are matched. Raises `MalformedMessageError`."""
        return self._subscription or self.decode()

    def decode(self) -> Subscription:
        """Decodes the content, unless that was done before. Raises `MalformedMessageError`."""
        if self._subscription is None:
            self._subscription = decode_subscription(self.body)
        return self._subscription


class PublicationRoutingTable(RoutingTable[SubscriptionRow]):
    """The PRT: one row a subscription, found by identifier, by home and number, and by TID."""

    def __init__(self, rooted: Set[TreeId]) -> None:
        """`rooted` are the trees that are rooted at this broker, a live view; the subscriptions of such a tree are
        unbound when it ends."""
        super().__init__()
        self._rooted = rooted
        self.by_home: dict[str, dict[int, SubscriptionRow]] = {}
        """The subscriptions of each home that has any, by number."""
        self._homes: dict[BrokerId, dict[str, None]] = {}
        """Keys of `by_home`, by broker."""
        self._by_tid: dict[TreeId, dict[str, SubscriptionRow]] = {}
        self._trees: dict[BrokerId, dict[TreeId, None]] = {}
        """Keys of `_by_tid`, by the root's broker."""
        self._shared: WeakValueDictionary[int, Routes] = WeakValueDictionary()
        """Routes that several rows share, by their digest."""

    def of_broker(self, broker: BrokerId) -> Iterator[SubscriptionRow]:
        """The subscriptions of all incarnations of one broker; rows may be removed meanwhile."""
        for home in tuple(self._homes.get(broker, {})):
            yield from tuple(self.by_home.get(home, {}).values())

    def trees_of(self, broker: BrokerId) -> Collection[TreeId]:
        """The TIDs of one broker's trees that subscriptions are bound to."""
        return self._trees.get(broker, {}).keys()

    def declared(self) -> Iterator[int]:
        """Bytes of each subscription of other brokers' clients."""
        return (len(entry.body) + _NAME_BYTES * len(entry.tids) for entry in self if not entry.local)

    def bound_to(self, tid: TreeId) -> Iterable[SubscriptionRow]:
        return tuple(self._by_tid.get(tid, {}).values())

    def add(self, entry: SubscriptionRow) -> None:
        self._rows[entry.id] = entry
        self.by_home.setdefault(entry.home_name, {})[entry.number] = entry
        self._homes.setdefault(entry.home.broker, {})[entry.home_name] = None

    def remove(self, entry: SubscriptionRow) -> None:
        self.unbind(entry, tuple(entry.tids))
        self._rows.pop(entry.id, None)
        numbers = self.by_home[entry.home_name]
        numbers.pop(entry.number, None)
        if not numbers:
            del self.by_home[entry.home_name]
            _discard(self._homes, entry.home.broker, entry.home_name)

    def bind(self, entry: SubscriptionRow, tids: Collection[TreeId], route: Route | None) -> None:
        """Binds a subscription to trees; `route` is how it came along them, None for a local one."""
        for tid in tids:
            entry.tids[tid] = None
            if tid in self._rooted:
                entry.rooted[tid] = None
            bound = self._by_tid.get(tid)
            if bound is None:
                bound = self._by_tid[tid] = {}
                self._trees.setdefault(split_id(tid)[0].broker, {})[tid] = None
            bound[entry.id] = entry
        if route is not None and tids:
            entry.routes = self._share(entry.routes.along(tids, route))

    def unbind(self, entry: SubscriptionRow, tids: Collection[TreeId]) -> None:
        for tid in tids:
            entry.tids.pop(tid, None)
            entry.rooted.pop(tid, None)
            entries = self._by_tid.get(tid)
            if entries is not None:
                entries.pop(entry.id, None)
                if not entries:
                    del self._by_tid[tid]
                    _discard(self._trees, split_id(tid)[0].broker, tid)
        routes = entry.routes.without(tids)
        if routes is not entry.routes:
            entry.routes = self._share(routes)

    def _share(self, routes: Routes) -> Routes:
        """The object that stands for routes equal to these. Different ones of one digest are not shared."""
        shared = self._shared.setdefault(routes.digest, routes)
        return shared if shared is routes or shared.by_tid == routes.by_tid else routes


def _discard(sets: dict[BrokerId, dict[str, None]], broker: BrokerId, item: str) -> None:
    items = sets.get(broker)
    if items is not None:
        items.pop(item, None)
        if not items:
            del sets[broker]
