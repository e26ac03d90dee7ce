"""The first stage: log files to counts, client operations, faults, and sightings of publications in buckets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from analysis.engines.interface import Output
from analysis.reading.gauges import Queue
from analysis.reading.publication_events import (
    Arrived,
    Compared,
    Dropped,
    Left,
    Notified,
    Published,
    Refused,
    Sighting,
    bucket_of,
    encode,
    encode_content,
)
from analysis.reading.traffic import COUNTED, Traffic
from analysis.run_files.clocks import ONE_CLOCK, Clocks
from analysis.run_files.logs import AS_IT_WAS, Block, Dilations, LogLoss, Piece, bring_to_scenario_time, read_piece
from analysis.run_files.phases import second_of
from record.log import Event, PredicateRecord, TraceRecord

_PUBLISH = "publish"
_DECLARED = frozenset({Event.SUBSCRIBE, Event.UNSUBSCRIBE, Event.ADVERTISE, Event.UNADVERTISE})
_ANSWERED = frozenset({Event.CONFIRMED, Event.REJECTED})
_OUTAGES = frozenset({Event.FAULT, Event.HEALED})
_SESSION = frozenset({Event.LINK_UP, Event.LINK_DOWN})


class LogPosition(NamedTuple):
    """Where a record stands: its time, then its place in the logs, which tells the order of what was simultaneous."""

    time: int
    file: str
    offset: int
    line: int


class Declared(NamedTuple):
    """A client's (un)subscription or (un)advertisement, or the answer to one."""

    at: LogPosition
    variant: int
    event: Event
    kind: str
    """Which operation: the event's own value, or what the answer is to."""
    client: str
    id: str
    node: str
    """The driver that speaks for the client."""
    broker: str | None
    predicates: tuple[PredicateRecord, ...]


class OutageEvent(NamedTuple):
    """Something broke or came back: a broker or a link (node is empty), or the session of a driver with a broker."""

    at: LogPosition
    variant: int
    node: str
    target: str
    """The broker, or `A-B` for a link, or `A->B` for one direction of it."""
    kind: str
    """Of the fault, or of what healed it; empty for sessions."""
    begins: bool


class BrokerDefect(NamedTuple):
    """A broker's own code failed, nearly always its router, and the broker ended."""

    at: LogPosition
    variant: int
    broker: str
    text: str
    """A sentence, then the stack trace."""


class NeighbourChange(NamedTuple):
    """A broker lost a neighbour or has it again, as it saw it."""

    at: LogPosition
    variant: int
    node: str
    neighbour: str
    up: bool


@dataclass(slots=True)
class ReadTally:
    """All that is small in the logs."""

    records: int = 0
    torn: int = 0
    malformed: int = 0
    traffic: Traffic = field(default_factory=Traffic)
    declared: list[Declared] = field(default_factory=list)
    outages: list[OutageEvent] = field(default_factory=list)
    neighbours: list[NeighbourChange] = field(default_factory=list)
    defects: list[BrokerDefect] = field(default_factory=list)

    def merge(self, other: ReadTally) -> None:
        self.records += other.records
        self.torn += other.torn
        self.malformed += other.malformed
        self.traffic.merge(other.traffic)
        self.declared += other.declared
        self.outages += other.outages
        self.neighbours += other.neighbours
        self.defects += other.defects

    @property
    def loss(self) -> LogLoss:
        return LogLoss(records=self.records, torn=self.torn, malformed=self.malformed)


