"""Virtual time of leaves: the clock of one leaf, and vectors with a time of each leaf (sections 3.2 and 3.3).

1. The clock is an integer. It advances by one with each change that the leaf announces. Operations between two changes
   share a tick.
2. It never runs back, not even over a crash. Nothing is stored for that: the incarnation of the broker, which grows
   with every start, is the upper half of the time. The paper leaves the technique open.
3. The leaf has announced all that was before its present time: the latest change carries the time before it.

A vector V stands for a set of subscriptions: those of each leaf that are active and began at V(leaf) or before. V_b of
a broker is the set it knows, V_m of a publication the set it must be matched against. If V_b is not below V_m in any
element, the broker's set contains the publication's.

On links a vector is a sequence of elements in the order of leaves: the gap to the leaf before, the incarnation and the
tick of the time, each as a varint, because in a whole time the incarnation's upper bits would cost five bytes. A vector
that replaces another one travels as the elements that differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from broker_service.routing.interface import MalformedMessageError

TICKS_BITS: Final = 32
"""Ticks of one incarnation, in bits of a virtual time."""
MOST_TIME: Final = (1 << 63) - 1

VirtualTime = int
"""Virtual time of a leaf; 0 is before every subscription."""


class VirtualClock:
    """The clock of one leaf."""

    def __init__(self, incarnation: int = 1) -> None:
        """`incarnation` is that of the leaf's broker, from 1. The first time of the first one is 1."""
        self.time: VirtualTime = ((incarnation - 1) << TICKS_BITS) + 1
        """The present time, at which subscriptions start that nothing covers; `advance` alone changes it."""

    @property
    def announced(self) -> VirtualTime:
        """Time of the latest change; in the first incarnation, 0 when there was none."""
        return self.time - 1

    def advance(self) -> VirtualTime:
        """Ends the present tick, and returns it."""
        ended = self.time
        self.time += 1
        return ended


Leaf = int
"""Number of a leaf (`overlay`)."""
Vector = Mapping[Leaf, VirtualTime]
"""Times by leaf, none of them 0; a leaf that is missing has the time 0."""

MOST_LEAVES: Final = 1 << 17
"""Number above all leaves' numbers."""
_LOW_TICKS: Final = (1 << TICKS_BITS) - 1
_VARINT_BYTES: Final = 5
"""Bytes of the largest number in a vector: one of 32 bits."""


def dominates(vector: Vector, other: Vector) -> bool:
    """True when no element is below the other vector's."""
    get = vector.get
    for leaf, time in other.items():  # noqa: SIM110 - a generator costs a call for each element
        if get(leaf, 0) < time:
            return False
    return True


def part_of(vector: Vector, leaves: Iterable[Leaf]) -> dict[Leaf, VirtualTime]:
    """The part of a vector with the elements of these leaves."""
    return {leaf: vector[leaf] for leaf in leaves if leaf in vector}


def maximum(vector: Vector, other: Vector) -> dict[Leaf, VirtualTime]:
    """A vector with the greater of two vectors' elements for each leaf."""
    result = dict(vector)
    raise_to(result, other)
    return result


def raise_to(vector: dict[Leaf, VirtualTime], other: Vector) -> bool:
    """Raises elements to those of another vector where these are greater; true when that changed any."""
    changed = False
    for leaf, time in other.items():
        if vector.get(leaf, 0) < time:
            vector[leaf] = time
            changed = True
    return changed


def difference(vector: Vector, former: Vector) -> dict[Leaf, VirtualTime]:
    """The elements that differ from a former vector, which is not above this one in any."""
    return {leaf: time for leaf, time in vector.items() if former.get(leaf, 0) != time}


def encode_vector(vector: Vector) -> bytes:
    """The bytes that `decode_vector` takes."""
    data = bytearray()
    former = -1
    for leaf in sorted(vector):
        time = vector[leaf]
        for number in (leaf - former - 1, time >> TICKS_BITS, time & _LOW_TICKS):
            rest = number
            while rest > 0x7F:
                data.append(rest & 0x7F | 0x80)
                rest >>= 7
            data.append(rest)
        former = leaf
    return bytes(data)


def decode_vector(data: bytes, leaves: int = MOST_LEAVES) -> dict[Leaf, VirtualTime]:
    """The vector that these bytes encode; leaves are numbered below `leaves`. Raises `MalformedMessageError`."""
    numbers = _decode_varints(data)
    if len(numbers) % 3:
        raise MalformedMessageError("a vector ends within an element")
    vector: dict[Leaf, VirtualTime] = {}
    leaf = -1
    for place in range(0, len(numbers), 3):
        gap, incarnation, tick = numbers[place : place + 3]
        leaf += gap + 1
        time = incarnation << TICKS_BITS | tick
        if leaf >= leaves:
            raise MalformedMessageError(f"a vector has an element of leaf {leaf}; there are {leaves}")
        if tick > _LOW_TICKS or not 0 < time <= MOST_TIME:
            raise MalformedMessageError(f"{time} is no virtual time")
        vector[leaf] = time
    return vector


def _decode_varints(data: bytes) -> list[int]:
    numbers = []
    number = shift = 0
    for byte in data:
        number |= (byte & 0x7F) << shift
        if byte & 0x80:
            shift += 7
            if shift >= 7 * _VARINT_BYTES:
                raise MalformedMessageError("a number of a vector is too long")
        else:
            numbers.append(number)
            number = shift = 0
    if shift:
        raise MalformedMessageError("a vector ends within a number")
    return numbers
