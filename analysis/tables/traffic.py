"""Tables of messages: those that brokers and links moved, queued and dropped, and the routes of their copies."""

from __future__ import annotations

from msgspec import Struct


class BrokerMessages(Struct, frozen=True, kw_only=True):
    """One row per variant, broker and message kind: messages moved until clients left and brokers stopped."""

    variant: str
    broker: str
    kind: str
    """advertise, unadvertise, subscribe, unsubscribe, publish, control, compose or detection."""
    from_clients: int
    """Messages received from clients."""
    received: int
    """Messages received from neighbours."""
    sent: int
    """Messages sent to neighbours."""
    delivered: int
    """Notifications handed to clients."""
    received_bytes: int
    """From clients and neighbours, body and header."""
    sent_bytes: int
    """To neighbours, body and header."""


class LabelledMessages(Struct, frozen=True, kw_only=True):
    """One row per variant, broker, message kind and label of messages that carry one, until clients left.

    The label names the purpose for which the routing protocol sent the message. Messages without one are in
    `messages` only.
    """

    variant: str
    broker: str
    kind: str
    """The kind as in `messages`: control, for most labels."""
    label: str
    sent: int
    """Messages sent to neighbours."""
    sent_bytes: int
    """Body and header."""
    received: int
    """Messages received from neighbours."""
    received_bytes: int


class LinkLoad(Struct, frozen=True, kw_only=True):
    """One row per variant and direction of an overlay link that carried a message."""

    variant: str
    source: str
    target: str
    messages: int
    publications: int
    """The messages that are publications."""
    bytes: int
    """Body and header."""
    max_queue: int | None
    """Longest output queue that a message left behind when it was sent."""
    mean_wait_ms: float | None
    """Mean wait in the output queue, milliseconds."""
    max_wait_ms: float | None


class RouteLength(Struct, frozen=True, kw_only=True):
    """One row per variant and number of links that copies of publications had travelled when they arrived at a broker.

    Only runs with a best-effort protocol have this table. Estimated where brokers logged a sample of publications.
    """

    variant: str
    hops: int
    """Links travelled, at least 1."""
    first: int
    """Copies that reached a broker which had not received the publication before."""
    repeated: int
    """Copies that reached a broker which had: routes end there (semi-probabilistic routing, section 4, footnote 4)."""


class NetworkUsage(Struct, frozen=True, kw_only=True):
    """One row per variant and number of brokers to which publications went: the latency of all router links that their
    copies crossed, against that of IP multicast (normalized resource usage; MEDYM, sections 5.1.1 and 5.2.2).

    Only runs over a network of routers have this table. A publication without a destination is in no row. The number of
    publications is estimated where brokers logged a sample of them.
    """

    variant: str
    destinations: int
    """Brokers with a client that was notified, without the broker to which the publisher is connected."""
    publications: int
    usage_ms: float
    """Sum of the latencies of all links that the copies crossed, once for each copy; the mean over the publications,
    milliseconds."""
    ideal_ms: float
    """Sum of the latencies under IP multicast: the fastest paths from the publisher's broker to the destinations,
    merged, so that each link counts once. A scheme can use less, because these paths are no Steiner tree."""
    normalized: float
    """Usage over ideal, the mean over the publications."""


class QueueLength(Struct, frozen=True, kw_only=True):
    """One row per variant, output queue and second until clients left: the largest values of the gauge in that second.

    The gauge is silent while its values stay as they are, so a second without a row is like the one before.
    """

    variant: str
    broker: str
    neighbour: str
    second: int
    queue: int
    """Messages waiting."""
    in_flight: int
    """Messages sent and not yet acknowledged."""


class Drop(Struct, frozen=True, kw_only=True):
    """One row per variant, node, event, message kind and reason of dropped messages and rejected operations."""

    variant: str
    node: str
    event: str
    """dropped (a message ended there), or rejected or refused (a broker rejected a client's operation, or refused its
    publication, by the client's log)."""
    kind: str
    """The kind of the message or the operation; empty when it was not logged."""
    reason: str
    count: int
