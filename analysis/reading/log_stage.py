"""Stage 1, by share of the logs: counts, rare events, and the events of publications in buckets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from analysis.engines.interface import Output
from analysis.reading.gauges import LoadedBroker, Queue
from analysis.reading.log_events import BrokerDefect, ClientOperation, LogPosition, NeighbourChange, OutageEvent
from analysis.reading.overlay_changes import LinkChange
from analysis.reading.publication_events import (
    Accepted,
    BucketNumbers,
    Dropped,
    Matched,
    Notified,
    PublicationEvent,
    Published,
    Received,
    Refused,
    Rejected,
    Sent,
    encode,
    encode_content,
)
from analysis.reading.stream_positions import ClientStream, StreamPositions
from analysis.reading.traffic import COUNTED, Traffic
from analysis.run_files.clocks import ONE_CLOCK, Clocks
from analysis.run_files.logs import (
    NO_DILATION,
    Dilations,
    LogLoss,
    Piece,
    RecordBlock,
    bring_to_scenario_time,
    read_piece,
)
from analysis.run_files.time_units import second_of
from record.log import FAULT_CHANGES, LINK_CHANGES, Event, TraceRecord

_PUBLISH = "publish"
_OPERATIONS = frozenset({Event.SUBSCRIBE, Event.UNSUBSCRIBE, Event.ADVERTISE, Event.UNADVERTISE})
_ANSWERS = frozenset({Event.CONFIRMED, Event.REJECTED, Event.ANNOUNCED})
_LINKS = frozenset({Event.LINK_UP, Event.LINK_DOWN})
_NEVER_RARE = frozenset({Event.RECEIVED, Event.MATCHED, Event.SENT, Event.DELIVERED, Event.PUBLISH, Event.QUEUE})
"""The events of most records, of which `_read_rare` reads none."""


@dataclass(slots=True)
class LogTally:
    """Everything small in the logs."""

    records: int = 0
    torn: int = 0
    malformed: int = 0
    traffic: Traffic = field(default_factory=Traffic)
    operations: list[ClientOperation] = field(default_factory=list)
    outages: list[OutageEvent] = field(default_factory=list)
    neighbours: list[NeighbourChange] = field(default_factory=list)
    changes: list[LinkChange] = field(default_factory=list)
    defects: list[BrokerDefect] = field(default_factory=list)
    streams: StreamPositions = field(default_factory=StreamPositions)

    def merge(self, other: LogTally) -> None:
        self.records += other.records
        self.torn += other.torn
        self.malformed += other.malformed
        self.traffic.merge(other.traffic)
        self.operations += other.operations
        self.outages += other.outages
        self.neighbours += other.neighbours
        self.changes += other.changes
        self.defects += other.defects
        self.streams.merge(other.streams)

    @property
    def loss(self) -> LogLoss:
        return LogLoss(records=self.records, torn=self.torn, malformed=self.malformed)


@dataclass(frozen=True, slots=True)
class LogStage:
    """Reads a share of the logs. Records of variants that are not in the manifest are counted and ignored."""

    variants: Mapping[str, int]
    """The number of each variant."""
    run_starts: Sequence[int | None]
    stops: Sequence[int]
    """The time from which clients leave, by variant. Traffic from then on belongs to no experiment: not counted."""
    brokers: frozenset[str]
    buckets: int
    dilations: Dilations = field(default_factory=lambda: NO_DILATION)
    clocks: Clocks = field(default_factory=lambda: ONE_CLOCK)

    def __call__(self, share: Sequence[Piece]) -> Output[LogTally]:
        tally = LogTally()
        buckets: list[list[PublicationEvent]] = [[] for _ in range(self.buckets)]
        numbers = BucketNumbers(self.buckets)
        for piece in share:
            for block in self._blocks(piece):
                tally.records += len(block.records)
                tally.torn += block.torn
                tally.malformed += block.malformed
                self._read_frequent(block.records, block.offset, tally, buckets, numbers)
                self._read_rare(block.records, piece.file, block.offset, tally)
        return Output(tally, {number: encode(events) for number, events in enumerate(buckets) if events})

    def _blocks(self, piece: Piece) -> Iterator[RecordBlock]:
        """The records of a piece, by the run's clock and in the scenario's time."""
        clock = self.clocks.get(Path(piece.file).name)
        if clock is None:
            yield from read_piece(piece, self.dilations)
            return
        for block in read_piece(piece):
            clock.bring_to_run_time(block.records)
            bring_to_scenario_time(block.records, self.dilations)
            yield block

    def _read_frequent(
        self,
        records: Sequence[TraceRecord],
        offset: int,
        tally: LogTally,
        buckets: list[list[PublicationEvent]],
        numbers: BucketNumbers,
    ) -> None:
        variants, traffic, stops = self.variants, tally.traffic, self.stops
        for position, record in enumerate(records, offset):
            variant = variants.get(record.variant)
            if variant is None:
                continue
            event = record.event
            if event in COUNTED:
                if record.time < stops[variant]:
                    traffic.add(variant, record)
            elif event is Event.QUEUE:
                if record.time < stops[variant]:
                    self._read_gauge(variant, record, traffic)
                continue
            elif event is Event.LOAD:
                if record.time < stops[variant]:
                    self._read_load(variant, record, traffic)
                continue
            id = record.id
            if id is not None and (record.kind is None or record.kind == _PUBLISH):
                found = publication_event(variant, id, event, record, position)
                if found is not None:
                    buckets[numbers[id]].append(found)

    def _read_gauge(self, variant: int, record: TraceRecord, traffic: Traffic) -> None:
        """Counts a gauge of an output queue. A gauge without a peer is of messages that wait for service."""
        second = second_of(record.time, self.run_starts[variant])
        if record.peer is not None and second is not None:
            queue = Queue(variant, record.node, record.peer)
            traffic.gauges.add(queue, second, record.queue or 0, record.count or 0)

    def _read_load(self, variant: int, record: TraceRecord, traffic: Traffic) -> None:
        broker, incarnation = LoadedBroker(variant, record.node), record.count or 0
        traffic.loads.add(broker, incarnation, record.time, record.duration or 0, record.bytes)

    def _read_rare(self, records: Sequence[TraceRecord], file: str, offset: int, tally: LogTally) -> None:
        for line, record in enumerate(records):
            event = record.event
            if event in _NEVER_RARE:
                continue
            if event in _OPERATIONS:
                kind = event.value
            elif event in _ANSWERS and record.kind in _OPERATIONS:
                kind = record.kind
            elif event in FAULT_CHANGES or event in _LINKS:
                self._read_outage(record, LogPosition(record.time, file, offset, line), tally)
                continue
            elif event in LINK_CHANGES:
                self._read_change(record, LogPosition(record.time, file, offset, line), tally)
                continue
            elif event is Event.DEFECT:
                self._read_defect(record, LogPosition(record.time, file, offset, line), tally)
                continue
            elif event is Event.NOTIFIED and record.position is not None:
                self._read_position(record, record.position, (file, offset), tally)
                continue
            else:
                continue
            variant = self.variants.get(record.variant)
            if variant is None or record.node in self.brokers or record.client is None or record.id is None:
                continue
            at = LogPosition(record.time, file, offset, line)
            predicates = tuple(record.predicates or ())
            tally.operations.append(
                ClientOperation(
                    at, variant, event, kind, record.client, record.id, record.node, record.peer, predicates
                )
            )

    def _read_position(self, record: TraceRecord, position: int, block: tuple[str, int], tally: LogTally) -> None:
        variant = self.variants.get(record.variant)
        if variant is not None and record.client is not None and record.stream is not None:
            tally.streams.add(ClientStream(variant, record.client, record.stream), block, position)

    def _read_outage(self, record: TraceRecord, at: LogPosition, tally: LogTally) -> None:
        """A broker's view of its neighbours excuses nothing; a driver's view of its session with a broker does."""
        variant, event = self.variants.get(record.variant), record.event
        if variant is None or record.peer is None:
            return
        if event in FAULT_CHANGES:
            tally.outages.append(OutageEvent(at, variant, "", record.peer, record.text or "", event is Event.FAULT))
        elif record.node not in self.brokers:
            tally.outages.append(OutageEvent(at, variant, record.node, record.peer, "", event is Event.LINK_DOWN))
        elif record.peer in self.brokers:
            tally.neighbours.append(NeighbourChange(at, variant, record.node, record.peer, event is Event.LINK_UP))

    def _read_change(self, record: TraceRecord, at: LogPosition, tally: LogTally) -> None:
        variant = self.variants.get(record.variant)
        if variant is not None and record.peer is not None:
            appeared, intended = record.event is Event.APPEARED, record.intended or record.time
            tally.changes.append(LinkChange(at, variant, record.peer, appeared, intended))

    def _read_defect(self, record: TraceRecord, at: LogPosition, tally: LogTally) -> None:
        variant = self.variants.get(record.variant)
        if variant is not None:
            tally.defects.append(BrokerDefect(at, variant, record.node, record.text or ""))


def publication_event(
    variant: int, id: str, event: Event, record: TraceRecord, position: int
) -> PublicationEvent | None:
    """The event that a record of publication `id` describes; None for a record that describes none.

    The frequent events come first. Positions grow along a file, because a block has more bytes than lines.
    """
    match event:
        case Event.RECEIVED:
            return Received(variant, id, record.time, record.node, record.peer, record.hops, record.duration)
        case Event.SENT:
            return Sent(variant, id, record.time, record.node, record.peer, record.duration)
        case Event.NOTIFIED if record.client is not None:
            return Notified(variant, id, record.time, record.client, record.peer, record.hops, position)
        case Event.MATCHED:
            return Matched(variant, id, record.time, record.node, record.duration)
        case _:
            return _rare_publication_event(variant, id, event, record, position)


def _rare_publication_event(
    variant: int, id: str, event: Event, record: TraceRecord, position: int
) -> PublicationEvent | None:
    match event:
        case Event.PUBLISH:
            content = encode_content(record.numbers, record.strings)
            return Published(
                variant, id, record.time, record.client, record.intended, content, record.node, record.peer, position
            )
        case Event.REJECTED:
            return Rejected(variant, id)
        case Event.CONFIRMED:
            return Accepted(variant, id, record.time)
        case Event.REFUSED:
            return Refused(variant, id)
        case Event.DROPPED:
            return Dropped(variant, id, record.time, record.node, record.text or "no reason given")
        case _:
            return None
