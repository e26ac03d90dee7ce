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
    """The right of a client to a publication, as the delivery oracle judges it."""

    MUST = "must"
    """The client must get it: a settled subscription of its own matches, and its publisher was certainly entitled to
    make it."""
    MAY = "may"
    """The client may get it: a (un)subscription or (un)advertisement was in flight, an outage lasted, or the run was
    cut short. Both outcomes are correct."""
    DUE = "due"
    """As `must`, of a protocol that promises best effort: not to get it lowers the delivery ratio and is no defect."""
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
    """The reason why a notification is spurious, or why one that was in flight is lost even so."""

    UNKNOWN_PUBLICATION = "unknown publication"
    """No client published it."""
    UNADVERTISED = "outside its advertisements"
    """It conforms to no advertisement that its publisher had."""
    WITHDRAWN = "subscription withdrawn"
    """All matching subscriptions had been withdrawn before."""
    NOT_YET_SUBSCRIBED = "not yet subscribed"
    """All matching subscriptions were made later."""
    REFUSED = "refused"
    """Its publisher was told that it was not accepted."""
    NO_MATCH = "no subscription matches"
    """The client never had a subscription that matches."""
    GAP = "gap"
    """It is lost: a subscription that it matches had started, and a later publication reached the client."""
    STARTED = "started"
    """It is lost: a subscription that it matches had started, and nothing else excuses the loss."""


class WorkKind(StrEnum):
    """The kinds of work of a router on a publication."""

    MATCHING = "matching"
    """Comparing its content with the subscriptions stored at the broker. Each comparison counts once."""
    PATH_SELECTION = "path selection"
    """All other work, from the arrival of the publication until its next hops are known: reading the header and
    choosing next hops. Counts once for each arrival at a broker."""


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
    """The wait in output queues along its path, milliseconds; null when the log does not hold the whole path. The wait
    for service (a broker's set service time) is not included."""
    path: list[str] | None
    """The brokers on its path, the publisher's first; null when the log does not hold the whole path."""
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
    publisher: str | None
    published_ns: int | None


class BrokerMessages(Struct, frozen=True, kw_only=True):
    """One row per variant, broker and message kind: messages moved until clients left and brokers stopped."""

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


class LabelledMessages(Struct, frozen=True, kw_only=True):
    """One row per variant, broker, message kind and label of messages that carry one, until clients left.

    The label says what the routing protocol sent the message for. Messages without one are in `messages` only.
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


class BrokerLoad(Struct, frozen=True, kw_only=True):
    """One row per variant, broker and second in which the broker ran, until clients left."""

    variant: str
    broker: str
    second: int
    processor: float
    """Processor time of the broker's process in this second, divided by the time that passed: 1 is one busy processor.

    Of a simulated broker it is the share of the second in which its modelled service was occupied. With time dilation
    it is the share during the run, which was that much slower.
    """
    memory_bytes: int | None
    """Resident memory of the process; null in the simulator."""


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


class QueueLength(Struct, frozen=True, kw_only=True):
    """One row per variant, output queue and second until clients left: the largest values of the gauge in that second.

    The gauge is silent while all values stay zero, so a second without a row is like the one before.
    """

    variant: str
    broker: str
    neighbour: str
    second: int
    queue: int
    """Messages waiting."""
    in_flight: int
    """Messages sent and not yet acknowledged."""


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
    """These pairs, as far as they were."""
    ratio: float
    """notified / due."""


class DelayOverTime(Struct, frozen=True, kw_only=True):
    """One row per variant and second in which publications that were delivered were intended."""

    variant: str
    second: int
    notifications: int
    mean_ms: float
    p50_ms: float
    p95_ms: float
    max_ms: float


class DelayDistribution(Struct, frozen=True, kw_only=True):
    """One row per variant and logarithmic class of delay that holds a notification; 20 classes a decade."""

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
    """Share of the delay spent in output queues, over the notifications whose whole path is known."""


class MatchingLoad(Struct, frozen=True, kw_only=True):
    """One row per variant and broker that compared content with subscriptions."""

    variant: str
    broker: str
    operations: int
    """Comparisons of one publication's content with the subscriptions stored there."""
    matches: int
    """Subscriptions that matched, summed over all comparisons."""
    time_ms: float
    """Time spent comparing, summed over all comparisons, milliseconds."""


