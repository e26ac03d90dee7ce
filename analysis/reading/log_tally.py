"""The tally of stage 1: everything small in the logs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec import UNSET

from analysis.reading.gauges import QueueReadings
from analysis.reading.issued_operations import IssuedOperations
from analysis.reading.log_events import BrokerDefect, ClientOperation, LostRange, NeighbourChange, OutageEvent
from analysis.reading.log_extents import LogExtents
from analysis.reading.message_counts import MessageCounts
from analysis.reading.overlay_changes import LinkChange
from analysis.reading.placements import DetectionReadings, PlacementEvent
from analysis.reading.stream_positions import StreamPositions
from analysis.reading.traffic import Traffic
from analysis.run_files.logs import LogLoss


class DeclarationArrival(NamedTuple):
    """The message of a subscription or an advertisement at a broker."""

    variant: int
    message: str
    """Its identifier, `<broker>.<incarnation>.<number>`."""
    node: str


class OwnDeclaration(NamedTuple):
    """A subscription or an advertisement of a client, as its own broker receives it, in each session anew."""

    variant: int
    broker: str
    client: str
    name: str
    """The client's own."""


@dataclass(slots=True)
class LogTally:
    """Everything small in the logs."""

    records: int = 0
    torn: int = 0
    malformed: int = 0
    started: set[tuple[int, str]] = field(default_factory=set)
    """By variant: the nodes that logged their start."""
    programs: set[tuple[int, str, str]] = field(default_factory=set)
    """By variant: nodes, and the digests of programs that they stated when they started; empty for none."""
    extents: LogExtents = field(default_factory=LogExtents)
    messages: MessageCounts = field(default_factory=MessageCounts)
    traffic: Traffic = field(default_factory=Traffic)
    services: QueueReadings = field(default_factory=QueueReadings)
    """Messages that wait for a broker's modelled service; the neighbour is empty."""
    operations: dict[int, list[ClientOperation]] = field(default_factory=dict)
    """By variant."""
    issued: IssuedOperations = field(default_factory=IssuedOperations)
    lost_ranges: list[LostRange] = field(default_factory=list)
    """Told to clients."""
    outages: list[OutageEvent] = field(default_factory=list)
    neighbours: list[NeighbourChange] = field(default_factory=list)
    changes: list[LinkChange] = field(default_factory=list)
    defects: list[BrokerDefect] = field(default_factory=list)
    streams: StreamPositions = field(default_factory=StreamPositions)
    declared: dict[DeclarationArrival, int] = field(default_factory=dict)
    """The time at which each message of a subscription or an advertisement first arrived at each broker, however often
    it is repeated; only of variants in which brokers still passed them on when the run phase began."""
    own_declarations: dict[OwnDeclaration, list[int]] = field(default_factory=dict)
    """The times at which each came to the broker of its client."""
    detections: int = 0
    """Notifications of detections."""
    placements: list[PlacementEvent] = field(default_factory=list)
    detected: DetectionReadings = field(default_factory=DetectionReadings)
    """Detections that brokers made."""

    def merge(self, other: LogTally) -> None:
        self.records += other.records
        self.torn += other.torn
        self.malformed += other.malformed
        self.started |= other.started
        self.programs |= other.programs
        self.extents.merge(other.extents)
        self.messages.merge(other.messages)
        self.traffic.merge(other.traffic)
        self.services.merge(other.services)
        for variant, operations in other.operations.items():
            self.operations.setdefault(variant, []).extend(operations)
        self.issued.merge(other.issued)
        self.lost_ranges += other.lost_ranges
        self.outages += other.outages
        self.neighbours += other.neighbours
        self.changes += other.changes
        self.defects += other.defects
        self.streams.merge(other.streams)
        for arrival, time in other.declared.items():
            self.declared[arrival] = min(time, self.declared.get(arrival, time))
        for declared, times in other.own_declarations.items():
            self.own_declarations.setdefault(declared, []).extend(times)
        self.detections += other.detections
        self.placements += other.placements
        self.detected.merge(other.detected)

    def last_declared(self, variant: int) -> dict[str, int]:
        """Time at which the last message of a client's operation came to another broker, by the client's broker."""
        latest: dict[str, int] = {}
        for arrival, time in self.declared.items():
            if arrival.variant == variant:
                broker = arrival.message.rsplit(".", 2)[0]
                latest[broker] = max(time, latest.get(broker, time))
        return latest

    def loss(self, missing: Sequence[str]) -> LogLoss:
        """The losses of the logs; `missing` are the brokers that ran and have no log file."""
        return LogLoss(
            records=self.records, torn=self.torn, malformed=self.malformed, missing=list(missing) if missing else UNSET
        )
