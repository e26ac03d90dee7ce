"""The tables of `results/`: one struct a table, whose docstring is the grain and whose fields are the columns.

Each table is `results/<name>.parquet`; `TABLES` maps the names. Most are one file; those of `PARTITIONED`, which grow
with every message, are directories of Parquet files, divided by variant as Hive, Spark and Arrow do it. The files take
their schemas from here, `docs/logs.md` takes its text from here, and `analysis.tables.results.read_table` gives typed
rows back.

Times named `_ns` are of the run's clock (the log's), in nanoseconds. `second` counts whole seconds from the start of
the variant's phase `run`; it is negative while clients still join. Delays count from a publication's intended time.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Right(StrEnum):
    """What the delivery oracle says of a publication and a client."""

    MUST = "must"
    """A settled subscription of the client matches a publication that its publisher was surely entitled to make."""
    MAY = "may"
    """A (un)subscription or (un)advertisement was in flight, something was broken, or the run was cut short: both
    outcomes are correct."""
    NONE = "none"
    """It must not get it."""


class Defect(StrEnum):
    """What is wrong with the deliveries of a publication to a client."""

    LOST = "lost"
    """It must get it and did not."""
    DUPLICATED = "duplicated"
    """It was notified more than once."""
    SPURIOUS = "spurious"
    """It was notified and must not be; `cause` says why."""
    REORDERED = "reordered"
    """A later publication reached it before, though routing promises order."""


class Cause(StrEnum):
    """Why a notification is spurious."""

    UNKNOWN_PUBLICATION = "unknown publication"
    """No client published it."""
    UNADVERTISED = "outside its advertisements"
    """It conforms to no advertisement that its publisher had."""
    WITHDRAWN = "subscription withdrawn"
    """The matching subscriptions had all been withdrawn before."""
    NOT_YET_SUBSCRIBED = "not yet subscribed"
    """The matching subscriptions were all made later."""
    NO_MATCH = "no subscription matches"
    """The client never had a subscription that matches."""


class Work(StrEnum):
    """What a router does with a publication."""

    MATCHING = "matching"
    """It compares its content with the subscriptions stored there: a comparison counts once."""
    PATH_SELECTION = "path selection"
    """All else, from when it gets the publication until it has said where that goes: reading the header and choosing
    next hops. Counts once for each arrival at a broker."""


class Notification(Struct, frozen=True, kw_only=True):
    """One row per notification that a client got."""

    variant: str
    publication: str
    client: str
    repeat: int
    """0 for the first notification of this publication to this client, 1 for the second, ..."""
    publisher: str | None
    """The publishing client; null, as are the times, when nobody published it."""
    broker: str | None
    """The client's broker."""
    intended_ns: int | None
    """When the workload wanted it published."""
    published_ns: int | None
    """When it was handed to the publisher's session."""
    notified_ns: int
    delay_ms: float | None
    """From the intended time to the notification, milliseconds."""
    hops: int | None
    """Overlay links travelled."""
    queueing_ms: float | None
    """Waiting in output queues along the way it came, milliseconds; null when the log does not hold the whole way.
    Waiting for service (a broker's set service time) is not in it."""
    path: list[str] | None
    """The brokers it came through, the publisher's first; null when the log does not hold the whole way."""
    second: int | None
    """Of the intended time."""
    overtaken: bool
    """A publication that its publisher made later had reached the client before. A defect only where routing promises
    order: see `expected`."""


class Expectation(Struct, frozen=True, kw_only=True):
    """One row per publication and client that must or may get it, or that got it without a right."""

    variant: str
    publication: str
    client: str
    right: str
    """must, may or none: see `Right`."""
    notifications: int
    """How many it got."""
    defect: str | None
    """lost, duplicated, spurious or reordered: see `Defect`; null when all is well."""
    cause: str | None
    """Why it is spurious: see `Cause`."""
    publisher: str | None
    published_ns: int | None


class BrokerMessages(Struct, frozen=True, kw_only=True):
    """One row per variant, broker and message kind: what moved until clients left and brokers stopped."""

    variant: str
    broker: str
    kind: str
    """advertise, unadvertise, subscribe, unsubscribe, publish or control."""
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


class LinkLoad(Struct, frozen=True, kw_only=True):
    """One row per variant and direction of an overlay link that carried a message."""

    variant: str
    source: str
    target: str
    messages: int
    publications: int
    """Those of the messages that are publications."""
    bytes: int
    """Body and header."""
    max_queue: int | None
    """Longest output queue that a message left behind when it was sent."""
    mean_wait_ms: float | None
    """Mean wait in the output queue, milliseconds."""
    max_wait_ms: float | None


class QueueLength(Struct, frozen=True, kw_only=True):
    """One row per variant, output queue and second until clients left: the largest value the gauge showed in it.

    A second without a row is like the one before: the gauge is silent while all stays zero.
    """

    variant: str
    broker: str
    neighbour: str
    second: int
    queue: int
    """Messages waiting."""
    in_flight: int
    """Messages sent and not yet acknowledged."""


class DelayOverTime(Struct, frozen=True, kw_only=True):
    """One row per variant and second in which delivered publications were intended."""

    variant: str
    second: int
    notifications: int
    mean_ms: float
    p50_ms: float
    p95_ms: float
    max_ms: float