class RouterWork(Struct, frozen=True, kw_only=True):
    """One row per variant, broker and kind of work on publications that took time there.

    Times are by the broker's clock, so they include what else the host did meanwhile, and in the scenario's time. A
    simulated broker's clock stands still while its router works, so it has no row. Percentiles are at most 2.3% too
    large.
    """

    variant: str
    broker: str
    work: str
    """matching or path selection: see `WorkKind`."""
    count: int
    """The number of comparisons, or of arrivals for which paths were selected."""
    mean_us: float
    """Microseconds, as the next four."""
    p50_us: float
    p95_us: float
    p99_us: float
    max_us: float


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


class Fault(Struct, frozen=True, kw_only=True):
    """One row per fault that took effect; faults of one kind on several targets at the same time are one.

    A fault is watched until the overlay should have recovered from it (the manifest's `recovery`, at least 10 s) or the
    next fault begins, and to the end of the run where it is never healed. It strikes the notifications that are in
    flight while it is watched: from the publishing until the client gets it, or, for a notification that never comes,
    until 2 s after the last record of the publication. A notification is late when its delay is more than twice the
    95th percentile (to within an eighth) of the delay of publications due in the 10 s before the fault.
    """

    variant: str
    kind: str
    """kill, stop, pause, slow, throttle, link_down (a partition and a flap, too), degrade, corrupt, reset, disturb."""
    what: list[str]
    """The brokers, the links (`A-B`) or the directions of links (`A->B`)."""
    began_ns: int
    healed_ns: int | None
    """The time at which the last of them was healed; null where one never was."""
    second: int | None
    """The second in which it began."""
    duration_s: float | None
    noticed: int
    """The number of neighbours of the broker, or ends of the link, that lost it while the fault lasted."""
    detected_first_s: float | None
    """Seconds from the fault until the first of these noticed; null where none did."""
    detected_last_s: float | None
    """Seconds from the fault until the last of these noticed."""
    reconnected_s: float | None
    """Seconds from the heal until the last neighbour that was without it then had it again; null where no neighbour
    was, or one never had it again."""
    recovered_s: float | None
    """Seconds from the heal until delivery was as before. By then, the last publication that some client never got had
    been published, and all late notifications had come of publications made before that, before the heal, before the
    last neighbour was back, or while such a late notification was still awaited. 0 stands for the heal or earlier. Null
    where the fault was not healed, or nothing was delivered before it."""
    publications: int
    """The number of publications that it struck."""
    due: int
    """The notifications of these that clients must or may get."""
    late: int | None
    """The notifications that came late; null where nothing was delivered before the fault."""
    excused: int
    """The notifications that were allowed to come and did not."""
    lost: int
    """The notifications that had to come and did not."""
    dropped: int
    """Copies of publications that brokers dropped while the fault was watched."""
    drop_reasons: list[str]
    drop_counts: list[int]
    """The number of dropped copies, for each of the reasons."""
    delay_before_ms: float | None
    """Mean delay of the publications due in the 10 s before."""
    delay_during_ms: float | None
    """Mean delay of those due from the fault to its heal."""
    delay_after_ms: float | None
    """Mean delay of those due in the 10 s after the heal, as far as the fault is watched."""


class PhaseTimes(Struct, frozen=True, kw_only=True):
    """One row per variant and phase, as in the manifest."""

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
    "labels": LabelledMessages,
    "load": BrokerLoad,
    "links": LinkLoad,
    "queues": QueueLength,
    "delivery": DeliveryOverTime,
    "delays": DelayOverTime,
    "distribution": DelayDistribution,
    "hops": DelayByHops,
    "matching": MatchingLoad,
    "router_work": RouterWork,
    "drops": Drop,
    "faults": Fault,
    "phases": PhaseTimes,
}
"""The row of every table, by the table's name."""
PARTITIONED: frozenset[type[Struct]] = frozenset((Notification, Expectation))
"""The rows of tables that are directories of files, with the column `variant` in the path:
`variant=fixed/part-000001.parquet`."""
