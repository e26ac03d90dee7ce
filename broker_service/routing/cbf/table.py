"""The forwarding table: the directions in which each subscription stands, and the index by which publications find it.

A subscription is known by its content (`sums`). Every server of a network without advertisements holds the contents of
all, so servers of one process share an index of them, which each builds upon for itself. The index lags behind the
table until a publication is matched: single changes are taken over then. Only when more contents have changed than it
holds, as after a start, does it begin anew, with the index that some server of the process made last, if that one holds
almost the same, or else with one of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from broker_service.language import Advertisement, Publication
from broker_service.matching import MatchIndex
from broker_service.messages import BrokerId, ClientId, Message
from broker_service.routing.cbf.sums import Entry
from broker_service.routing.interface import Matcher

Directions = tuple[BrokerId | None, ...]
"""Neighbours, in the order in which the subscription came from them; None stands for this server's clients."""


class Advertised(NamedTuple):
    """An advertisement, and the neighbour that it came from; None for one of this broker's clients."""

    id: str
    advertisement: Advertisement
    body: bytes
    last_hop: BrokerId | None


class SharedIndex(NamedTuple):
    """An index that servers of one process share. Nothing in it changes."""

    entries: Mapping[bytes, Entry]
    subscriptions: MatchIndex[bytes]


class Found(NamedTuple):
    """The clients and neighbours that want a publication, each once."""

    clients: tuple[ClientId, ...]
    neighbours: tuple[BrokerId, ...]


class ForwardingTable:
    """The forwarding table of one server, with the index that finds the matching contents of a publication."""

    def __init__(self, matcher: Matcher[bytes]) -> None:
        """`matcher` is an empty index."""
        self._matcher = matcher
        matcher.count = self._places
        self._entries: dict[bytes, Entry] = {}
        self._directions: dict[bytes, Directions] = {}
        """Neighbours, and this server's clients, that want each content."""
        self._clients: dict[bytes, dict[str, ClientId]] = {}
        """The clients here that want a content, by their subscriptions' identifiers."""
        self._equal: dict[Directions, Directions] = {}
        """Each value of `_directions` once, because there are few."""
        self._unindexed: dict[bytes, None] = {}
        """Contents that may be in the table and not in the index, or the other way round."""

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def entry(self, body: bytes) -> Entry:
        """The entry of a content in the table."""
        return self._entries[body]

    def directions(self, body: bytes) -> Directions:
        """The directions of a content; none if it is not in the table."""
        return self._directions.get(body, ())

    def add_client(self, client: ClientId, entry: Entry) -> Entry:
        """A client has a subscription, which `entry` is of. Returns the entry of its content."""
        self._clients.setdefault(entry.body, {})[entry.id] = client
        return self.add(entry, None)

    def remove_client(self, body: bytes, id: str) -> bool:
        """A client has a subscription no more. True when no other client here has one with this content."""
        wanting = self._clients[body]
        del wanting[id]
        if not wanting:
            del self._clients[body]
        return not wanting

    def add(self, entry: Entry, direction: BrokerId | None) -> Entry:
        """A subscription stands in a direction. Returns the entry of its content."""
        former = self._directions.get(entry.body)
        if former is None:
            self._entries[entry.body] = entry
            self._unindexed[entry.body] = None
            former = ()
        if direction not in former:
            self._set(entry.body, (*former, direction))
        return self._entries[entry.body]

    def remove(self, body: bytes, direction: BrokerId | None) -> None:
        """Removes a direction of a content."""
        self._set(body, tuple([other for other in self._directions[body] if other != direction]))

    def forget(self, body: bytes) -> None:
        """Removes a content that no client or neighbour wants any more."""
        del self._directions[body], self._entries[body]
        self._unindexed[body] = None

    def find(self, message: Message) -> Found:
        """Compares a publication with all subscriptions.

        Raises `MalformedMessageError` when its content cannot be decoded.
        """
        self.index()
        return self._found(self._matcher.match(message))

    def find_decoded(self, id: str, publication: Publication) -> Found:
        """Compares a publication of a client here with all subscriptions."""
        self.index()
        return self._found(self._matcher.match_decoded(id, publication))

    def _set(self, body: bytes, directions: Directions) -> None:
        self._directions[body] = self._equal.setdefault(directions, directions)

    def _found(self, bodies: list[bytes]) -> Found:
        if len(bodies) > 1:
            bodies.sort()  # the order in the index depends on the server that made it
        clients: dict[ClientId, None] = {}
        neighbours: dict[BrokerId, None] = {}
        for body in bodies:
            for direction in self._directions[body]:
                if direction is None:
                    clients.update(dict.fromkeys(self._clients[body].values()))
                else:
                    neighbours[direction] = None
        return Found(tuple(clients), tuple(neighbours))

    def _places(self, bodies: Sequence[bytes]) -> int:
        """The clients' subscriptions and the directions of neighbours with these contents."""
        count = 0
        for body in bodies:
            directions = self._directions[body]
            count += len(directions) + (len(self._clients[body]) - 1 if None in directions else 0)
        return count

    # Index

    def index(self) -> None:
        """Brings the index in line with the table."""
        if not self._unindexed:
            return
        matcher, entries = self._matcher, self._entries
        if sum([body in entries for body in self._unindexed]) > len(matcher):
            self._unindexed = self._begin_anew()
        for body in self._unindexed:
            if body in matcher:
                if body not in entries:
                    matcher.remove(body)
            elif body in entries:
                matcher.add(body, entries[body].subscription)
        self._unindexed = {}

    def _begin_anew(self) -> dict[bytes, None]:
        """Takes a shared index. Returns the contents by which it differs from the table."""
        differing = _latest[0].entries.keys() ^ self._entries.keys() if _latest else set(self._entries)
        if not _latest or len(differing) >= len(self._entries):
            _latest[:] = [_made_index(dict(self._entries))]
            differing = set()
        self._matcher.share(_latest[0].subscriptions)
        return dict.fromkeys(sorted(differing))


_latest: list[SharedIndex] = []
"""The index that a server of this process made last, or nothing."""


def _made_index(entries: Mapping[bytes, Entry]) -> SharedIndex:
    index: MatchIndex[bytes] = MatchIndex()
    for body, entry in entries.items():
        index.add(body, entry.subscription)
    return SharedIndex(entries, index)
