"""What the logs say of single publications, in a form small enough to be moved and kept by the million.

Reading sorts these by publication into buckets; judging takes a bucket at a time and puts each publication's journey
together. Times are nanoseconds of the run's clock; `variant` is the variant's number in the manifest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from zlib import crc32

import msgspec

from broker_service.language import Value


class Arrived(msgspec.Struct, array_like=True, tag=0, gc=False):
    """A broker received the publication: from a neighbour, or from the publisher where that is null."""

    variant: int
    publication: str
    time: int
    broker: str
    neighbour: str | None
    hops: int | None
    worked: int | None = None
    """How long the router did, comparisons included."""


class Left(msgspec.Struct, array_like=True, tag=1, gc=False):
    """A broker sent it to a neighbour."""

    variant: int
    publication: str
    time: int
    broker: str
    neighbour: str | None
    waited: int | None
    """In the output queue."""


class Compared(msgspec.Struct, array_like=True, tag=2, gc=False):
    """A broker compared its content with subscriptions."""

    variant: int
    publication: str
    time: int
    broker: str
    took: int | None = None


class Notified(msgspec.Struct, array_like=True, tag=3, gc=False):
    """A client got it."""

    variant: int
    publication: str
    time: int
    client: str
    broker: str | None
    hops: int | None
    place: int
    """In the log, which tells the order of what happened in the same moment of virtual time."""


class Published(msgspec.Struct, array_like=True, tag=4, gc=False):
    """Its client published it."""

    variant: int
    publication: str
    time: int
    client: str | None
    intended: int | None
    content: bytes
    """JSON; its integers may be larger than 64 bits."""
    node: str
    """The driver."""
    broker: str | None
    place: int
    """As of `Notified`."""


class Refused(msgspec.Struct, array_like=True, tag=5, gc=False):
    """Its client was told that it is refused."""

    variant: int
    publication: str


class Dropped(msgspec.Struct, array_like=True, tag=6, gc=False):
    """A copy of it ended at a broker."""

    variant: int
    publication: str
    time: int
    broker: str
    reason: str


Sighting = Arrived | Left | Compared | Notified | Published | Refused | Dropped

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[Sighting])
_content_decoder = msgspec.json.Decoder(dict[str, Value])


def encode(sightings: Sequence[Sighting]) -> bytes:
    return _encoder.encode(sightings)


def decode(data: bytes) -> list[Sighting]:
    return _decoder.decode(data)


def encode_content(numbers: Mapping[str, float] | None, strings: Mapping[str, str] | None) -> bytes:
    return msgspec.json.encode({**(numbers or {}), **(strings or {})})


def decode_content(data: bytes) -> dict[str, Value]:
    return _content_decoder.decode(data)


def bucket_of(name: str, buckets: int) -> int:
    """Where all that is filed under a name goes, in every process alike."""
    return crc32(name.encode()) % buckets


def by_publication(parts: Iterable[bytes]) -> dict[str, dict[int, list[Sighting]]]:
    """A bucket's sightings by publication and variant."""
    grouped: dict[str, dict[int, list[Sighting]]] = {}
    for part in parts:
        for one in _decoder.decode(part):
            grouped.setdefault(one.publication, {}).setdefault(one.variant, []).append(one)
    return grouped
