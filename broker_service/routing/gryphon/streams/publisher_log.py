"""The log of a publishers' broker: its stream's publications until all leaves that are owed them have acknowledged
them.

1. A publication and its place in the stream are in stable storage before anything is sent. So is the vector that it was
   given: a retransmission carries the same, and the vectors of later publications are not below it (section 3.5).
2. Positions are never given twice: the incarnation of the broker is their upper half. Positions that lie between those
   of two incarnations hold nothing.
3. A publication is kept until all leaves that are owed it have acknowledged it (`debts`). Leaves out of reach make the
   log no longer than their *share*, half of it.
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
from broker_service.routing.gryphon.streams.debts import Debts
from broker_service.routing.gryphon.streams.publications import Logged
from broker_service.routing.gryphon.streams.ranges import Range, RangeSet
from broker_service.routing.gryphon.streams.recognition import BLOCKS, Accepted, Recognition
from broker_service.routing.gryphon.virtual_time.clock import VirtualTime
from broker_service.routing.gryphon.virtual_time.vector_digests import VectorDigests
from broker_service.routing.gryphon.virtual_time.vectors import Leaf, Vector, decode_vector, encode_vector
from broker_service.routing.interface import Action, Erase, Store

POSITION_BITS: Final = 32
"""Bits of a position that count within one incarnation of the broker."""
_PUBLICATION, _VECTOR, _LOST = "publication ", "vector ", "lost "
"""Beginnings of keys in stable storage."""
_OVERHEAD: Final = 100
"""Bytes of a stored publication beyond its body and its names, at most."""

_decode_logged = msgspec.msgpack.Decoder(Logged).decode
_encode = msgspec.msgpack.Encoder().encode


class PublisherLog:
    """The log of one publishers' broker, in stable storage."""

    def __init__(
        self,
        incarnation: int,
        stored: Mapping[str, bytes],
        vectors: VectorDigests,
        recognised: int,
        forget_after: float,
        *,
        most_bytes: int,
    ) -> None:
        """`stored` is stable storage, a live view. `recognised` is the number of latest publications of each client;
        with `most_bytes` the log is full."""
        self.next = ((incarnation - 1) << POSITION_BITS) + 1
        self.bytes = 0
        """Bytes that publications and vectors take in stable storage, with their keys."""
        self.digest = 0
        """Digest of the latest publication's vector; 0 before the first publication of this incarnation."""
        self._stored = stored
        self._vectors = vectors
        self._vector: Vector | None = None
        """Vector of the latest publication; None before the first publication of this incarnation."""
        self._share = most_bytes // 2
        self._kept = RangeSet()
        """Positions of the publications in the log."""
        self._sizes: deque[int] = deque()
        """Bytes of each publication in the log, in the order of their positions."""
        self._debts = Debts(forget_after)
        self._slowest: Leaf | None = None
        """The leaf that was owed most when the log was trimmed last."""
        self._trimmed = 0
        """The first position that the slowest leaf was owed when the log was trimmed last."""
        self.lost: dict[Leaf, int] = {}
        """The first lost position of each leaf for which something was given up. The last one is before `first`."""
        self._vector_sizes: dict[int, int] = {}
        """Bytes that each stored vector takes, by its digest."""
        self._recognition = Recognition(recognised, most_bytes // 2)
        self._recover()

    @property
    def account(self) -> int:
        """Bytes against which publishers are held: those of the log, and those that recognition takes beyond its bound
        of half as many."""
        return self.bytes + self._recognition.excess

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
    def skipped(self) -> list[Range]:
        """The positions behind the first one that hold nothing for anybody: those between incarnations."""
        return self._kept.absent(self.first, self.next)

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
        self._debts.acknowledge(leaf, min(position, self.next), now)

    def dismiss(self, leaf: Leaf, time: VirtualTime) -> None:
        """A leaf has no subscription of this time or before."""
        latest = self._vectors.latest()
        self._debts.dismiss(leaf, time, {} if latest is None else latest[1])

    @property
    def lacks(self) -> bool:
        """True when some leaf has not acknowledged all positions."""
        return self._debts.lacks(self.next)

    def lacking(self) -> list[Leaf]:
        """Leaves that have not acknowledged all positions."""
        return self._debts.lacking(self.next)

    def is_reachable(self, leaf: Leaf) -> bool:
        """False for a leaf that was reported to be out of reach."""
        return self._debts.is_reachable(leaf)

    @property
    def is_owed(self) -> bool:
        """True while a leaf that can be reached is owed all that is kept, so that there is nothing to forget."""
        slowest = self._slowest
        return slowest is not None and self.is_reachable(slowest) and self._debts.owed(slowest) == self._trimmed

    def trim(self, now: float) -> list[Action]:
        """Forgets what no leaf is owed any more, and what is given up. The actions erase it."""
        if self.is_owed and not (self.lost or self._recognition.excess):
            return []
        in_reach, end = self._debts.in_reach(self.next), 0
        all_owed = min(self._owed(now), in_reach)
        actions: list[Action] = []
        for position in chain.from_iterable(range(*part) for part in self._kept.within(0, in_reach)):
            if position >= all_owed and self.bytes <= self._share:
                break
            end = position + 1
            self.bytes -= self._sizes.popleft()
            actions.append(Erase(_key(position)))
        if actions:
            actions += self._recognition.settle(end)
            self._kept.forget_below(end)
            for digest in self._vectors.forget_below(self.first):
                self.bytes -= self._vector_sizes.pop(digest, 0)
                actions.append(Erase(f"{_VECTOR}{digest}"))
        return [*actions, *self._recognition.make_room(self.first), *self._note_lost(end)]

    def _owed(self, now: float) -> int:
        """The first position that some leaf is owed. Notes the leaf, because nothing changes before it acknowledges."""
        self._slowest = self._debts.slowest(now)
        owed = None if self._slowest is None else self._debts.owed(self._slowest)
        self._trimmed = self.next if owed is None else owed
        return self._trimmed

    def _note_lost(self, end: int) -> list[Action]:
        """Stores what leaves have lost now that publications before an end are not kept."""
        self._debts.given_up = max(self._debts.given_up, end)
        former, self.lost = self.lost, self._debts.lost
        stored: list[Action] = [
            Store(f"{_LOST}{leaf}", str(position).encode())
            for leaf, position in self.lost.items()
            if former.get(leaf) != position
        ]
        return [*stored, *(Erase(f"{_LOST}{leaf}") for leaf in former if leaf not in self.lost)]

    def _change_vector(self, position: int, vector: Vector) -> list[Action]:
        """Gives publications another vector from a position on, and stores it unless it equals the former one."""
        self._vector = vector
        latest = self._vectors.latest()
        actions: list[Action] = []
        if latest is None or latest[1] != vector:
            self._vectors.add(position, vector)
            actions.append(self._keep_vector(position, encode_vector(vector)))
            self._debts.rise({} if latest is None else latest[1], vector, position)
            latest = self._vectors.latest()
            assert latest is not None
        self.digest = latest[0]
        return actions

    def _keep_vector(self, digest: int, encoded: bytes) -> Store:
        """Counts a vector, and stores it."""
        stored = Store(f"{_VECTOR}{digest}", encoded)
        self._vector_sizes[digest] = len(stored.key) + len(encoded)
        self.bytes += self._vector_sizes[digest]
        return stored

    def _keep(self, position: int, size: int) -> None:
        """Counts a publication that takes so many bytes of stable storage."""
        self._kept.include(position)
        self._sizes.append(size)
        self.bytes += size

    def _recover(self) -> None:
        sizes: dict[int, int] = {}
        blocks: dict[str, bytes] = {}
        accepted: dict[int, Accepted] = {}
        lost: dict[Leaf, int] = {}
        for key, value in self._stored.items():
            if key.startswith(_VECTOR):
                digest = int(key.removeprefix(_VECTOR))
                self._vectors.add(digest, decode_vector(value))
                self._keep_vector(digest, value)
            elif key.startswith(_LOST):
                lost[int(key.removeprefix(_LOST))] = int(value)
            elif key.startswith(BLOCKS):
                blocks[key] = value
            elif key.startswith(_PUBLICATION):
                position, logged = int(key.removeprefix(_PUBLICATION)), _decode_logged(value)
                sizes[position] = len(key) + len(value)
                accepted[position] = Accepted(logged.client, logged.number, logged.id)
        self._recognition.recover(blocks, sorted(accepted.items()))
        for position, size in sorted(sizes.items()):
            self._keep(position, size)
        latest = self._vectors.latest()
        if latest is not None:
            self._debts.recover(latest[1], self.first, lost)
            self.lost = lost


def size_of(client: ClientId, message: Message) -> int:
    """Bytes that a publication takes in the log, at most, where names are ASCII."""
    return len(message.body) + len(message.id) + len(client) + _OVERHEAD


def _key(position: int) -> str:
    """The key of a publication in stable storage."""
    return f"{_PUBLICATION}{position}"
