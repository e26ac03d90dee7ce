"""The log of a publishers' broker: its stream's publications until all leaves that are owed them have acknowledged
them.

1. A publication and its place in the stream are in stable storage before anything is sent (`stored_publications`). So
   is the vector that it was given: a retransmission carries the same.
2. A publication is kept until all leaves that are owed it have acknowledged it. Leaves out of reach make the log no
   longer than their *share*, half of it.
3. The latest publications of each client are recognised when they are repeated (`recognition`), because a client
   repeats those of which it does not know whether a former incarnation has accepted them.
4. A leaf is owed all positions from the one on at which its element of the vectors rose, because it may have made
   subscriptions then. A leaf without subscriptions says up to which time it has none, and is owed nothing until its
   element is beyond that time. Subscriptions end with the incarnation of their broker.
5. A leaf that cannot be reached holds up nobody else. What it is owed is *given up* once it could not be reached for
   `forget_after` seconds, and what is beyond its share of the log before.
6. What was given up is lost for the leaf. It is told so when it can be reached again, and the broker remembers it
   until the leaf has acknowledged it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from broker_service.messages import ClientId, Message
from broker_service.routing.gryphon.streams.publications import Logged
from broker_service.routing.gryphon.streams.recognition import BLOCKS, Accepted, Recognition
from broker_service.routing.gryphon.streams.stored_publications import StoredPublications, StoredVectors
from broker_service.routing.gryphon.streams.vector_digests import VectorDigests
from broker_service.routing.gryphon.virtual_time import TICKS_BITS, Leaf, Vector, VirtualTime
from broker_service.routing.interface import Action, Erase, Store


class Debts:
    """The debts of one publishers' broker to all leaves."""

    def __init__(self, forget_after: float) -> None:
        self.given_up = 0
        """Positions before this one are not kept any more, though some leaf may be owed them."""
        self._forget_after = forget_after
        self._owed: dict[Leaf, int] = {}
        """The first position that each leaf is owed."""
        self._unreachable: dict[Leaf, float] = {}
        """Time at which each unreachable leaf was first reported, in seconds."""

    def recover(self, leaves: Vector, first: int, lost: Mapping[Leaf, int]) -> None:
        """All leaves are owed what is kept, from the first position on; some have lost positions before."""
        self._owed = dict.fromkeys(leaves, first) | dict(lost)
        if lost:
            self.given_up = first

    def rise(self, former: Vector, vector: Vector, position: int) -> None:
        """Records that publications have the vector `vector` from a position on, instead of `former` (rule 4)."""
        for leaf, time in vector.items():
            before = former.get(leaf, 0)
            if time >> TICKS_BITS != before >> TICKS_BITS:
                self._unreachable.pop(leaf, None)
                self._owed[leaf] = position
            elif time > before:
                self._owed.setdefault(leaf, position)

    def acknowledge(self, leaf: Leaf, position: int, now: float) -> None:
        """A leaf has all positions before one; it cannot be reached when that is 0."""
        if leaf not in self._owed:
            return
        if not position:
            self._unreachable.setdefault(leaf, now)
            return
        self._unreachable.pop(leaf, None)
        self._owed[leaf] = max(self._owed[leaf], position)

    def dismiss(self, leaf: Leaf, time: VirtualTime, latest: Vector) -> None:
        """A leaf has no subscription of this time or before; `latest` is the latest vector of the stream."""
        if latest.get(leaf, 0) <= time:
            self._unreachable.pop(leaf, None)
            self._owed.pop(leaf, None)

    def lacking(self, end: int) -> list[Leaf]:
        """Leaves that have not acknowledged all positions before an end."""
        return [leaf for leaf, position in self._owed.items() if position < end]

    def lacks(self, end: int) -> bool:
        """True when some leaf has not acknowledged all positions before an end."""
        return any(position < end for position in self._owed.values())

    def is_reachable(self, leaf: Leaf) -> bool:
        """False for a leaf that was reported to be out of reach."""
        return leaf not in self._unreachable

    def owed(self, leaf: Leaf) -> int | None:
        """The first position that a leaf is owed; None for one that is owed nothing."""
        return self._owed.get(leaf)

    def slowest(self, now: float) -> Leaf | None:
        """A leaf that is owed most and has not been given up; None when no leaf is owed anything."""
        waited_for = [leaf for leaf in self._owed if now - self._unreachable.get(leaf, now) < self._forget_after]
        return min(waited_for, key=self._owed.__getitem__, default=None)

    def in_reach(self, end: int) -> int:
        """The first position that some leaf which can be reached is owed; an end when there is none."""
        return min((place for leaf, place in self._owed.items() if leaf not in self._unreachable), default=end)

    @property
    def lost(self) -> dict[Leaf, int]:
        """The first position owed to each leaf for which something was given up."""
        return {leaf: position for leaf, position in self._owed.items() if position < self.given_up}


