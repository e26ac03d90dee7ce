"""The log of a publishers' broker: its stream's publications until all leaves that are owed them have acknowledged
them.

1. A publication and its place in the stream are in stable storage before anything is sent. So is the vector that it was
   given: a retransmission carries the same, and the vectors of later publications are not below it (section 3.5).
2. Positions are never given twice: the incarnation of the broker is their upper half. Positions that lie between those
   of two incarnations hold nothing.
3. Leaves with an element in the vectors are owed all positions from the one at which their element appeared on. A leaf
   that could not be reached for `forget_after` seconds is owed nothing any more.
4. The latest publications of each client are recognised when they are repeated (`recognition`), because a client
   repeats those of which it does not know whether a former incarnation has accepted them.
5. Publications are in stable storage alone, from where those that are sent again are read, because a log that an
   unreachable leaf makes long would take its memory a second time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from itertools import chain, islice
from typing import Final

import msgspec

from broker_service.messages import ClientId, Message
from broker_service.routing.gryphon.streams.publications import Logged
from broker_service.routing.gryphon.streams.ranges import RangeSet
from broker_service.routing.gryphon.streams.recognition import BLOCKS, Accepted, Recognition, read_block
from broker_service.routing.gryphon.virtual_time.vector_digests import VectorDigests
from broker_service.routing.gryphon.virtual_time.vectors import Leaf, Vector, decode_vector, encode_vector
from broker_service.routing.interface import Action, Erase, Store

POSITION_BITS: Final = 32
"""Positions of one incarnation."""
_PUBLICATION, _VECTOR = "publication ", "vector "
"""Beginnings of keys in stable storage."""
_OVERHEAD: Final = 100
"""Bytes of a stored publication beyond its body and its names, at most."""

_decode_logged = msgspec.msgpack.Decoder(Logged).decode
_encode = msgspec.msgpack.Encoder().encode


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
        """`stored` is stable storage, a live view. `recognised` is the number of latest publications of each client."""
        self.next = ((incarnation - 1) << POSITION_BITS) + 1
        self.bytes = 0
        """Bytes that the publications take in stable storage, with their keys."""
        self.digest = 0
        """That of the latest publication's vector; 0 before the first one of this incarnation."""
        self._stored = stored
        self._vectors = vectors
        self._vector: Vector | None = None
        """That of the latest publication; None before the first one of this incarnation."""
        self._forget_after = forget_after
        self._kept = RangeSet()
        """Positions of the publications in the log."""
        self._sizes: deque[int] = deque()
        """Bytes of each of them in stable storage, in the order of their positions."""
        self._acknowledged: dict[Leaf, int] = {}
        """By leaf: the first position that it is owed."""
        self._slowest: Leaf | None = None
        """A leaf that had acknowledged least when the log was trimmed last."""
        self._trimmed = 0
        """The first position that it was owed then."""
        self._unreachable: dict[Leaf, float] = {}
        """By leaf: when it was first reported."""
        self._recognition = Recognition(recognised)
        self._recover()

    @property
    def first(self) -> int:
        """Positions before this one are not kept."""
        return next(iter(self._kept), (self.next, 0))[0]

    @property
    def publications(self) -> int:
        """Publications in the log."""
        return len(self._sizes)

    def within(self, start: int, end: int, most: int) -> list[tuple[int, Logged]]:
        """The publications that are kept with positions in a range, in their order; of more than `most` the first."""
        positions = chain.from_iterable(range(*part) for part in self._kept.within(start, end))
        return [(position, _decode_logged(self._stored[_key(position)])) for position in islice(positions, most)]

    @property
    def silent(self) -> RangeSet:
        """The positions that hold nothing for anybody: those that are not kept."""
        return RangeSet(self._kept.absent(1, self.next))

    def is_repeat(self, client: ClientId, id: str) -> bool:
        """True for one of the latest publications of a client."""
        return self._recognition.is_repeat(client, id)

    def append(self, client: ClientId, message: Message, vector: Vector) -> list[Action]:
        """Gives a publication the next position. The actions store it. A vector must not change afterwards."""
        position = self.next
        self.next = position + 1
        actions = [] if vector is self._vector else self._change_vector(position, vector)
        number, blocks = self._recognition.accept(client, message.id, position)
        logged = Logged(message.id, message.body, message.published, self.digest, client, number)
        key, value = _key(position), _encode(logged)
        self._keep(position, len(key) + len(value))
        actions.append(Store(key, value))
        actions += blocks
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

    @property
    def is_owed(self) -> bool:
        """True while a leaf that can be reached is owed all that is kept, so that there is nothing to forget."""
        slowest = self._slowest
        return slowest is not None and slowest not in self._unreachable and self._acknowledged[slowest] == self._trimmed

    def trim(self, now: float) -> list[Action]:
        """Forgets what no leaf is owed any more. The actions erase it."""
        if self.is_owed:
            return []
        end = self._owed(now)
        actions: list[Action] = []
        for part in self._kept.within(0, end):
            for position in range(*part):
                self.bytes -= self._sizes.popleft()
                actions.append(Erase(_key(position)))
        if actions:
            actions += self._recognition.settle(end)
            self._kept.forget_below(end)
            for digest in self._vectors.forget_below(self.first):
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

    def _change_vector(self, position: int, vector: Vector) -> list[Action]:
        """Gives publications another vector from a position on, and stores it unless it equals the former one."""
        self._vector = vector
        latest = self._vectors.latest()
        actions: list[Action] = []
        if latest is None or latest[1] != vector:
            self._vectors.add(position, vector)
            actions.append(Store(f"{_VECTOR}{position}", encode_vector(vector)))
            for leaf in vector:
                self._acknowledged.setdefault(leaf, position)
            latest = self._vectors.latest()
            assert latest is not None
        self.digest = latest[0]
        return actions

    def _keep(self, position: int, size: int) -> None:
        """Counts a publication that takes so many bytes of stable storage."""
        self._kept.include(position)
        self._sizes.append(size)
        self.bytes += size

    def _recover(self) -> None:
        sizes: dict[int, int] = {}
        blocks: list[Accepted] = []
        accepted: dict[int, Accepted] = {}
        for key, value in self._stored.items():
            if key.startswith(_VECTOR):
                self._vectors.add(int(key.removeprefix(_VECTOR)), decode_vector(value))
            elif key.startswith(BLOCKS):
                blocks += read_block(key, value)
            elif key.startswith(_PUBLICATION):
                position, logged = int(key.removeprefix(_PUBLICATION)), _decode_logged(value)
                sizes[position] = len(key) + len(value)
                accepted[position] = Accepted(logged.client, logged.number, logged.id)
        self._recognition.recover(blocks, sorted(accepted.items()))
        for position, size in sorted(sizes.items()):
            self._keep(position, size)
        latest = self._vectors.latest()
        if latest is not None:
            self._acknowledged = dict.fromkeys(latest[1], self.first)


def size_of(client: ClientId, message: Message) -> int:
    """Bytes that a publication takes in the log, at most, where names are ASCII."""
    return len(message.body) + len(message.id) + len(client) + _OVERHEAD


def _key(position: int) -> str:
    """The key of a publication in stable storage."""
    return f"{_PUBLICATION}{position}"
