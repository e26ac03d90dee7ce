"""Vectors of a stream by digest, and which of them each link has carried (section 5.1).

The digest of a vector is the position at which publications began to have it. Digests of one stream are monotonic: if
d < d', no element of the vector of d is above that of d'. They need no storage of their own, because positions survive
crashes. A vector travels over a link once, as the elements that differ from the vector sent there before.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Mapping
from typing import Final, NamedTuple

from broker_service.messages import BrokerId
from broker_service.routing.gryphon.virtual_time import Vector, decode_vector, difference, encode_vector
from broker_service.routing.interface import MalformedMessageError

MOST_VECTORS: Final = 1_000
"""Vectors of one stream that a broker on the way remembers."""


class EncodedVector(NamedTuple):
    """A vector as it travels."""

    base: int = 0
    """Digest of the vector from which it differs."""
    elements: bytes | None = None
    """Encoded elements that differ; None when the receiver has the vector."""


_AT_THE_RECEIVER: Final = EncodedVector()


class VectorDigests:
    """The vectors of one stream at one broker."""

    def __init__(self) -> None:
        self._vectors: dict[int, Vector] = {}
        self._digests: list[int] = []
        self._sent: dict[BrokerId, int] = {}
        """The latest digest whose vector each link has carried."""

    def __contains__(self, digest: int) -> bool:
        return digest in self._vectors

    def get(self, digest: int) -> Vector | None:
        return self._vectors.get(digest)

    def latest(self) -> tuple[int, Vector] | None:
        """The greatest digest and its vector."""
        if not self._digests:
            return None
        return self._digests[-1], self._vectors[self._digests[-1]]

    def add(self, digest: int, vector: Vector) -> None:
        """Adds a vector, unless its digest has one."""
        if digest in self._vectors:
            return
        self._vectors[digest] = vector
        insort(self._digests, digest)

    def remember(self, digest: int, vector: Vector) -> None:
        """Adds a vector, and lets the oldest go if there are too many."""
        self.add(digest, vector)
        if len(self._digests) > MOST_VECTORS:
            del self._vectors[self._digests.pop(0)]

    def forget_below(self, position: int) -> list[int]:
        """Forgets vectors that no position from this one on has, and returns their digests."""
        last = max(0, bisect_right(self._digests, position) - 1)
        forgotten = self._digests[:last]
        for digest in forgotten:
            del self._vectors[digest]
        del self._digests[:last]
        return forgotten

    def encode(self, digest: int, neighbour: BrokerId) -> EncodedVector:
        """The vector of a digest for a neighbour, which gets it over a link that keeps order."""
        sent = self._sent.get(neighbour, 0)
        if sent == digest:
            return _AT_THE_RECEIVER
        vector = self._vectors[digest]
        if digest < sent:
            return EncodedVector(0, encode_vector(vector))
        self._sent[neighbour] = digest
        if sent in self._vectors:
            return EncodedVector(sent, encode_vector(difference(vector, self._vectors[sent])))
        return EncodedVector(0, encode_vector(vector))

    def decode(self, digest: int, encoded: EncodedVector, leaves: Mapping[int, object]) -> Vector | None:
        """The vector of a digest, which is remembered; None when the receiver has missed it or its base."""
        if digest in self._vectors:
            return self._vectors[digest]
        if encoded.elements is None:
            return None
        base = self._vectors.get(encoded.base) if encoded.base else {}
        changed = decode_vector(encoded.elements)
        if not changed.keys() <= leaves.keys():
            raise MalformedMessageError("a vector has leaves that are not in the tree")
        if base is None:
            return None
        vector = dict(base) | changed
        self.remember(digest, vector)
        return vector

    def link_up(self, neighbour: BrokerId) -> None:
        """Vectors may have been lost with the former stream of a link."""
        self._sent.pop(neighbour, None)