_LOST: Final = "lost "
"""Beginning of the key under which a leaf's first lost position is stored."""
_OVERHEAD: Final = 100
"""Bytes of a stored publication beyond its body and its names, at most."""


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
        self._stored = stored
        self.publications = StoredPublications(incarnation, stored)
        self.digest = 0
        """Digest of the latest publication's vector; 0 before the first publication of this incarnation."""
        self._vectors = vectors
        self._stored_vectors = StoredVectors(vectors, stored)
        self._vector: Vector | None = None
        """Vector of the latest publication; None before the first publication of this incarnation."""
        self._share = most_bytes // 2
        self.debts = Debts(forget_after)
        self._slowest: Leaf | None = None
        """The leaf that was owed most when the log was trimmed last."""
        self._trimmed = 0
        """The first position that the slowest leaf was owed when the log was trimmed last."""
        self.lost: dict[Leaf, int] = {}
        """The first lost position of each leaf for which something was given up. The last one is before the first
        publication."""
        self._recognition = Recognition(recognised, most_bytes // 2)
        self._recover()

    @property
    def bytes(self) -> int:
        """Bytes that publications and vectors take in stable storage, with their keys."""
        return self.publications.bytes + self._stored_vectors.bytes

    @property
    def account(self) -> int:
        """Bytes against which publishers are held: those of the log, and those that recognition takes beyond its bound
        of half as many."""
        return self.publications.bytes + self._stored_vectors.bytes + self._recognition.excess

    def is_repeat(self, client: ClientId, id: str) -> bool:
        """True for one of the latest publications of a client."""
        return self._recognition.is_repeat(client, id)

    def append(self, client: ClientId, message: Message, vector: Vector) -> list[Action]:
        """Gives a publication the next position. The actions store it. A vector must not change afterwards."""
        position = self.publications.next
        actions = [] if vector is self._vector else self._change_vector(position, vector)
        number, blocks = self._recognition.accept(client, message.id, position)
        logged = Logged(message.id, message.body, message.published, self.digest, client, number)
        actions.append(self.publications.append(logged))
        actions += blocks
        return actions

    def acknowledge(self, leaf: Leaf, position: int, now: float) -> None:
        """A leaf has all positions before one; it cannot be reached when that is 0."""
        self.debts.acknowledge(leaf, min(position, self.publications.next), now)

    def dismiss(self, leaf: Leaf, time: VirtualTime) -> None:
        """A leaf has no subscription of this time or before."""
        latest = self._vectors.latest()
        self.debts.dismiss(leaf, time, {} if latest is None else latest[1])

    @property
    def lacks(self) -> bool:
        """True when some leaf has not acknowledged all positions."""
        return self.debts.lacks(self.publications.next)

    def lacking(self) -> list[Leaf]:
        """Leaves that have not acknowledged all positions."""
        return self.debts.lacking(self.publications.next)

    @property
    def is_owed(self) -> bool:
        """True while a leaf that can be reached is owed all that is kept, so that there is nothing to forget."""
        slowest = self._slowest
        return slowest is not None and self.debts.is_reachable(slowest) and self.debts.owed(slowest) == self._trimmed

    def trim(self, now: float) -> list[Action]:
        """Forgets what no leaf is owed any more, and what is given up. The actions erase it."""
        if self.is_owed and not (self.lost or self._recognition.excess):
            return []
        publications, in_reach = self.publications, self.debts.in_reach(self.publications.next)
        all_owed = min(self._owed(now), in_reach)
        end, actions = publications.forget(all_owed, in_reach, self._share - self._stored_vectors.bytes)
        if actions:
            actions += self._recognition.settle(end)
            actions += self._stored_vectors.forget_below(publications.first)
        return [*actions, *self._recognition.make_room(publications.first), *self._note_lost(end)]

    def _owed(self, now: float) -> int:
        """The first position that some leaf is owed. Notes the leaf, because nothing changes before it acknowledges."""
        self._slowest = self.debts.slowest(now)
        owed = None if self._slowest is None else self.debts.owed(self._slowest)
        self._trimmed = self.publications.next if owed is None else owed
        return self._trimmed

    def _note_lost(self, end: int) -> list[Action]:
        """Stores what leaves have lost now that publications before an end are not kept."""
        self.debts.given_up = max(self.debts.given_up, end)
        former, self.lost = self.lost, self.debts.lost
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
            actions.append(self._stored_vectors.add(position, vector))
            self.debts.rise({} if latest is None else latest[1], vector, position)
            latest = self._vectors.latest()
            assert latest is not None
        self.digest = latest[0]
        return actions

    def _recover(self) -> None:
        stored = self._stored
        accepted = [
            (position, Accepted(logged.client, logged.number, logged.id))
            for position, logged in self.publications.recover()
        ]
        self._recognition.recover({key: stored[key] for key in stored if key.startswith(BLOCKS)}, accepted)
        latest = self._vectors.latest()
        if latest is not None:
            self.lost = {int(key.removeprefix(_LOST)): int(stored[key]) for key in stored if key.startswith(_LOST)}
            self.debts.recover(latest[1], self.publications.first, self.lost)


def size_of(client: ClientId, message: Message) -> int:
    """Bytes that a publication takes in the log, at most, where names are ASCII."""
    return len(message.body) + len(message.id) + len(client) + _OVERHEAD
