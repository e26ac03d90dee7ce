"""The per-message log: one JSON object a line, one line for each event of a message at a node.

`TraceRecord` is the schema. The broker and the drivers write it, the analysis reads it.
"""

from __future__ import annotations

import enum
from typing import Annotated, Final

import msgspec

Integer = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""An integer of 64 bits, because the analysis keeps records in columns of these. Other lines are malformed."""


class Event(enum.StrEnum):
    """The kinds of records: events of brokers first, then those of clients (written by the driver processes), then
    gauges, and at last faults and changes of the overlay, which the emulator writes."""

    RECEIVED = "received"
    """A message had its turn. peer: the neighbour or client; bytes: body and header.

    arrived: the time at which it came over a neighbour's link, or a publication over the access link of its client's
    site, if that was before its turn. Between arrival and turn it waited for the broker's earlier work, for modelled
    service (`BrokerConfig.service_time`), or for a processor.

    duration: the router's work on it. It includes the comparison of `matched` and excludes decoding a publication's
    content, because no protocol does that at the publisher's broker. Of messages from clients, only publications have
    a duration.
    """
    MATCHED = "matched"
    """Publication content was compared with subscriptions. count: matches; duration: the comparison alone."""
    SENT = "sent"
    """A message left the output queue for a neighbour; sending it takes a link's send time from then on. duration: its
    wait in the queue; queue: length left behind.

    written: the time at which it was handed to the transport, where sending took time. The record is then made at that
    time, and has no `written` if the stream broke before. Other messages are written when they leave the queue. A
    message that travels again on another stream is not recorded again."""
    DETECTED = "detected"
    """The broker detected a set of publications that together match a composite subscription. kind: `detection`; id:
    the client's name for the composite; publications: the set; duration: its spread, which is the time between the
    earliest and the latest `publish` of the set. While a unit (a composite that is routed as a whole) moves, several
    brokers may detect the same set; the client is notified of it once. text: the name of the sub-unit, where a part of
    the composite is detected by itself (`placement`); the set then fulfils that part."""
    JOINED = "joined"
    """The broker became the join point of a composite subscription that is routed as a unit: it detects the composite
    from now on. kind: `compose`; id: the client's name for the composite; placement: the decision, of which `text`
    states the reason; peer: the broker that was the join point before, if the unit has moved."""
    MOVED = "moved"
    """The broker was the join point of a unit and sent the unit on. It still detects the composite until `left`, so
    that no publication is missed meanwhile. Fields as in `joined`; peer: the neighbour that the unit was sent to."""
    LEFT = "left"
    """The broker detects a unit no more, and the matches that it stored for the unit are gone. Fields as in `joined`,
    without peer; text: the reason. Not written by a broker that crashes."""
    DELIVERED = "delivered"
    """A notification left for a client. Of the kind `detection`, id: the client's name for the composite; bytes: all
    contents of the set."""
    DROPPED = "dropped"
    """A message ended here. text: the reason; count: the number of messages, when counted together.

    Of the kind `detection`: detections of a composite are lost, because a bound was reached, or because they came by
    another path than that of their unit. id: the publication that was discarded, or that completed them or would have;
    text: the reason, then `: composite` and the client's name for it; count: the partial matches or detections that
    were lost.
    """
    DISTURBED = "disturbed"
    """The fault `disturb` hit a message that came from a neighbour. text: `lost`, `repeated` or `held back`; duration:
    the time for which it is held back. A message that is not lost is `received` as often as the router gets it."""
    WAITED = "waited"
    """A publication had waited for at least 250 ms. Written only where brokers log a sample of publications (the
    scenario's `logs.publications`), and only of publications outside of the sample. duration: the wait. With peer, it
    waited in the output queue for this neighbour, which it left at `time`; without peer, it waited for service, and
    `time` is that of its turn."""
    RECALLED = "recalled"
    """The router took back a message that was meant for a neighbour. peer: the neighbour."""
    REJECTED = "rejected"
    """A client's operation was rejected. text: the reason."""
    REFUSED = "refused"
    """A client's publication was refused, with notice to the client, because the routing protocol takes no more for
    now. It was never accepted. text: the reason."""
    LINK_UP = "link_up"
    """A stream was opened. At a broker, peer: the neighbour; count: the neighbour's incarnation. At a driver, peer: the
    session's broker; client: the client, if it has a session of its own because it is at a site."""
    LINK_DOWN = "link_down"
    """The stream broke, or its other end is silent."""
    LINK_ADDED = "link_added"
    """The broker got a neighbour. peer: the neighbour; count: the number of times that the two have been linked."""
    LINK_REMOVED = "link_removed"
    """The broker lost a neighbour; whatever the link held was dropped. peer and count as in `link_added`."""
    STARTED = "started"
    """The node began to log: its first record. count: its incarnation; text: the digest of the sources of its program
    (`record.program`), of brokers and drivers that are processes of their own."""
    STOPPED = "stopped"
    """The node ended in order. count: log records lost; records: those that it wrote since it started."""

    DEFECT = "defect"
    """The broker ends because its own code failed, nearly always its router. count: its incarnation.

    text: a sentence that names the broker, the protocol and what was handled; below it the stack trace.
    """

    ADVERTISE = "advertise"
    """A client's operation, as issued. id: the client's name for it; predicates: its content."""
    UNADVERTISE = "unadvertise"
    """A client's operation, as issued. It withdraws the advertisement of this id."""
    SUBSCRIBE = "subscribe"
    """A client's operation, as issued. id: the client's name for it; predicates: its content."""
    UNSUBSCRIBE = "unsubscribe"
    """A client's operation, as issued. It withdraws a subscription or a composite subscription of this id."""
    COMPOSE = "compose"
    """A client's composite subscription, as issued. id: the client's name for it; text: its pattern in notation;
    duration: its window, the largest time between the publications of a set."""
    PUBLISH = "publish"
    """A client's publication. intended: the time at which the workload wanted it; time: the time at which it was handed
    to the session; numbers, strings: its content."""
    CONFIRMED = "confirmed"
    """The broker confirmed an operation. id and kind: those of the operation. The end of a client program's stream
    confirms, too, what the broker had not answered, and the withdrawals that it brings about.

    Of the kind `publish`: the broker acknowledged that it has accepted the publication. Written only where routing
    promises to keep what a broker accepted (the loss `unaccepted`), because no other verdict needs a record for each
    publication. Publications are acknowledged together, at the latest after 0.5 s; the time is that at which the
    acknowledgement reached the client.
    """
    ANNOUNCED = "announced"
    """The client's broker announced that a subscription has started (`Promises.announces_starts`): every publication
    that is made from now on and that it matches reaches the client. id: that of the subscription. Few protocols
    announce that."""
    LOST_RANGE = "lost range"
    """Positions of a stream were lost for a client, because its broker was cut off for too long (`Promises.gives_up`).
    The broker records that it told the client, and the client that it was told, where the notifications of publications
    among them would have come. stream and position: the first one; count: their number."""
    MISSED = "missed"
    """A client's broker told it that it dropped notifications for it, because the client does not read
    (`clients.unread`). count: their number, since the last such record."""
    STREAM_ENDED = "stream ended"
    """A client program ended its stream, or a fault ended the program. client: the program; peer: its broker. What the
    broker had passed on to the program and had not come to the site yet is lost with the stream."""
    MISNUMBERED = "misnumbered"
    """A broker that numbers notifications sent one to a client program under a number that is not the next. id: that
    of the publication; count: the number; text: the one that was due."""
    UNPROCESSED = "unprocessed"
    """A client program's stream ended, and the program had not acknowledged this notification, though it acknowledges
    others. id: that of the publication; count: the number of the notification."""
    NOTIFIED = "notified"
    """A client got a notification. id: that of the publication. Of the kind `detection`, id: the client's name for the
    composite; publications: the set. arrived: the time at which it came over the access link of the client's site,
    where the runtime knows that to be earlier."""

    QUEUE = "queue"
    """A gauge, once a second and link, unless all of its numbers are as before. queue: messages waiting; count: in
    flight; both are left out if both are as before. sent, bytes: the messages that the incarnation has sent to this
    neighbour since it started, and their size. They are the sums of its `sent` records before this one, and of
    publications outside of the sample, where brokers log a sample. A broker that ends in order writes them once more.

    Without peer: messages waiting for service (`BrokerConfig.service_time`); duration: the longest wait since the last.
    """
    BUFFER = "buffer"
    """A gauge of a buffer of the routing protocol, once a second, unless it is empty as before. label: its name; bytes:
    the size of what is in it; queue: publications in it.

    Of a buffer whose publications wait for others before clients are notified of them: count: those notified of since
    the last record; duration: the time that they were in it, all together.
    """
    LOAD = "load"
    """A gauge of a broker, when it starts and once a second. count: its incarnation; duration: its work since it
    started; bytes: the resident memory of its process.

    Work is the processor time of all threads of the process. Where the router is a program, work and memory are those
    of the program's process, too. Of a simulated broker, work is the time for which its modelled service was occupied,
    and it has no memory of its own.
    """
    LAG = "lag"
    """A gauge, once a second. duration: the worst lateness of the node's event loop since the last one."""

    FAULT = "fault"
    """A fault took effect, between `time` and `time + duration`. text: its kind (kill, link_down, ...;
    `record.faults`).

    peer: the broker, `A-B` for a link, `A->B` for one direction of it, or the site or client. Of a move, to: the
    broker or the site to which it leads; kind: its handover (`record.handover`).
    """
    HEALED = "healed"
    """A fault was healed, between `time - duration` and `time`. text: the kind of the heal (restart, link_up, ...);
    peer, to and kind: as in `fault`.

    The node of `fault`, of this record and of the next four is the emulator.
    """
    LISTENING = "listening"
    """A restarted broker began to listen for clients, between `time - duration` and `time`, as looks from outside
    found. peer: the broker. Written where brokers are processes or containers, which are up before their programs
    are."""
    WITHOUT_EFFECT = "without_effect"
    """A fault did nothing, because its link was not there. text and peer: as in `fault`."""
    APPEARED = "appeared"
    """Two brokers were linked, between `time` and `time + duration`. peer: the link, `A-B`."""
    VANISHED = "vanished"
    """The link of two brokers was removed, between `time` and `time + duration`. peer: the link, as it appeared."""


EMULATOR = "emulator"
"""The node that logs faults and changes of the overlay; on several hosts each host has one, `emulator@HOST`."""
SAMPLED = frozenset({Event.RECEIVED, Event.MATCHED, Event.SENT, Event.DELIVERED})
"""Events that brokers log only of publications in the sample, where they log a sample; of other messages always."""
FAULT_CHANGES = frozenset({Event.FAULT, Event.HEALED})
"""Events by which a fault begins or ends."""
LINK_CHANGES = frozenset({Event.APPEARED, Event.VANISHED})
"""Events by which a link of an overlay that changes begins or ends."""
PLACEMENT_CHANGES = frozenset({Event.JOINED, Event.MOVED, Event.LEFT})
"""Events by which a broker begins to detect a unit, sends it on, or detects it no more."""


class PredicateRecord(msgspec.Struct, omit_defaults=True, kw_only=True):
    """One predicate of a subscription or an advertisement. Its value is `number` or `string`, of which one is set."""

    attribute: str
    operator: str
    """The operator in PADRES notation: =, <, eq, str-prefix, ... (`language.Operator` values)."""
    number: int | float | None = None
    string: str | None = None


class PlaceCost(msgspec.Struct, omit_defaults=True, frozen=True):
    """Estimated cost of detecting a composite subscription at one broker."""

    broker: str
    cost: float | None = None
    """Total routing cost (Li, Muthusamy, Jacobsen, section 4.3), which has no unit; None where some broker would be
    saturated."""


SUB_UNIT: Final = "/"
"""Separates the name of a unit from that of a part of it which is a unit, too."""


class PlacementRecord(msgspec.Struct, omit_defaults=True, kw_only=True, frozen=True):
    """The decision by which a unit, a composite subscription routed as a whole, is detected where it is."""

    unit: str
    """The unit's name in the overlay. It is another one when the client makes the composite subscription again.

    A part of a unit may be a unit, too: a sub-unit `<unit>/<name>`, whose detections go to the unit's join point.
    """
    epoch: int
    """Number of times that the client's broker has routed the unit; of a sub-unit, its unit's join point."""
    move: int = 0
    """Number of times that the unit has been sent on by a join point in this epoch."""
    path: tuple[str, ...] = ()
    """The brokers from the client's, or from the join point of a sub-unit's unit, to this one. A crash of any of them
    costs the matches that this one stores."""
    matches: float
    """Estimated detections a second."""
    parts: tuple[float, ...]
    """Estimated matches a second of each part, from the left."""
    costs: tuple[PlaceCost, ...] = ()
    """The costs that were compared; empty where the decision depends on none."""


class TraceRecord(msgspec.Struct, omit_defaults=True, gc=False):
    """One line of `logs/<node>.jsonl`. Fields that do not apply are left out."""

    time: Integer
    """Nanoseconds of the host's monotonic clock; of virtual time when simulated."""
    node: str
    """The broker, or the driver process that runs clients."""
    variant: str
    """The variant of the scenario. A scenario without `vary` has the one variant `base`."""
    event: Event
    kind: str | None = None
    """advertise, unadvertise, subscribe, unsubscribe, publish, control, compose or detection; of a move, its
    handover."""
    id: str | None = None
    """The message's identifier, the same at every node."""
    client: str | None = None
    """The logical client concerned."""
    peer: str | None = None
    """The neighbour, for broker events; the broker, for client events."""
    hops: Integer | None = None
    """Overlay links travelled so far."""
    queue: Integer | None = None
    """Messages waiting in the output queue concerned."""
    duration: Integer | None = None
    """Nanoseconds."""
    bytes: Integer | None = None
    """Size of body and header."""
    arrived: Integer | None = None
    """Time at which a message came in, for `received` and `notified`; nanoseconds, same clock as `time`."""
    written: Integer | None = None
    """Time at which a message was written to the link, for `sent`; nanoseconds, same clock as `time`."""
    count: Integer | None = None
    intended: Integer | None = None
    """Nanoseconds, same clock as `time`."""
    text: str | None = None
    """A reason for people, or the kind of a fault or heal."""
    numbers: dict[str, int | float] | None = None
    """A publication's numeric attributes."""
    strings: dict[str, str] | None = None
    """A publication's string attributes."""
    predicates: list[PredicateRecord] | None = None
    stream: str | None = None
    """Stream of a notification or of a lost range, where the routing protocol keeps the order of one."""
    position: Integer | None = None
    """The notification's place in that stream, from 1; that of the first one of a range."""
    label: str | None = None
    """Purpose of a message, in the routing protocol's words."""
    publications: list[str] | None = None
    """The identifiers of a detected set of publications, in order of publishing; equal times in order of the
    identifier."""
    to: str | None = None
    """The broker to which a site moves, or the site to which a client moves."""
    placement: PlacementRecord | None = None
    """Decision about the place of a composite subscription that is routed as a unit."""
    records: Integer | None = None
    """Number of records that the node wrote from `started` to this one, both included."""
    sent: Integer | None = None
    """Number of messages that the broker's incarnation has sent to the neighbour, in a gauge."""
