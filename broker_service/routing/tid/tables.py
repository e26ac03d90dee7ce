"""Tables of TID-based routing: advertisements and subscriptions, and the neighbour towards each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from sys import intern
from typing import Final
from weakref import WeakValueDictionary

import msgspec

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


class AdvertisementRow(msgspec.Struct, eq=False, gc=False):
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
        self.ending: set[TreeId] = set()
        """Trees whose end is known, but its message has not come along the tree yet; hardly ever any."""
        self._roots: defaultdict[BrokerId, int] = defaultdict(int)
        """Numbers of trees, by the broker that they are rooted at."""

    def add(self, row: AdvertisementRow) -> None:
        if row.id not in self:
            self._roots[row.root.broker] += 1
        self._rows[row.id] = row
        self.ending.discard(row.id)
        if row.last_hop is None:
            self.rooted.add(row.id)
        else:
            self.rooted.discard(row.id)

    def remove(self, id: TreeId) -> AdvertisementRow | None:
        row = self._rows.pop(id, None)
        if row is not None:
            self.rooted.discard(id)
            self.ending.discard(id)
            _count_less(self._roots, row.root.broker)
        return row

    def rooted_at(self, broker: BrokerId) -> Collection[TreeId]:
        """The trees of one broker, of all its incarnations."""
        return [row.id for row in self if row.root.broker == broker] if broker in self._roots else ()

    def withdraw(self, tid: TreeId) -> AdvertisementRow | None:
        """Removes a row, and refuses its TID from now on."""
        self.withdrawn[tid] = None
        if len(self.withdrawn) > self.WITHDRAWN_KEPT:
            del self.withdrawn[next(iter(self.withdrawn))]
        return self.remove(tid)

    def declared(self) -> Iterator[int]:
        """Bytes of each advertisement that came from a neighbour."""
        return (len(row.body) + _NAME_BYTES * len(row.path) for row in self if row.last_hop is not None)


class SubscriptionRow(msgspec.Struct, eq=False, gc=False):
    """A row of the publication routing table: `{subscription, [(TID, last hop)]}`."""

    id: str
    body: bytes
    home: Home
    number: int
    client: str
    """The subscriber. A publication that matches several of its subscriptions makes one notification."""
    local: bool
    """True when the subscriber is a client of this very broker."""
    routes: Routes = NO_ROUTES
    """Routes to the subscriber; empty when it is local."""
    tids: Mapping[TreeId, object] = msgspec.field(default_factory=dict)
    """Trees that the subscription is bound to, as far as this broker knows; unless it is local, those of its routes."""
    indexed: bool = False
    """True while the matching index of this broker has it."""
    home_name: str = ""
    """`home` as `id` has it; empty until the row is in a table."""
    _subscription: Subscription | None = None

    @property
    def subscription(self) -> Subscription:
        """Decoded only where publications are matched. Raises `MalformedMessageError`."""
        return self._subscription or self.decode()

    def decode(self) -> Subscription:
        """Decodes the content, unless that was done before. Raises `MalformedMessageError`."""
        if self._subscription is None:
            self._subscription = decode_subscription(self.body)
        return self._subscription


class BoundRows:
    """Subscriptions bound to each tree at one broker, in the order in which they were bound.

    There are as many bindings as trees times subscriptions, so that they take most of a broker's memory; a list for
    each tree takes a third of that of a table. A subscription that leaves a tree stays in its list, until half of the
    list has left. Its own row tells that it has.
    """

    def __init__(self) -> None:
        self._rows: dict[TreeId, list[SubscriptionRow]] = {}
        """Rows bound to each tree, and those that have left it. One that has come back is at both places."""
        self._left: dict[TreeId, int] = {}
        """Places of each tree's list whose row has left since; trees without such places are missing."""
        self._roots: defaultdict[BrokerId, int] = defaultdict(int)
        """Numbers of these trees, by the broker that they are rooted at."""

    def add(self, tids: Iterable[TreeId], row: SubscriptionRow) -> None:
        """Adds a row to those of trees that its `tids` still lack."""
        known = row.tids
        for tid in tids:
            if tid in known:
                continue
            rows = self._rows.get(tid)
            if rows is None:
                self._rows[tid] = [row]
                self._roots[split_id(tid)[0].broker] += 1
            else:
                rows.append(row)

    def discard(self, tids: Iterable[TreeId]) -> None:
        """Notes that a row is bound to these trees no more; its `tids` must lack them already."""
        for tid in tids:
            rows, left = self._rows[tid], self._left.pop(tid, 0) + 1
            if left == len(rows):
                del self._rows[tid]
                _count_less(self._roots, split_id(tid)[0].broker)
            elif 2 * left > len(rows):
                self._rows[tid] = list(_bound(tid, rows))
            else:
                self._left[tid] = left

    def to(self, tid: TreeId) -> Collection[SubscriptionRow]:
        """Rows that are bound to a tree."""
        rows = self._rows.get(tid, ())
        return _bound(tid, rows) if tid in self._left else tuple(rows)

    def trees_of(self, broker: BrokerId) -> Collection[TreeId]:
        """Trees rooted at one broker that rows are bound to."""
        if broker not in self._roots:
            return ()
        return [tid for tid in self._rows if split_id(tid)[0].broker == broker]