@dataclass(frozen=True, slots=True)
class Reading:
    """Reads a share of the logs. Records of variants that the manifest does not know are counted and left."""

    variants: Mapping[str, int]
    """The number of each variant."""
    run_starts: Sequence[int | None]
    stops: Sequence[int]
    """When clients began to leave: what moves from then on is of no experiment, and not counted."""
    brokers: frozenset[str]
    buckets: int
    dilations: Dilations = field(default_factory=lambda: AS_IT_WAS)
    clocks: Clocks = field(default_factory=lambda: ONE_CLOCK)

    def __call__(self, share: Sequence[Piece]) -> Output[ReadTally]:
        tally = ReadTally()
        buckets: list[list[Sighting]] = [[] for _ in range(self.buckets)]
        for piece in share:
            for block in self.blocks(piece):
                tally.records += len(block.records)
                tally.torn += block.torn
                tally.malformed += block.malformed
                self._read(block.records, block.offset, tally, buckets)
                self._read_declared(block.records, piece.file, block.offset, tally)
        return Output(tally, {number: encode(seen) for number, seen in enumerate(buckets) if seen})

    def blocks(self, piece: Piece) -> Iterator[Block]:
        """The records of a piece, by the run's clock and in the scenario's time."""
        clock = self.clocks.get(Path(piece.file).name)
        if clock is None:
            yield from read_piece(piece, self.dilations)
            return
        for block in read_piece(piece):
            clock.bring_to_run_time(block.records)
            bring_to_scenario_time(block.records, self.dilations)
            yield block

    def _read(
        self, records: Sequence[TraceRecord], offset: int, tally: ReadTally, buckets: list[list[Sighting]]
    ) -> None:
        """What there is most of."""
        variants, traffic, several, stops = self.variants, tally.traffic, self.buckets, self.stops
        for place, record in enumerate(records, offset):
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
            id = record.id
            if id is not None and (record.kind is None or record.kind == _PUBLISH):
                sighting = _sighting(variant, id, event, record, place)
                if sighting is not None:
                    buckets[bucket_of(id, several)].append(sighting)

    def _read_gauge(self, variant: int, record: TraceRecord, traffic: Traffic) -> None:
        """One without a peer is of messages that wait for service, not of an output queue."""
        second = second_of(record.time, self.run_starts[variant])
        if record.peer is not None and second is not None:
            queue = Queue(variant, record.node, record.peer)
            traffic.gauges.add(queue, second, record.queue or 0, record.count or 0)

    def _read_declared(self, records: Sequence[TraceRecord], file: str, offset: int, tally: ReadTally) -> None:
        """What there is little of: what clients said and were answered, and what broke."""
        for line, record in enumerate(records):
            event = record.event
            if event in _DECLARED:
                kind = event.value
            elif event in _ANSWERED and record.kind in _DECLARED:
                kind = record.kind
            elif event in _OUTAGES or event in _SESSION:
                self._read_outage(record, LogPosition(record.time, file, offset, line), tally)
                continue
            elif event is Event.DEFECT:
                self._read_defect(record, LogPosition(record.time, file, offset, line), tally)
                continue
            else:
                continue
            variant = self.variants.get(record.variant)
            if variant is None or record.node in self.brokers or record.client is None or record.id is None:
                continue
            at = LogPosition(record.time, file, offset, line)
            predicates = tuple(record.predicates or ())
            tally.declared.append(
                Declared(at, variant, event, kind, record.client, record.id, record.node, record.peer, predicates)
            )

    def _read_outage(self, record: TraceRecord, at: LogPosition, tally: ReadTally) -> None:
        """What brokers see of each other excuses nothing; what they see of a client's session does."""
        variant, event = self.variants.get(record.variant), record.event
        if variant is None or record.peer is None:
            return
        if event in _OUTAGES:
            tally.outages.append(OutageEvent(at, variant, "", record.peer, record.text or "", event is Event.FAULT))
        elif record.node not in self.brokers:
            tally.outages.append(OutageEvent(at, variant, record.node, record.peer, "", event is Event.LINK_DOWN))
        elif record.peer in self.brokers:
            tally.neighbours.append(NeighbourChange(at, variant, record.node, record.peer, event is Event.LINK_UP))

    def _read_defect(self, record: TraceRecord, at: LogPosition, tally: ReadTally) -> None:
        variant = self.variants.get(record.variant)
        if variant is not None:
            tally.defects.append(BrokerDefect(at, variant, record.node, record.text or ""))


def _sighting(variant: int, id: str, event: Event, record: TraceRecord, place: int) -> Sighting | None:
    """What there is most of comes first. Places grow along a file: a block has more bytes than lines."""
    match event:
        case Event.RECEIVED:
            return Arrived(variant, id, record.time, record.node, record.peer, record.hops, record.duration)
        case Event.SENT:
            return Left(variant, id, record.time, record.node, record.peer, record.duration)
        case Event.NOTIFIED if record.client is not None:
            return Notified(variant, id, record.time, record.client, record.peer, record.hops, place)
        case Event.MATCHED:
            return Compared(variant, id, record.time, record.node, record.duration)
        case _:
            return _rare_sighting(variant, id, event, record, place)


def _rare_sighting(variant: int, id: str, event: Event, record: TraceRecord, place: int) -> Sighting | None:
    match event:
        case Event.PUBLISH:
            content = encode_content(record.numbers, record.strings)
            return Published(
                variant, id, record.time, record.client, record.intended, content, record.node, record.peer, place
            )
        case Event.REJECTED:
            return Refused(variant, id)
        case Event.DROPPED:
            return Dropped(variant, id, record.time, record.node, record.text or "no reason given")
        case _:
            return None
