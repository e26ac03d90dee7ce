"""Publications of a stream and their vectors, as the publishers' broker has them in stable storage.

1. Positions are never given twice: the incarnation of the broker is their upper half. Positions that lie between those
   of two incarnations hold nothing.
2. Publications are in stable storage alone, from where those that are sent again are read, because a log that an
   unreachable leaf makes long would take its memory a second time. Memory has their positions and sizes.
3. A vector is stored once, as long as a publication that is kept has it. The latest one outlives all publications,
   because the vectors of later ones are not below it (section 3.5).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Final

import msgspec

from broker_service.routing.gryphon.streams.publications import Logged
from broker_service.routing.gryphon.streams.ranges import Range, RangeSet
from broker_service.routing.gryphon.streams.vector_digests import VectorDigests
from broker_service.routing.gryphon.virtual_time import Vector, decode_vector, encode_vector
from broker_service.routing.interface import Action, Erase, Store

POSITION_BITS: Final = 32
"""Bits of a position that count within one incarnation of the broker."""
_PUBLICATION, _VECTOR = "publication ", "vector "
"""Beginnings of keys in stable storage, which a position ends, or a digest."""

_decode = msgspec.msgpack.Decoder(Logged).decode
_encode = msgspec.msgpack.Encoder().encode


class StoredPublications:
    """The publications of one stream that are kept. `stored` is stable storage, a live view."""

    def __init__(self, incarnation: int, stored: Mapping[str, bytes]) -> None:
        self.next = ((incarnation - 1) << POSITION_BITS) + 1
        """Position of the next publication."""
        self.bytes = 0
        """Bytes of stable storage that they take, with their keys."""
        self._stored = stored
        self._positions = RangeSet()
        self._sizes: deque[int] = deque()
        """Bytes of each one, in the order of their positions."""

    def __len__(self) -> int:
        return len(self._sizes)

    @property
    def first(self) -> int:
        """Positions before this one are not kept."""
        return next(iter(self._positions), (self.next, 0))[0]

    @property
    def skipped(self) -> list[Range]:
        """The positions behind the first one that hold nothing for anybody: those between incarnations."""
        return self._positions.absent(self.first, self.next)

    def within(self, start: int, end: int, most: int) -> list[tuple[int, Logged]]:
        """The publications that are kept with positions in a range, in their order; of more than `most` the first."""
        positions = islice(chain.from_iterable(range(*part) for part in self._positions.within(start, end)), most)
        return [(position, _decode(self._stored[f"{_PUBLICATION}{position}"])) for position in positions]

    def append(self, logged: Logged) -> Store:
        """Gives a publication the next position. The action stores it."""
        position = self.next
        self.next = position + 1
        stored = Store(f"{_PUBLICATION}{position}", _encode(logged))
        self._keep(position, len(stored.key) + len(stored.value))
        return stored

    def forget(self, owed: int, end: int, most: int) -> tuple[int, list[Action]]:
        """Forgets those before the first position that is owed, and further ones before an end until at most so many
        bytes are left. Returns the position behind the last one, 0 without any, and the actions that erase them."""
        behind, actions = 0, list[Action]()
        for position in chain.from_iterable(range(*part) for part in self._positions.within(0, end)):
            if position >= owed and self.bytes <= most:
                break
            behind = position + 1
            self.bytes -= self._sizes.popleft()
            actions.append(Erase(f"{_PUBLICATION}{position}"))
        if actions:
            self._positions.forget_below(behind)
        return behind, actions

    def recover(self) -> Iterator[tuple[int, Logged]]:
        """Takes over what former incarnations have stored, and yields it in the order of positions."""
        stored = (key.removeprefix(_PUBLICATION) for key in self._stored if key.startswith(_PUBLICATION))
        for position in sorted(map(int, stored)):
            key = f"{_PUBLICATION}{position}"
            value = self._stored[key]
            self._keep(position, len(key) + len(value))
            yield position, _decode(value)

    def _keep(self, position: int, size: int) -> None:
        self._positions.include(position)
        self._sizes.append(size)
        self.bytes += size


class StoredVectors:
    """The vectors of the publications, by their digests. `stored` is stable storage, a live view."""

    def __init__(self, vectors: VectorDigests, stored: Mapping[str, bytes]) -> None:
        self.bytes = 0
        """Bytes of stable storage that they take, with their keys."""
        self._vectors = vectors
        self._sizes: dict[int, int] = {}
        """Bytes that each one takes, by its digest."""
        for key in [key for key in stored if key.startswith(_VECTOR)]:
            digest, encoded = int(key.removeprefix(_VECTOR)), stored[key]
            vectors.add(digest, decode_vector(encoded))
            self._keep(digest, encoded)

    def add(self, position: int, vector: Vector) -> Store:
        """Publications have another vector from a position on. The action stores it."""
        self._vectors.add(position, vector)
        return self._keep(position, encode_vector(vector))

    def forget_below(self, first: int) -> list[Action]:
        """Forgets vectors that no position from this one on has. The actions erase them."""
        actions: list[Action] = []
        for digest in self._vectors.forget_below(first):
            self.bytes -= self._sizes.pop(digest, 0)
            actions.append(Erase(f"{_VECTOR}{digest}"))
        return actions

    def _keep(self, digest: int, encoded: bytes) -> Store:
        stored = Store(f"{_VECTOR}{digest}", encoded)
        size = self._sizes[digest] = len(stored.key) + len(encoded)
        self.bytes += size
        return stored
