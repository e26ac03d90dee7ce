"""The subscription table of one broker, by distance-vector with split horizon.

Section 3, "Subscription Propagation", leaves open what happens when a subscriber turns out to be nearer or farther than
a subscription said. Rules, phi being the subscription horizon:

1. A subscription is known by its identifier. For each neighbour that announced it, the table has the distance of the
   subscriber over that link, from 1 to phi; a subscription of a client of this broker has the distance 0.
2. The distance announced to a neighbour is 1 + the least distance over all *other* links; each change of it is a
   message. A withdrawal is sent when it exceeds phi, and when no other link leads to the subscriber any more.
3. A new link starts with nothing, and both ends announce over it all that rule 2 yields. A link that vanishes or fails
   takes with it whatever came over it, which changes distances as rule 2 states.
4. A broker ignores its own subscriptions when they come back round a cycle.

Each change travels phi hops at most, so the tables settle within phi rounds and nothing counts to infinity. But it may
travel them over every walk of that length, so messages grow exponentially with phi. Without failures, no link carries a
subscription twice unless it was withdrawn in between or the subscriber came nearer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from broker_service.language import Subscription
from broker_service.messages import MOST_HOPS, BrokerId, ClientId
from broker_service.routing.interface import Matcher

_UNREACHABLE: Final = MOST_HOPS + 1
"""A distance beyond every horizon."""


class Row:
    """A subscription that a broker knows."""

    __slots__ = ("client", "distances", "id", "pattern")

    def __init__(self, id: str, pattern: Pattern, client: ClientId | None) -> None:
        self.id = id
        self.pattern = pattern
        self.client = client
        """The subscriber when it is a client of this broker."""
        self.distances: dict[BrokerId, int] = {}
        """Hops from this broker to the subscriber's, by the neighbours that announced the subscription."""

    def distances_to_announce(self) -> tuple[int, BrokerId | None, int]:
        """The least distance, the neighbour that it leads over, and the least one over all others.

        The distance is `_UNREACHABLE` where no link leads to the subscriber; the neighbour is None for a client's
        subscription.
        """
        if self.client is not None:
            return 0, None, 0
        least = second = _UNREACHABLE
        over: BrokerId | None = None
        for neighbour, distance in self.distances.items():
            if distance < least:
                second = least
                least, over = distance, neighbour
            elif distance < second:
                second = distance
        return least, over, second


class Pattern:
    """A distinct content of subscriptions, with the clients and the links that want it."""

    __slots__ = ("_clients", "_nearest", "body", "rows")

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.rows: dict[str, Row] = {}
        self._clients: Sequence[ClientId] | None = None
        self._nearest: Mapping[BrokerId, int] | None = None

    @property
    def clients(self) -> Sequence[ClientId]:
        """Clients of this broker that subscribe to it."""
        if self._clients is None:
            self._clients = [row.client for row in self.rows.values() if row.client is not None]
        return self._clients

    @property
    def nearest(self) -> Mapping[BrokerId, int]:
        """Hops to the nearest subscriber over each link over which there is one."""
        if self._nearest is None:
            nearest: dict[BrokerId, int] = {}
            for row in self.rows.values():
                for neighbour, distance in row.distances.items():
                    if distance < nearest.get(neighbour, distance + 1):
                        nearest[neighbour] = distance
            self._nearest = nearest
        return self._nearest

    def note_change(self) -> None:
        """Notes that rows of the pattern have changed."""
        self._clients = self._nearest = None


class Interest:
    """The clients and links that want an event."""

    __slots__ = ("clients", "distances")

    def __init__(self, clients: tuple[ClientId, ...], distances: Mapping[BrokerId, int]) -> None:
        self.clients = clients
        """Clients of this broker, each once."""
        self.distances = distances
        """Hops to the nearest subscriber over each link over which there is one."""


class Change(NamedTuple):
    """A message that is due to a neighbour: a subscription with its distance, or its withdrawal."""

    neighbour: BrokerId
    id: str
    body: bytes
    distance: int | None
    """Hops from the neighbour to the subscriber; None for a withdrawal."""


