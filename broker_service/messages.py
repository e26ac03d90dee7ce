"""Messages between neighbouring brokers, and requests and events of clients, as plain values.

One class serves every routing protocol: `body` is the client's own content (a publication, or the predicates of a
subscription or an advertisement) and stays opaque until it is matched; `header` is whatever the routing protocol adds
and only that protocol can read.

No value refers to itself, so the collector of cyclic garbage need not know them (`gc=False`).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

BrokerId = str
ClientId = str


class Kind(enum.IntEnum):
    """The request that a message makes of its receiver. Values equal those of `Kind` in proto/broker.proto."""

    ADVERTISE = 1
    UNADVERTISE = 2
    SUBSCRIBE = 3
    UNSUBSCRIBE = 4
    PUBLISH = 5
    CONTROL = 6
    COMPOSE = 7
    DETECTION = 8

    # The hash of an int, because the inherited one is a Python call on every table look-up.
    __hash__ = int.__hash__

    @property
    def word(self) -> str:
        """The name in the log."""
        return KIND_WORDS[self]


MOST_HOPS: Final = 10_000
"""Overlay links that a message may travel: as many as the largest overlay has brokers. One that has travelled further
is going round in circles, because some routing table is wrong, and would do so for ever."""

UNSTATED_HOPS: Final = (1 << 32) - 1
"""The hops of a notification whose way nobody knows: of a deployed system, where it has several."""

KIND_WORDS = {kind: kind.name.lower() for kind in Kind}


class Message(msgspec.Struct, frozen=True, gc=False):
    """A message on an overlay link."""

    kind: Kind
    id: str
    """A publication's is its client's own name for it, which other clients may use as well."""
    body: bytes = b""
    header: bytes = b""
    hops: int = 0
    """Overlay links travelled when the next broker handles it; 0 for a client's own message at its broker."""
    label: str = ""
    """Purpose of the message in the routing protocol's words, for the log; empty for most."""
    published: int = 0
    """Time at which its client published a publication, in nanoseconds of the run's clock. A router that makes a new
    message for the next hop keeps it, because detections of composite subscriptions depend on it."""

    @property
    def size(self) -> int:
        """Bytes of body and header."""
        return len(self.body) + len(self.header)


class Operation(enum.IntEnum):
    """An operation of a client at its broker. Values equal those of `Operation` in proto/broker.proto."""

    ATTACH = 1
    DETACH = 2
    ADVERTISE = 3
    UNADVERTISE = 4
    SUBSCRIBE = 5
    UNSUBSCRIBE = 6
    PUBLISH = 7
    COMPOSE = 8
    """Subscribe to a composite; `UNSUBSCRIBE` withdraws it."""

    __hash__ = int.__hash__


OPERATION_KINDS: Mapping[Operation, Kind] = {
    Operation.ADVERTISE: Kind.ADVERTISE,
    Operation.UNADVERTISE: Kind.UNADVERTISE,
    Operation.SUBSCRIBE: Kind.SUBSCRIBE,
    Operation.UNSUBSCRIBE: Kind.UNSUBSCRIBE,
    Operation.PUBLISH: Kind.PUBLISH,
    Operation.COMPOSE: Kind.COMPOSE,
}
"""Kinds of the messages that operations lead to; those about the client itself lead to none."""

SUBSCRIBING: Final = frozenset((Operation.SUBSCRIBE, Operation.COMPOSE))
"""The operations that make a subscription of either kind."""


class Outcome(enum.IntEnum):
    """The kind of an event that a broker sends to clients. Values equal those of `Outcome` in proto/broker.proto."""

    CONFIRMED = 1
    REJECTED = 2
    NOTIFIED = 3
    STARTED = 4
    """A subscription has started; the name of it is the event's `id`."""
    LOST = 5
    """Positions of a stream are lost, because the routing protocol gave them up for these clients: those from the
    event's `position` on, and before its `number`. Without a position: so many notifications as `number` were dropped
    for the client, because it does not read."""


