"""The log of a publishers' broker: its stream's publications until all leaves that are owed them have acknowledged
them.

1. A publication and its place in the stream are in stable storage before anything is sent. So is the vector that it was
   given: a retransmission carries the same, and the vectors of later publications are not below it (section 3.5).
2. Positions are never given twice: the incarnation of the broker is their upper half. Positions that lie between those
   of two incarnations hold nothing.
3. Leaves with an element in the vectors are owed all positions from the one at which their element appeared on. A leaf
   that could not be reached for `forget_after` seconds is owed nothing any more.
4. The ids of each client's latest publications are stored, too, because the client repeats those of which it does not
   know whether a former incarnation has accepted them.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping
from typing import Final

import msgspec

from broker_service.messages import ClientId, Kind, Message
from broker_service.routing.gryphon.streams.ranges import RangeSet
from broker_service.routing.gryphon.virtual_time.vector_digests import VectorDigests
from broker_service.routing.gryphon.virtual_time.vectors import Leaf, Vector, decode_vector, encode_vector
from broker_service.routing.interface import Action, Erase, Store

POSITION_BITS: Final = 32
"""Positions of one incarnation."""
_PUBLICATION, _VECTOR, _RECOGNISED = "publication ", "vector ", "recognised "
"""Beginnings of keys in stable storage."""
_OVERHEAD: Final = 100
"""Bytes of a stored publication beyond its body, at most."""


class _Stored(msgspec.Struct, frozen=True, array_like=True):
    id: str
    body: bytes
    published: int
    digest: int


_decode_stored = msgspec.msgpack.Decoder(_Stored).decode
_encode = msgspec.msgpack.Encoder().encode


class Logged(msgspec.Struct, frozen=True, gc=False):
    """A publication in the log."""

    message: Message
    digest: int


class PublisherLog:
    """See the module."""

    def __init__(
        self,
        incarnation: int,
        stored: Mapping[str, bytes],
        vectors: VectorDigests,
        recognised: int,
        forget_after: float,
    ) -> None:
        """`recognised` is the number of latest publications of each client."""
        self.next = ((incarnation - 1) << POSITION_BITS) + 1
        self.bytes = 0
        self._vectors = vectors
        self._forget_after = forget_after
        self._entries: dict[int, Logged] = {}
        """By position."""
        self._order: deque[int] = deque()
        """Positions of the entries, ascending."""
        self._acknowledged: dict[Leaf, int] = {}
        """By leaf: the first position that it is owed."""
        self._slowest: Leaf | None = None
        """A leaf that had acknowledged least when the log was trimmed last."""
        self._trimmed = 0
        """The first position that it was owed then."""
        self._unreachable: dict[Leaf, float] = {}
        """By leaf: when it was first reported."""
        self._recognised: defaultdict[ClientId, dict[str, None]] = defaultdict(dict)
        """By client: ids of its latest publications, in their order."""
        self._accepted: defaultdict[ClientId, int] = defaultdict(int)
        """By client: publications accepted so far, in all incarnations."""
        self._most_recognised = recognised
        self._recover(stored)

    @property
    def first(self) -> int:
        """Positions before this one are not kept."""
        return self._order[0] if self._order else self.next

    @property
    def publications(self) -> int:
        """Publications in the log."""
        return len(self._entries)

    def get(self, position: int) -> Logged | None:
        return self._entries.get(position)

    def within(self, start: int, end: int) -> list[tuple[int, Logged]]:
        """The publications that are kept with positions in a range, in their order."""
        entries = self._entries
        positions = range(start, end) if end - start <= len(entries) else entries
        return [(place, entries[place]) for place in positions if start <= place < end and place in entries]

    @property
    def silent(self) -> RangeSet:
        """The positions that hold nothing for anybody: those that are not kept."""
        found = RangeSet(((1, self.next),))
        for position in self._entries:
            found.remove(position, position + 1)
        return found

    def is_repeat(self, client: ClientId, id: str) -> bool:
        """True for one of the latest publications of a client."""
        return id in self._recognised.get(client, ())

    def append(self, client: ClientId, message: Message, vector: Vector) -> list[Action]:
        """Gives a publication the next position. The actions store it. A vector must not change afterwards."""
        position = self.next
        self.next += 1
        actions: list[Action] = []
        latest = self._vectors.latest()
        if latest is None or (latest[1] is not vector and latest[1] != vector):
            self._vectors.add(position, vector)
            actions.append(Store(f"{_VECTOR}{position}", encode_vector(vector)))
            for leaf in vector:
                self._acknowledged.setdefault(leaf, position)
            latest = self._vectors.latest()
            assert latest is not None
        entry = Logged(message, latest[0])
        self._entries[position] = entry
        self._order.append(position)
        self.bytes += size_of(message)
        stored = _Stored(message.id, message.body, message.published, entry.digest)
        actions.append(Store(f"{_PUBLICATION}{position}", _encode(stored)))
        slot = self._accepted[client] % self._most_recognised
        self._accepted[client] += 1
        self._recognise(client, message.id)
        actions.append(Store(f"{_RECOGNISED}{slot} {client}", _encode((self._accepted[client], message.id))))
        return actions

    def acknowledge(self, leaf: Leaf, position: int, now: float) -> None:
        """A leaf has all positions before one; it cannot be reached when that is 0."""
        if leaf not in self._acknowledged:
            return
        if not position:
            self._unreachable.setdefault(leaf, now)
            return
        self._unreachable.pop(leaf, None)
        self._acknowledged[leaf] = max(self._acknowledged[leaf], min(position, self.next))

    @property
    def lacks(self) -> bool:
        """True when some leaf has not acknowledged all positions."""
        return any(position < self.next for position in self._acknowledged.values())

    def lacking(self) -> list[Leaf]:
        """Leaves that have not acknowledged all positions."""
        return [leaf for leaf, position in self._acknowledged.items() if position < self.next]

    def is_reachable(self, leaf: Leaf) -> bool:
        """False for a leaf that was reported to be out of reach."""
        return leaf not in self._unreachable

    def trim(self, now: float) -> list[Action]:
        """Forgets what no leaf is owed any more. The actions erase it."""
        slowest = self._slowest
        if slowest is not None and slowest not in self._unreachable and self._acknowledged[slowest] == self._trimmed:
            return []
        end = self._owed(now)
        actions: list[Action] = []
        while self._order and self._order[0] < end:
            position = self._order.popleft()
            self.bytes -= size_of(self._entries.pop(position).message)
            actions.append(Erase(f"{_PUBLICATION}{position}"))
        if actions:
            needed = self._entries[self._order[0]].digest if self._order else self.next
            for digest in self._vectors.forget_below(needed):
                actions.append(Erase(f"{_VECTOR}{digest}"))
        return actions

    def _owed(self, now: float) -> int:
        """The first position that some leaf is owed. Notes the leaf, because nothing changes before it acknowledges."""
        owed = {
            leaf: position
            for leaf, position in self._acknowledged.items()
            if now - self._unreachable.get(leaf, now) < self._forget_after
        }
        self._slowest = min(owed, key=owed.__getitem__, default=None)
        self._trimmed = self.next if self._slowest is None else owed[self._slowest]
        return self._trimmed

    def _recognise(self, client: ClientId, id: str) -> None:
        latest = self._recognised[client]
        latest[id] = None
        if len(latest) > self._most_recognised:
            del latest[next(iter(latest))]

    def _recover(self, stored: Mapping[str, bytes]) -> None:
        slots: defaultdict[ClientId, list[tuple[int, str]]] = defaultdict(list)
        entries: dict[int, Logged] = {}
        for key, value in stored.items():
            if key.startswith(_VECTOR):
                self._vectors.add(int(key.removeprefix(_VECTOR)), decode_vector(value))
            elif key.startswith(_RECOGNISED):
                number, id = msgspec.msgpack.decode(value, type=tuple[int, str])
                slots[key.removeprefix(_RECOGNISED).split(" ", 1)[1]].append((number, id))
            elif key.startswith(_PUBLICATION):
                entry = _decode_stored(value)
                message = Message(Kind.PUBLISH, entry.id, entry.body, published=entry.published)
                entries[int(key.removeprefix(_PUBLICATION))] = Logged(message, entry.digest)
        for client, numbers in slots.items():
            self._accepted[client] = max(numbers)[0]
            for _, id in sorted(numbers):
                self._recognise(client, id)
        self._entries = dict(sorted(entries.items()))
        self._order.extend(self._entries)
        self.bytes = sum(size_of(entry.message) for entry in self._entries.values())
        latest = self._vectors.latest()
        if latest is not None:
            self._acknowledged = dict.fromkeys(latest[1], self.first)


def size_of(message: Message) -> int:
    """Bytes that a publication takes in the log."""
    return len(message.body) + len(message.id) + _OVERHEAD