class PublicationRoutingTable(RoutingTable[SubscriptionRow]):
    """The PRT: one row a subscription, found by identifier, by home and number, and by TID."""

    def __init__(self) -> None:
        super().__init__()
        self.by_home: dict[str, dict[int, SubscriptionRow]] = {}
        """The subscriptions of each home that has any, by number."""
        self._homes: defaultdict[BrokerId, int] = defaultdict(int)
        """Numbers of homes that have any, by their broker."""
        self._bound: BoundRows = BoundRows()
        self._shared: WeakValueDictionary[int, Routes] = WeakValueDictionary()
        """Routes that several rows share, by their digest."""

    def of_broker(self, broker: BrokerId) -> Iterator[SubscriptionRow]:
        """The subscriptions of all incarnations of one broker; rows may be removed meanwhile."""
        if broker in self._homes:
            for home in [name for name in self.by_home if name.rpartition(".")[0] == broker]:
                yield from tuple(self.by_home.get(home, {}).values())

    def trees_of(self, broker: BrokerId) -> Collection[TreeId]:
        """The TIDs of one broker's trees that subscriptions are bound to."""
        return self._bound.trees_of(broker)

    def declared(self) -> Iterator[int]:
        """Bytes of each subscription of other brokers' clients."""
        return (len(entry.body) + _NAME_BYTES * len(entry.tids) for entry in self if not entry.local)

    def bound_to(self, tid: TreeId) -> Iterable[SubscriptionRow]:
        """The subscriptions that are bound to a tree, in the order in which they were bound."""
        return self._bound.to(tid)

    def add(self, entry: SubscriptionRow) -> None:
        """Adds a row, whose names become one object for all rows of the process."""
        entry.home_name, entry.client = intern(entry.id.rpartition(".")[0]), intern(entry.client)
        self._rows[entry.id] = entry
        of_home = self.by_home.get(entry.home_name)
        if of_home is None:
            of_home = self.by_home[entry.home_name] = {}
            self._homes[entry.home.broker] += 1
        of_home[entry.number] = entry

    def remove(self, entry: SubscriptionRow) -> None:
        self.unbind(entry, tuple(entry.tids))
        self._rows.pop(entry.id, None)
        numbers = self.by_home[entry.home_name]
        numbers.pop(entry.number, None)
        if not numbers:
            del self.by_home[entry.home_name]
            _count_less(self._homes, entry.home.broker)

    def bind(self, entry: SubscriptionRow, tids: Collection[TreeId], route: Route | None) -> None:
        """Binds a subscription to trees; `route` is how it came along them, None for a local one."""
        self._bound.add(tids, entry)
        if route is None:
            entry.tids = dict.fromkeys((*entry.tids, *tids))
        elif tids:
            entry.routes = self._share(entry.routes.along(tids, route))
            entry.tids = entry.routes.by_tid

    def unbind(self, entry: SubscriptionRow, tids: Collection[TreeId]) -> None:
        gone = [tid for tid in tids if tid in entry.tids]
        if not gone:
            return
        if entry.local:
            leaving = set(gone)
            entry.tids = {tid: None for tid in entry.tids if tid not in leaving}
        else:
            entry.routes = self._share(entry.routes.without(gone))
            entry.tids = entry.routes.by_tid
        self._bound.discard(gone)

    def _share(self, routes: Routes) -> Routes:
        """The object that stands for routes equal to these. Different ones of one digest are not shared."""
        shared = self._shared.setdefault(routes.digest, routes)
        return shared if shared is routes or shared.by_tid == routes.by_tid else routes


def _count_less(counts: dict[BrokerId, int], broker: BrokerId) -> None:
    """Counts one thing of a broker less; a broker without any is not kept."""
    counts[broker] -= 1
    if not counts[broker]:
        del counts[broker]


def _bound(tid: TreeId, rows: Sequence[SubscriptionRow]) -> Collection[SubscriptionRow]:
    """Rows of a list that are bound to the tree; one that has come back counts where it came last."""
    latest = dict.fromkeys(row for row in reversed(rows) if tid in row.tids)
    return tuple(reversed(latest))
