"""Tables of deliveries: who was notified of a publication, who had a right to it, and the share that arrived."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Right(StrEnum):
    """The right of a client to a publication, as the delivery oracle judges it."""

    MUST = "must"
    """The client is owed it: a settled subscription of its own matches, and its publisher was certainly entitled to
    make it. Only evidence excuses that it did not come."""
    MAY = "may"
    """The client may get it, because a (un)subscription or (un)advertisement was in flight: both outcomes are correct.
    Of a protocol that promises best effort, so it is where an outage may have cost it."""
    DUE = "due"
    """The client should get it, from a protocol that promises best effort: not to get it lowers the delivery ratio and
    is no defect."""
    NONE = "none"
    """The client must not get it."""


class Defect(StrEnum):
    """A defect of the deliveries of a publication to a client."""

    LOST = "lost"
    """The client must get it and did not."""
    DUPLICATED = "duplicated"
    """The client was notified more than once."""
    SPURIOUS = "spurious"
    """The client was notified and must not be; `cause` gives the reason."""
    REORDERED = "reordered"
    """A later publication reached the client first, though routing promises order."""


class Cause(StrEnum):
    """The reason why a notification is spurious, or why one that was in flight is lost even so.

    Of a set of publications, the reason concerns one of them, or the set.
    """

    UNKNOWN_PUBLICATION = "unknown publication"
    """No client published it."""
    UNADVERTISED = "outside its advertisements"
    """The publication conforms to no advertisement that its publisher had."""
    WITHDRAWN = "subscription withdrawn"
    """All matching subscriptions had been withdrawn before."""
    NOT_YET_SUBSCRIBED = "not yet subscribed"
    """All matching subscriptions were made later."""
    REFUSED = "refused"
    """The publisher was notified that the publication was not accepted."""
    NO_MATCH = "no subscription matches"
    """The client never had a subscription that matches."""
    GAP = "gap"
    """The publication is lost: a matching subscription had started, and a later publication reached the client."""
    STARTED = "started"
    """The publication is lost: a matching subscription had started, and nothing else excuses the loss."""
    NO_PART = "no part matches"
    """No part of the composite subscription matches a publication of the set, or no client published that."""
    OUTSIDE_WINDOW = "outside the window"
    """The publications of the set lie further apart than the window."""
    VARIABLES_DIFFER = "variables differ"
    """The set fulfils the pattern except for its variables."""
    NO_COMBINATION = "no combination"
    """The set does not fulfil the pattern, or there is more in it than what does."""


class Notification(Struct, frozen=True, kw_only=True):
    """One row per notification of a client."""

    variant: str
    publication: str
    client: str
    repeat: int
    """0 for the first notification of this publication to this client, 1 for the second, ..."""
    publisher: str | None
    """The publishing client; null, as are the times, when no client published it."""
    broker: str | None
    """The client's broker."""
    intended_ns: int | None
    """The time at which the workload wanted it published."""
    published_ns: int | None
    """The time at which it was handed to the publisher's session."""
    notified_ns: int
    delay_ms: float | None
    """From the intended time to the notification, milliseconds."""
    hops: int | None
    """Overlay links travelled."""
    queueing_ms: float | None
    """The wait in output queues along its path, milliseconds; null when the log does not hold the whole path, or
    it goes in circles. The wait
    for service (a broker's set service time) is not included."""
    path: list[str] | None
    """The brokers on its path, the publisher's first; null when the log does not hold the whole path, or it goes
    in circles: over more than four times as many brokers as the overlay has."""
    second: int | None
    """The second of the intended time."""
    overtaken: bool
    """True when a later publication of the same publisher reached the client first. A defect only where routing
    promises order: see `expected`."""


class Expectation(Struct, frozen=True, kw_only=True):
    """One row per publication and client that must or may get it, or that got it without a right to it."""

    variant: str
    publication: str
    client: str
    right: str
    """must, may, due or none: see `Right`."""
    notifications: int
    """The number of notifications that the client got."""
    defect: str | None
    """lost, duplicated, spurious or reordered: see `Defect`; null without a defect."""
    cause: str | None
    """The reason why it is spurious, or lost although it was in flight: see `Cause`."""
    excuse: str | None = None
    """Evidence by which it is excused that the notification did not come, in a few words; null where it came, is lost
    or cannot be judged."""
    evidence: str | None = None
    """The record, the fault and the promise that make up the excuse."""
    not_judged: str | None = None
    """The reason why it cannot be judged that the notification did not come."""
    last_seen: str | None = None
    """The last record of a lost publication on its way to the client."""
    publisher: str | None
    published_ns: int | None


class DeliveryOverTime(Struct, frozen=True, kw_only=True):
    """One row per variant of a best-effort protocol and second in which publications were made that were due somewhere.

    Other protocols have no row.
    """

    variant: str
    second: int
    """The second of the publishing."""
    due: int
    """Pairs of publication and client that must or should have been notified."""
    notified: int
    """The number of these pairs whose client was notified."""
    ratio: float
    """notified / due."""


class DeliveryByReceivers(Struct, frozen=True, kw_only=True):
    """One row per variant of a best-effort protocol and number of clients to which a publication was due.

    Only runs with a best-effort protocol have this table.
    """

    variant: str
    receivers: int
    """Clients to which each of these publications was due."""
    publications: int
    due: int
    """receivers x publications."""
    notified: int
    """These pairs of publication and client, as far as the client was notified."""
    ratio: float
    """notified / due."""