class DelayDistribution(Struct, frozen=True, kw_only=True):
    """One row per variant and logarithmic delay class that holds a notification; 20 classes a decade."""

    variant: str
    lower_ms: float
    """Inclusive."""
    upper_ms: float
    """Exclusive."""
    notifications: int


class DelayByHops(Struct, frozen=True, kw_only=True):
    """One row per variant and number of overlay links travelled."""

    variant: str
    hops: int
    notifications: int
    mean_ms: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float
    queueing_share: float | None
    """Share of the delay spent in output queues, over the notifications whose whole way is known."""


class MatchingLoad(Struct, frozen=True, kw_only=True):
    """One row per variant and broker that compared content with subscriptions."""

    variant: str
    broker: str
    operations: int
    """Comparisons of one publication's content with the subscriptions stored there."""
    matches: int
    """Subscriptions that matched, in all."""
    time_ms: float
    """Time spent comparing, in all, milliseconds."""


class RouterWork(Struct, frozen=True, kw_only=True):
    """One row per variant, broker and kind of work on publications that took time there.

    Times are the broker's: of its clock, so what else the host did meanwhile is in them, and in the scenario's time. A
    simulated broker's clock stands still while its router works, so it has no row. Percentiles are at most 2.3% too
    large.
    """

    variant: str
    broker: str
    work: str
    """matching or path selection: see `Work`."""
    count: int
    """How many comparisons, or publications whose paths were selected."""
    mean_us: float
    """Microseconds, as the next four."""
    p50_us: float
    p95_us: float
    p99_us: float
    max_us: float


class Drop(Struct, frozen=True, kw_only=True):
    """One row per variant, node, event, message kind and reason for which something was dropped or refused."""

    variant: str
    node: str
    event: str
    """dropped (a message ended there) or rejected (a client's operation was refused, as the client was told)."""
    kind: str
    """The message's or the operation's; empty when it was not logged."""
    reason: str
    count: int


class Fault(Struct, frozen=True, kw_only=True):
    """One row per fault that took effect; faults of one kind that strike several targets at once are one.

    A fault is watched until the overlay may have recovered from it (the manifest's `recovery`, 10 s at least) or the
    next fault begins, and for ever where it is never healed. It strikes the notifications that are under way while it
    is watched: from the publishing until the client gets it, or, where that never comes, until 2 s after anything was
    last logged of the publication. A notification is late when its delay is more than twice the 95th percentile (to
    within an eighth) of the delay of publications due in the 10 s before the fault.
    """

    variant: str
    kind: str
    """kill, stop, pause, slow, throttle, link_down (a partition and a flap, too), degrade or corrupt."""
    what: list[str]
    """The brokers, the links (`A-B`) or the directions of links (`A->B`)."""
    began_ns: int
    healed_ns: int | None
    """When the last of them was healed; null where one never was."""
    second: int | None
    """In which it began."""
    duration_s: float | None
    noticed: int
    """Neighbours of the broker, or ends of the link, that lost it while the fault lasted."""
    detected_first_s: float | None
    """From the fault until the first of these noticed; null where none did."""
    detected_last_s: float | None
    """Until the last of these noticed."""
    reconnected_s: float | None
    """From the heal until the last of those that were without it then had it again; null where there is none, or one
    never had it again."""
    recovered_s: float | None
    """From the heal until delivery was as before: until the last publication was published that a client never got, and
    all late notifications had come of what was published before that, before the heal, before the last neighbour was
    back, or while such a late one was still awaited. 0: at the heal or before. Null where it was not healed, or nothing
    was delivered before."""
    publications: int
    """That it struck."""
    due: int
    """Notifications of these that clients must or may get."""
    late: int | None
    """Those that came late; null where nothing was delivered before."""
    excused: int
    """Those that may have come and did not."""
    lost: int
    """Those that must have come and did not."""
    dropped: int
    """Copies of publications that brokers dropped while the fault was watched."""
    drop_reasons: list[str]
    drop_counts: list[int]
    """Of the dropped, for each of the reasons."""
    delay_before_ms: float | None
    """Mean over the publications due in the 10 s before."""
    delay_during_ms: float | None
    """Mean over those due from the fault to its heal."""
    delay_after_ms: float | None
    """Mean over those due in the 10 s after the heal, as far as the fault is watched."""


class PhaseTimes(Struct, frozen=True, kw_only=True):
    """One row per variant and phase, as the manifest has them."""

    variant: str
    phase: str
    """start, join, run, drain or stop."""
    start_ns: int
    end_ns: int
    start_s: float
    """Seconds from the start of the variant's phase `run`."""
    end_s: float


TABLES: dict[str, type[Struct]] = {
    "notifications": Notification,
    "expected": Expectation,
    "messages": BrokerMessages,
    "links": LinkLoad,
    "queues": QueueLength,
    "delays": DelayOverTime,
    "distribution": DelayDistribution,
    "hops": DelayByHops,
    "matching": MatchingLoad,
    "router_work": RouterWork,
    "drops": Drop,
    "faults": Fault,
    "phases": PhaseTimes,
}
"""Every table by its file's name."""
PARTITIONED: frozenset[type[Struct]] = frozenset((Notification, Expectation))
"""Directories of files; the column `variant` is in the path: `variant=fixed/part-000001.parquet`."""
