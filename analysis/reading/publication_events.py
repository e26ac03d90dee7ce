"""Log events of single publications, small enough to be moved and kept by the million.

Stage 1 sorts them by publication into buckets; stage 2 takes one bucket at a time and assembles the journey of each
publication. Times are nanoseconds of the run's clock; `variant` is the variant's number in the manifest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from zlib import crc32

import msgspec

from broker_service.language import Value


class Received(msgspec.Struct, array_like=True, tag=0, gc=False):
    """A broker received the publication: from a neighbour, or from the publisher where `neighbour` is None."""

    variant: int
    publication: str
    time: int
    broker: str
    neighbour: str | None
    hops: int | None
    worked: int | None = None
    """The router's work on it, comparisons included; nanoseconds."""


class Sent(msgspec.Struct, array_like=True, tag=1, gc=False):
    """A broker sent it to a neighbour."""

    variant: int
    publication: str
    time: int
    broker: str
    neighbour: str | None
    waited: int | None
    """In the output queue."""


class Matched(msgspec.Struct, array_like=True, tag=2, gc=False):
    """A broker compared its content with subscriptions."""

    variant: int
    publication: str
    time: int
    broker: str
    took: int | None = None


class Notified(msgspec.Struct, array_like=True, tag=3, gc=False):
    """A client was notified of it."""

    variant: int
    publication: str
    time: int
    client: str
    broker: str | None
    hops: int | None
    position: int
    """In the log, which orders events of the same moment of virtual time."""


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
    position: int
    """As in `Notified`."""


class Rejected(msgspec.Struct, array_like=True, tag=5, gc=False):
    """Its broker rejected it, and its client was notified of that."""

    variant: int
    publication: str


class Dropped(msgspec.Struct, array_like=True, tag=6, gc=False):
    """A copy of it ended at a broker."""

    variant: int
    publication: str
    time: int
    broker: str
    reason: str


class Accepted(msgspec.Struct, array_like=True, tag=7, gc=False):
    """Its broker accepted it, and its client was notified of that, at this time."""

    variant: int
    publication: str
    time: int


class Refused(msgspec.Struct, array_like=True, tag=8, gc=False):
    """Its broker refused it, and its client was notified of that."""

    variant: int
    publication: str


PublicationEvent = Received | Sent | Matched | Notified | Published | Rejected | Dropped | Accepted | Refused

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[PublicationEvent])
_content_decoder = msgspec.json.Decoder(dict[str, Value])


def encode(events: Sequence[PublicationEvent]) -> bytes:
    return _encoder.encode(events)


def encode_content(numbers: Mapping[str, float] | None, strings: Mapping[str, str] | None) -> bytes:
    return msgspec.json.encode({**(numbers or {}), **(strings or {})})


def decode_content(data: bytes) -> dict[str, Value]:
    return _content_decoder.decode(data)


def bucket_of(key: str, buckets: int) -> int:
    """The number of the bucket that holds everything under a key, the same in every process."""
    return crc32(key.encode()) % buckets


class BucketNumbers(dict[str, int]):
    """The number of the bucket of each key, computed once, because a publication has many events."""

    def __init__(self, buckets: int) -> None:
        super().__init__()
        self._buckets = buckets

    def __missing__(self, key: str) -> int:
        number = self[key] = bucket_of(key, self._buckets)
        return number


def by_publication(parts: Iterable[bytes]) -> Mapping[str, Mapping[int, list[PublicationEvent]]]:
    """The events of a bucket by publication and variant."""
    grouped: defaultdict[str, defaultdict[int, list[PublicationEvent]]] = defaultdict(partial(defaultdict, list))
    for part in parts:
        for event in _decoder.decode(part):
            grouped[event.publication][event.variant].append(event)
    return grouped