class ClientRequest(msgspec.Struct, frozen=True, gc=False):
    """One operation of one logical client."""

    client: ClientId
    number: int
    """The number that the answer carries. It is 0 for what a new stream repeats though it was confirmed before. That of
    publications grows within a session; they are answered only when they are rejected, and acknowledged together."""
    operation: Operation
    id: str = ""
    """The client's own name for the advertisement, subscription or publication."""
    body: bytes = b""
    """Encoded content, predicates or composite subscription."""
    published: int = 0
    """Time at which a publication was published (`Message.published`); 0 where the broker is to fill in its own
    clock."""


class StreamPosition(msgspec.Struct, frozen=True, gc=False):
    """Place of a publication in a stream whose order its routing protocol keeps."""

    stream: str
    position: int
    """Number of the publication in the stream, from 1."""


class ClientFrame(msgspec.Struct, frozen=True, gc=False):
    """Requests that travel together."""

    requests: Sequence[ClientRequest] = ()
    session: str = ""
    """In the first frame of a stream: the name of the session that this stream begins, or continues."""
    numbered: bool = False
    """In that frame: true where the client wants its notifications numbered."""
    acknowledged: int = 0
    """Greatest number of a notification that the client has processed, with all before it; 0: none, or as before."""


class ConstituentPublication(msgspec.Struct, frozen=True, gc=False):
    """One of the publications that fulfil a composite subscription together."""

    id: str
    body: bytes


class StampedPublication(msgspec.Struct, frozen=True, gc=False):
    """A publication of a detection that another detector may complete."""

    id: str
    body: bytes
    stamp: int
    """Time of its publication in nanoseconds, as in `Message.published`."""


class ClientEvent(msgspec.Struct, frozen=True, gc=False):
    """An event that a broker sends to clients of one session."""

    outcome: Outcome
    clients: tuple[ClientId, ...]
    number: int = 0
    """For an answer the number of the request; for a notification its place among those sent in the session, if the
    client asked for such numbers."""
    id: str = ""
    """The client's name for what the event is about: the publication of a notification, the composite subscription of a
    detection, the subscription of a start."""
    body: bytes = b""
    hops: int = 0
    reason: str = ""
    position: StreamPosition | None = None
    """For a notification the position of its publication, if the routing protocol has positions; for a loss the first
    position that is lost."""
    publications: tuple[ConstituentPublication, ...] = ()
    """Publications of a detection, in the order of their publishing. Empty for every other event."""

    @property
    def contents_size(self) -> int:
        """Bytes of a detection's contents."""
        return sum(len(publication.body) for publication in self.publications)


def answer(request: ClientRequest, outcome: Outcome, reason: str = "") -> ClientEvent:
    """The event that answers a request."""
    return ClientEvent(outcome, (request.client,), request.number, request.id, reason=reason)


MOST_IN_DOUBT: Final = 256
"""Publications of a session that may have been sent and not acknowledged, where the routing protocol recognises
repeats. It recognises as many of each client, so that none that is repeated after a crash is taken for a new one."""
ACKNOWLEDGED_AT_ONCE: Final = MOST_IN_DOUBT // 2
"""Publications of a session after which a broker acknowledges at once: half, so that the client need not stop."""
ACKNOWLEDGE_WITHIN: Final = 0.5
"""Seconds after which a broker acknowledges what it has handled, because a frame costs as much as a publication at low
rates. Nothing waits for it: a client keeps what is not acknowledged, and repeats it when its stream breaks."""


class Welcome(msgspec.Struct, frozen=True):
    """The broker's first message on a stream; the client sends nothing before it."""

    incarnation: int
    recognises_repeats: bool = False
    """True if the broker recognises publications that its former incarnation has accepted, so that the client can
    safely repeat those without an acknowledgement."""
    announces_starts: bool = False
    """True when the broker announces the start of each subscription."""


class BrokerFrame(msgspec.Struct, frozen=True, gc=False):
    """A frame from a broker to a client's session: events, and acknowledgements of publications."""

    events: Sequence[ClientEvent] = ()
    welcome: Welcome | None = None
    acknowledged: int = 0
    """Number of the latest publication up to which the broker has handled all; 0 for none, or no change."""
