"""Tables of TID-based routing: advertisements and subscriptions, and the neighbour towards each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from broker_service.language import Advertisement, Subscription
from broker_service.messages import BrokerId
from broker_service.routing.common.decoding import decode_advertisement, decode_subscription
from broker_service.routing.common.identifiers import Home
from broker_service.routing.common.tables import AdvertisementTable, RoutingTable
from broker_service.routing.tid.routes import NO_ROUTES, Route, Routes, TreeId

Group = tuple[int, ...]
"""Numbers of subscriptions of one client, at least one."""


@dataclass(slots=True, eq=False)
class AdvertisementRow:
    """A row of the subscription routing table: an advertisement and the neighbour it came from."""

    id: TreeId
    """The TID."""
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
        self._withdrawn: dict[TreeId, None] = {}

    def withdraw(self, tid: TreeId) -> AdvertisementRow | None:
        """Removes a row, and refuses its TID from now on."""
        self._withdrawn[tid] = None
        if len(self._withdrawn) > self.WITHDRAWN_KEPT:
            del self._withdrawn[next(iter(self._withdrawn))]
        return self.remove(tid)

    def is_withdrawn(self, tid: TreeId) -> bool:
        return tid in self._withdrawn


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
    routes: Routes = NO_ROUTES
    """Empty when the subscriber is local."""
    home_name: str = field(init=False)
    """`home` in the form that identifiers have."""
    _subscription: Subscription | None = None

    def __post_init__(self) -> None:
        self.home_name = str(self.home)

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

    def __init__(self) -> None:
        super().__init__()
        self._by_home: dict[str, dict[int, SubscriptionRow]] = {}
        self._by_tid: dict[TreeId, dict[str, SubscriptionRow]] = {}
        self._shared: WeakValueDictionary[tuple[tuple[TreeId, Route], ...], Routes] = WeakValueDictionary()

    def at_home(self, home: str) -> Mapping[int, SubscriptionRow]:
        """The subscriptions of one home, by number."""
        return self._by_home.get(home, {})

    def trees(self) -> Set[TreeId]:
        """The TIDs that subscriptions are bound to."""
        return self._by_tid.keys()

    def bound_to(self, tid: TreeId) -> Iterable[SubscriptionRow]:
        return tuple(self._by_tid.get(tid, {}).values())

    def add(self, entry: SubscriptionRow) -> None:
        super().add(entry)
        self._by_home.setdefault(entry.home_name, {})[entry.number] = entry

    def remove(self, entry: SubscriptionRow) -> None:
        self.unbind(entry, tuple(entry.tids))
        self._rows.pop(entry.id, None)
        numbers = self._by_home[entry.home_name]
        numbers.pop(entry.number, None)
        if not numbers:
            del self._by_home[entry.home_name]

    def bind(self, entry: SubscriptionRow, tids: Collection[TreeId], route: Route | None) -> None:
        """Binds a subscription to trees; `route` is how it came along them, None for a local one."""
        for tid in tids:
            entry.tids[tid] = None
            self._by_tid.setdefault(tid, {})[entry.id] = entry
        if route is not None and tids:
            self._set_routes(entry, {**entry.routes.by_tid, **dict.fromkeys(tids, route)})

    def unbind(self, entry: SubscriptionRow, tids: Collection[TreeId]) -> None:
        for tid in tids:
            entry.tids.pop(tid, None)
            entries = self._by_tid.get(tid, {})
            entries.pop(entry.id, None)
            if not entries:
                self._by_tid.pop(tid, None)
        routes = entry.routes.by_tid
        kept = {tid: route for tid, route in routes.items() if tid not in tids}
        if len(kept) < len(routes):
            self._set_routes(entry, kept)

    def _set_routes(self, entry: SubscriptionRow, by_tid: dict[TreeId, Route]) -> None:
        key = tuple(sorted(by_tid.items(), key=_tid_of))
        routes = self._shared.get(key)
        if routes is None:
            routes = Routes(dict(key))
            self._shared[key] = routes
        entry.routes = routes


def routes_to(entries: Sequence[SubscriptionRow], tid: TreeId) -> Routes:
    """The routes that a publication of tree `tid` may take to subscriptions of one client; `NO_ROUTES` without any.

    They lead to all of these subscriptions that are bound to the publication's tree (to all of these when none is,
    because it follows another tree): on a route to only some of them, it would be lost if those were withdrawn while it
    travels.
    """
    if not entries:
        return NO_ROUTES
    first = entries[0].routes
    if len(entries) == 1 or all(entry.routes is first for entry in entries):
        return first
    every = [entry.routes for entry in entries]
    bound = [routes for routes in every if tid in routes.by_tid] or every
    fewest = min(bound, key=_number_of)
    shared = {key: route for key, route in fewest.by_tid.items() if all(key in routes.by_tid for routes in bound)}
    if not shared:
        return first
    return fewest if len(shared) == len(fewest.by_tid) else Routes(shared)


def _number_of(routes: Routes) -> int:
    return len(routes.by_tid)


def _tid_of(item: tuple[TreeId, Route]) -> TreeId:
    return item[0]
