"""The tally of stage 1: everything small in the logs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import msgspec
from msgspec import UNSET

from analysis.reading.gauges import QueueReadings
from analysis.reading.intervals import FOREVER
from analysis.reading.issued_operations import IssuedOperations
from analysis.reading.log_events import (
    BrokerDefect,
    ClientOperations,
    EndedStream,
    LateService,
    ListeningEvent,
    LostRange,
    NeighbourChange,
    NumberedNotification,
    OutageEvent,
    Reading,
)
from analysis.reading.log_extents import LogExtents
from analysis.reading.message_counts import MessageCounts
from analysis.reading.overlay_changes import LinkChange
from analysis.reading.placements import DetectionReadings, PlacementEvent
from analysis.reading.sent_gauges import SentReadings
from analysis.reading.stream_positions import StreamPositions
from analysis.reading.traffic import Traffic
from analysis.run_files.logs import LogLoss
from analysis.tables.totals import Least, Listed, Rows, Series, Sum, Tally


class LineCounts(msgspec.Struct):
    """The number of lines of all logs."""

    records: Sum = 0
    torn: Sum = 0
    malformed: Sum = 0
    detections: Sum = 0
    """Records that are notifications of detections."""


class StartedNode(msgspec.Struct, frozen=True):
    """A node that logged its start in a variant."""

    variant: int
    node: str
    program: str
    """The digest of its program that it stated; empty for none."""


class DeclarationArrival(msgspec.Struct):
    """The message of a subscription or an advertisement at a broker."""

    variant: int
    message: str
    """Identifier of the message, `<broker>.<incarnation>.<number>`."""
    node: str
    time: Least = FOREVER
    """The time of the message's first arrival at the node, however often it is repeated."""


class DeclarationsPassedOn(msgspec.Struct):
    """The messages of one kind of operation that brokers passed on, in a variant that was quiet when the run phase
    began."""

    variant: int
    kind: str
    first: Least = FOREVER
    """The time at which the first of them came to a broker in the run phase or later."""


class OwnDeclaration(NamedTuple):
    """A subscription or an advertisement of a client, as its own broker receives it, in each session anew."""

    variant: int
    broker: str
    client: str
    name: str
    """The client's name for it."""


@dataclass(slots=True)
class LogTally(Tally):
    """Everything in the logs that is small enough to be kept in memory."""

    lines: Rows[LineCounts] = field(default_factory=partial(Rows, LineCounts))
    """Counts of the lines of all logs, in a single row."""
    started: Rows[StartedNode] = field(default_factory=partial(Rows, StartedNode))
    extents: LogExtents = field(default_factory=LogExtents)
    messages: MessageCounts = field(default_factory=MessageCounts)
    traffic: Traffic = field(default_factory=Traffic)
    services: QueueReadings = field(default_factory=QueueReadings)
    """Messages that wait for a broker's modelled service; the neighbour is empty."""
    sent: SentReadings = field(default_factory=SentReadings)
    operations: ClientOperations = field(default_factory=ClientOperations)
    issued: Rows[IssuedOperations] = field(default_factory=partial(Rows, IssuedOperations))
    lost_ranges: Listed[LostRange] = field(default_factory=partial(Listed, LostRange))
    """Ranges of lost publications of which brokers notified clients."""
    numbered: Listed[NumberedNotification] = field(default_factory=partial(Listed, NumberedNotification))
    ended_streams: Listed[EndedStream] = field(default_factory=partial(Listed, EndedStream))
    outages: Listed[OutageEvent] = field(default_factory=partial(Listed, OutageEvent))
    listening: Listed[ListeningEvent] = field(default_factory=partial(Listed, ListeningEvent))
    readings: Listed[Reading] = field(default_factory=partial(Listed, Reading))
    served_late: Listed[LateService] = field(default_factory=partial(Listed, LateService))
    neighbours: Listed[NeighbourChange] = field(default_factory=partial(Listed, NeighbourChange))
    changes: Listed[LinkChange] = field(default_factory=partial(Listed, LinkChange))
    defects: Listed[BrokerDefect] = field(default_factory=partial(Listed, BrokerDefect))
    streams: StreamPositions = field(default_factory=StreamPositions)
    declared: Rows[DeclarationArrival] = field(default_factory=partial(Rows, DeclarationArrival))
    """The arrivals of subscriptions and advertisements at brokers, only of variants in which brokers still passed some
    on when the run phase began."""
    passed_on: Rows[DeclarationsPassedOn] = field(default_factory=partial(Rows, DeclarationsPassedOn))
    own_declarations: Series[OwnDeclaration] = field(default_factory=partial(Series, OwnDeclaration))
    """The times at which each subscription or advertisement came to the broker of its client."""
    placements: Listed[PlacementEvent] = field(default_factory=partial(Listed, PlacementEvent))
    detected: DetectionReadings = field(default_factory=DetectionReadings)
    """Detections that brokers made."""

    @property
    def records(self) -> int:
        return self.lines.of().records

    @property
    def detections(self) -> int:
        """Notifications of detections."""
        return self.lines.of().detections

    def last_declared(self, variant: int) -> dict[str, int]:
        """Time at which the last message of a client's operation came to another broker, by the client's broker."""
        latest: dict[str, int] = {}
        for arrival in self.declared:
            if arrival.variant == variant:
                broker = arrival.message.rsplit(".", 2)[0]
                latest[broker] = max(arrival.time, latest.get(broker, arrival.time))
        return latest

    def first_passed_on(self, variant: int) -> dict[str, int]:
        """`DeclarationsPassedOn.first` of each kind of operation that brokers of a variant passed on."""
        return {found.kind: found.first for found in self.passed_on if found.variant == variant}

    def loss(self, missing: Sequence[str]) -> LogLoss:
        """The losses of the logs; `missing` are the brokers that ran and have no log file."""
        lines = self.lines.of()
        return LogLoss(
            records=lines.records,
            torn=lines.torn,
            malformed=lines.malformed,
            missing=list(missing) if missing else UNSET,
        )