class SubscriptionTable:
    """The subscriptions that a broker knows, and those that it has announced to each neighbour."""

    def __init__(self, horizon: int, patterns: Matcher[Pattern]) -> None:
        self._horizon = horizon
        self._index = patterns
        self._patterns: dict[bytes, Pattern] = {}
        self._rows: dict[str, Row] = {}
        self._announced: dict[BrokerId, dict[str, int]] = {}
        """To each neighbour whose link is up: the distances announced to it, by subscription."""

    def subscribe(self, client: ClientId, id: str, body: bytes, subscription: Subscription) -> list[Change]:
        """A client of this broker subscribes."""
        return self._gained(self._add(id, body, subscription, client), None, 0)

    def unsubscribe(self, id: str) -> list[Change]:
        """A client of this broker withdraws a subscription."""
        row = self._rows[id]
        row.client = None
        return self._lost(row, None, 0)

    def declared(self) -> Iterator[int]:
        """Bytes of each subscription that neighbours have announced."""
        return (len(row.pattern.body) + len(id) for id, row in self._rows.items() if row.distances)

    def knows(self, id: str) -> bytes | None:
        """The content of a subscription that is in the table; None for another."""
        row = self._rows.get(id)
        return None if row is None else row.pattern.body

    def learn(self, neighbour: BrokerId, id: str, distance: int) -> list[Change]:
        """A neighbour announces the distance of a subscription that is in the table."""
        row = self._rows[id]
        row.distances[neighbour] = distance
        return self._gained(row, neighbour, distance)

    def learn_new(
        self, neighbour: BrokerId, id: str, body: bytes, subscription: Subscription, distance: int
    ) -> list[Change]:
        """A neighbour announces a subscription that is not in the table."""
        row = self._add(id, body, subscription, None)
        row.distances[neighbour] = distance
        return self._gained(row, neighbour, distance)

    def unlearn(self, neighbour: BrokerId, id: str) -> list[Change]:
        """A neighbour withdraws a subscription; has no effect for one that it has not announced."""
        row = self._rows.get(id)
        distance = None if row is None else row.distances.pop(neighbour, None)
        return [] if row is None or distance is None else self._lost(row, neighbour, distance)

    def link(self, neighbour: BrokerId) -> list[Change]:
        """The link to a neighbour has come up; the neighbour knows nothing from here."""
        self._announced[neighbour] = {}
        changes: list[Change] = []
        for row in self._rows.values():
            changes += self._changes_for((neighbour,), row)
        return changes

    def unlink(self, neighbour: BrokerId) -> list[Change]:
        """The link to a neighbour has gone, with all that came over it."""
        self._announced.pop(neighbour, None)
        changes: list[Change] = []
        for row in [row for row in self._rows.values() if neighbour in row.distances]:
            changes += self._lost(row, neighbour, row.distances.pop(neighbour))
        return changes

    @property
    def neighbours(self) -> Collection[BrokerId]:
        """The neighbours whose links are up, a live view."""
        return self._announced

    def interest(self, matched: Iterable[Pattern]) -> Interest:
        """The clients and links that want an event which matches these patterns."""
        clients: dict[ClientId, None] = {}
        distances: dict[BrokerId, int] = {}
        for pattern in matched:
            for client in pattern.clients:
                clients[client] = None
            for neighbour, distance in pattern.nearest.items():
                if distance < distances.get(neighbour, distance + 1):
                    distances[neighbour] = distance
        return Interest(tuple(clients), distances)

    def listed(self) -> Mapping[str, Sequence[tuple[BrokerId | None, int]]]:
        """For each subscription, its distances by the neighbour that announced it, None for a client's."""
        return {
            row.id: [*([] if row.client is None else [(None, 0)]), *sorted(row.distances.items())]
            for row in self._rows.values()
        }

    def _add(self, id: str, body: bytes, subscription: Subscription, client: ClientId | None) -> Row:
        pattern = self._patterns.get(body)
        if pattern is None:
            pattern = self._patterns[body] = Pattern(body)
            self._index.add(pattern, subscription)
        row = self._rows[id] = pattern.rows[id] = Row(id, pattern, client)
        return row

    def _gained(self, row: Row, neighbour: BrokerId | None, distance: int) -> list[Change]:
        """Messages due after a neighbour, or with None a client, has announced a subscription with this distance."""
        changes = self._changes_for(self._announced, row)
        row.pattern.note_change()
        return changes

    def _lost(self, row: Row, neighbour: BrokerId | None, distance: int) -> list[Change]:
        """Messages due after what a neighbour or a client had announced with this distance has gone from the row."""
        changes = self._changes_for(self._announced, row)
        self._note_loss(row)
        return changes

    def _note_loss(self, row: Row) -> None:
        """Removes a row that nothing stands for any more."""
        pattern = row.pattern
        if row.client is None and not row.distances:
            del self._rows[row.id], pattern.rows[row.id]
            if not pattern.rows:
                del self._patterns[pattern.body]
                self._index.remove(pattern)
        pattern.note_change()

    def _changes_for(self, neighbours: Iterable[BrokerId], row: Row) -> list[Change]:
        """Changes of a subscription's distance to announce to these neighbours (rule 2)."""
        changes: list[Change] = []
        least, over, second = row.distances_to_announce()
        for neighbour in neighbours:
            known = second if neighbour == over else least
            distance = None if known >= self._horizon else known + 1
            announced = self._announced[neighbour]
            if distance == announced.get(row.id):
                continue
            if distance is None:
                del announced[row.id]
            else:
                announced[row.id] = distance
            changes.append(Change(neighbour, row.id, row.pattern.body, distance))
        return changes
