"""The reader of one share of the logs.

Records have some fields that repeat: a share has a hundred thousand records, and some hundred combinations of these
fields. How records are read depends on them alone, so it is decided once for each combination.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from sys import intern

import msgspec

from analysis.reading.detections import detection_loss, made_detection, notified_detection
from analysis.reading.gauges import LoadedBroker, Queue
from analysis.reading.hop_events import HopPlace, HopWriter
from analysis.reading.issued_operations import ISSUED
from analysis.reading.log_events import (
    BrokerDefect,
    ClientOperation,
    LogPosition,
    LostRange,
    NeighbourChange,
    OutageEvent,
)
from analysis.reading.log_tally import LogTally, OwnDeclaration
from analysis.reading.message_counts import PASSED_ON, TAIL, Passage, PassageCount, Passed
from analysis.reading.overlay_changes import LinkChange
from analysis.reading.placements import DetectingBroker, PlacementEvent
from analysis.reading.publication_events import PLACED, EventWriter, Place
from analysis.reading.stream_positions import StreamPiece
from analysis.reading.traffic import COUNTED, Activity, ActivityAmount, Amount
from analysis.run_files.logs import RecordBlock
from analysis.run_files.time_units import second_of
from broker_service.messages import Kind
from record.log import FAULT_CHANGES, LINK_CHANGES, PLACEMENT_CHANGES, Event, PredicateRecord, TraceRecord

_encode = msgspec.json.Encoder().encode
_PUBLISH = Kind.PUBLISH.word
_DETECTION = "detection"
_OPERATIONS = frozenset({Event.SUBSCRIBE, Event.UNSUBSCRIBE, Event.ADVERTISE, Event.UNADVERTISE, Event.COMPOSE})
_DECLARATIONS = frozenset({Event.SUBSCRIBE, Event.ADVERTISE, Event.COMPOSE})
_ANSWERS = frozenset({Event.CONFIRMED, Event.REJECTED, Event.ANNOUNCED})
_LINKS = frozenset({Event.LINK_UP, Event.LINK_DOWN})
_AT_BROKERS = frozenset({Event.RECEIVED, Event.SENT, Event.MATCHED, Event.WAITED, Event.DROPPED})
_AT_LINK_ENDS = frozenset({Event.RECEIVED, Event.SENT})
_WITH_NEIGHBOUR = _AT_LINK_ENDS | {Event.DROPPED}

_Fields = tuple[str, str, Event, str | None, str | None, str | None, str | None]
"""Variant, node, event, kind, peer, text and label of a record."""
_Read = Callable[[TraceRecord, int], None]
"""Reads a record, given its position in its file."""


@dataclass(frozen=True, slots=True)
class LoggedVariants:
    """The facts about the variants of a run by which their logs are read."""

    numbers: Mapping[str, int]
    """The number of each variant."""
    run_starts: Sequence[int | None]
    stops: Sequence[int]
    """The time from which clients leave, by variant. Traffic from then on belongs to no experiment: not counted."""
    ends: Sequence[int]
    """The time from which nothing arrives any more, by variant: `stops`, or the end of a run that was interrupted."""
    brokers: frozenset[str]
    unsettled: frozenset[int] = frozenset()
    """The variants in which brokers still passed on operations when the run phase began."""


@dataclass(slots=True)
class _Handling:
    """The way to read all records that have their repetitive fields in common."""

    stop: int = 0
    tail: int = 0
    """The time from which records are `late`."""
    records: int = 0
    late: int = 0
    leaving: int = 0
    """Records at `stop` or later."""
    amount: Amount | None = None
    """The amount to which records before `stop` add; None where they are not counted."""
    read: _Read | None = None
    """Reads everything else; None where there is nothing else."""
    hop: int | None = None
    """The number of the place of its rows; None for records that are none of `hop_events`."""


class ShareReader:
    """Collects what a share of the logs holds: a tally, the events of publications, and messages at links' ends."""

    def __init__(self, variants: LoggedVariants, buckets: int) -> None:
        self.events = EventWriter(buckets)
        self.hops = HopWriter(buckets, variants.brokers)
        self._variants = variants
        self._tally = LogTally()
        self._handlings: dict[_Fields, _Handling] = {}
        self._file = ""
        self._offset = 0
        """Byte offset of the block that is read, in its file."""
        self._simple = {
            Event.QUEUE: self._read_queue,
            Event.LOAD: self._read_load,
            Event.BUFFER: self._read_buffer,
            Event.DEFECT: self._read_defect,
            Event.STARTED: self._read_start,
            Event.STOPPED: self._read_mark,
            **dict.fromkeys(FAULT_CHANGES | _LINKS, self._read_outage),
            **dict.fromkeys(LINK_CHANGES, self._read_change),
            **dict.fromkeys(PLACEMENT_CHANGES, self._read_placement),
            Event.DETECTED: self._read_detected,
            Event.LOST_RANGE: self._read_lost_range,
        }
        """The readers of events that are neither counted nor read in several ways. A mesh has too many links for a
        handling of each one's records."""

    def read(self, block: RecordBlock, file: str) -> None:
        """Reads the records of a block."""
        lines = self._tally.lines.of()
        lines.records += len(block.records)
        lines.torn += block.torn
        lines.malformed += block.malformed
        self._tally.extents.add_block(file, block.offset, len(block.records), block.torn, block.malformed)
        self._file, self._offset, handlings, hops = file, block.offset, self._handlings, self.hops
        simple, numbers = self._simple, self._variants.numbers
        for position, record in enumerate(block.records, block.offset):
            read = simple.get(record.event)
            if read is not None:
                variant = numbers.get(record.variant)
                if variant is not None:
                    read(variant, record, position)
                continue
            fields = record.variant, record.node, record.event, record.kind, record.peer, record.text, record.label
            handling = handlings.get(fields)
            if handling is None:
                fields = _kept_once(fields)
                handling = handlings[fields] = self._handling(fields)
            handling.records += 1
            if record.time >= handling.tail:
                handling.late += 1
                if record.time >= handling.stop:
                    handling.leaving += 1
            if handling.amount is not None and record.time < handling.stop:
                handling.amount.add(record)
                if handling.hop is not None:
                    hops.add(handling.hop, record)
            if handling.read is not None:
                handling.read(record, position)

    def tally(self) -> LogTally:
        """Everything small that was read. The reader reads no more, because its functions, which refer to it, are
        removed: in such a cycle, its events would stay in memory until the next garbage collection."""
        numbers = self._variants.numbers
        for (variant, node, event, kind, peer, text, label), handling in self._handlings.items():
            if event in PASSED_ON and variant in numbers:
                what = Passage(numbers[variant], node, event, kind, peer, text if event is Event.DISTURBED else None)
                passed = Passed(handling.records, handling.late, handling.leaving)
                self._tally.messages.add(PassageCount(what, passed))
            if handling.amount is not None and handling.amount.records:
                activity = Activity(numbers[variant], node, event, kind, peer, text, label)
                self._tally.traffic.amounts.add(ActivityAmount(activity, handling.amount))
        self._handlings.clear()
        self._simple.clear()
        return self._tally

    def _handling(self, fields: _Fields) -> _Handling:
        variant, event = self._variants.numbers.get(fields[0]), fields[2]
        if variant is None:
            return _Handling()
        counted = Amount() if event in COUNTED else None
        stop = self._variants.stops[variant]
        read, hop = self._reading(variant, fields), self._hop(variant, fields)
        return _Handling(stop, self._variants.ends[variant] - TAIL, amount=counted, read=read, hop=hop)

    def _hop(self, variant: int, fields: _Fields) -> int | None:
        """The place of the rows of messages that arrive at brokers or are sent between them; None for other records."""
        _, node, event, kind, peer, _, _ = fields
        brokers = self._variants.brokers
        if event not in _AT_LINK_ENDS or node not in brokers or kind is None:
            return None
        if peer is not None and peer not in brokers:
            return None
        return self.hops.number_of(HopPlace(variant, event, node, peer, kind))

    def _reading(self, variant: int, fields: _Fields) -> _Read | None:
        """The way to read records with these fields; None where there is nothing to read but an amount."""
        _, _, event, kind, peer, _, _ = fields
        if kind == _DETECTION:
            return self._reading_detection(variant, event)
        if event is Event.NOTIFIED:
            return partial(self._read_notified, variant, peer, {} if _of_publications(kind) else None)
        if event in _OPERATIONS or (event in _ANSWERS and kind in _OPERATIONS):
            return partial(self._read_operation, variant, event.value if event in _OPERATIONS else str(kind))
        if event is Event.RECEIVED and kind in _DECLARATIONS:
            return self._reading_declaration(variant, peer)
        return self._reading_publication(variant, fields) if _of_publications(kind) else None

    def _reading_declaration(self, variant: int, peer: str | None) -> _Read | None:
        if peer is None:
            return partial(self._read_own_declaration, variant)
        return partial(self._read_declaration, variant) if variant in self._variants.unsettled else None

    def _reading_publication(self, variant: int, fields: _Fields) -> _Read | None:
        event = fields[2]
        if event is Event.PUBLISH:
            return partial(self.events.add_published, variant)
        if event is Event.DELIVERED:
            return partial(self._read_delivered, variant, intern(fields[1]), {})
        return partial(self.events.add, self.events.number_of(_place(variant, fields))) if event in PLACED else None

    def _reading_detection(self, variant: int, event: Event) -> _Read | None:
        if event is Event.NOTIFIED:
            return partial(self._read_detection, variant)
        return partial(self._read_detection_loss, variant) if event is Event.DROPPED else None

    def _read_detection(self, variant: int, record: TraceRecord, _position: int) -> None:
        detection = notified_detection(variant, record)
        if detection is not None:
            self.events.add_detection(detection)
            self._tally.lines.of().detections += 1

    def _read_detection_loss(self, variant: int, record: TraceRecord, _position: int) -> None:
        loss = detection_loss(variant, record)
        if loss is not None:
            self.events.add_detection_loss(loss)

    def _read_notified(
        self, variant: int, broker: str | None, places: dict[str, int] | None, record: TraceRecord, position: int
    ) -> None:
        """Reads a notification. `places` has the number of each client's place; None for another kind of message."""
        client = record.client
        if client is None:
            return
        if places is not None:
            place = places.get(client)
            if place is None:
                place = places[client] = self.events.number_of(Place(variant, Event.NOTIFIED, broker, client=client))
            self.events.add(place, record, position)
        if record.position is not None and record.stream is not None:
            piece = StreamPiece(variant, client, record.stream, self._file, self._offset)
            self._tally.streams.of(piece).append(record.position)

    def _read_delivered(
        self, variant: int, broker: str, places: dict[str, int], record: TraceRecord, position: int
    ) -> None:
        """Reads a notification that left a broker. `places` has the number of each client's place."""
        client = record.client or ""
        place = places.get(client)
        if place is None:
            place = places[client] = self.events.number_of(Place(variant, Event.DELIVERED, broker, client=client))
        self.events.add_delivered(place, record, position)

    def _read_queue(self, variant: int, record: TraceRecord, _position: int) -> None:
        """Counts a gauge of an output queue. A gauge without a peer is of messages that wait for service."""
        second = second_of(record.time, self._variants.run_starts[variant])
        if second is not None and record.time < self._variants.stops[variant]:
            readings = self._tally.services if record.peer is None else self._tally.traffic.gauges
            readings.show(Queue(variant, record.node, record.peer or ""), second, record.queue or 0, record.count or 0)

    def _read_load(self, variant: int, record: TraceRecord, _position: int) -> None:
        if record.time < self._variants.stops[variant]:
            broker, incarnation = LoadedBroker(variant, record.node), record.count or 0
            self._tally.traffic.loads.show(broker, incarnation, record.time, record.duration or 0, record.bytes)

    def _read_buffer(self, variant: int, record: TraceRecord, _position: int) -> None:
        if record.time < self._variants.stops[variant]:
            self._tally.traffic.buffers.show(variant, record)

    def _read_operation(self, variant: int, kind: str, record: TraceRecord, position: int) -> None:
        """Reads an operation or its answer. Equal names are kept once, because there may be millions of operations."""
        node, broker, client, id = record.node, record.peer, record.client, record.id
        if node not in self._variants.brokers and client is not None and id is not None:
            composes = record.event is Event.COMPOSE
            if record.event in ISSUED and record.time < self._variants.stops[variant]:
                self._tally.issued.of(variant, client).note(record)
            self._tally.operations.add(
                ClientOperation(
                    self._at(record, position), variant, record.event, kind, intern(client), intern(id),
                    intern(node), _once(broker), _encoded(record.predicates), record.text if composes else None,
                    record.duration if composes else None,
                    (record.text or "") if record.event is Event.REJECTED else "",
                )
            )  # fmt: skip

    def _read_declaration(self, variant: int, record: TraceRecord, _position: int) -> None:
        """Reads the message of an operation."""
        arrival = self._tally.declared.of(variant, record.id or "", record.node)
        arrival.time = min(arrival.time, record.time)

    def _read_own_declaration(self, variant: int, record: TraceRecord, _position: int) -> None:
        """Reads the operation of a client as its broker receives it."""
        if record.client is not None:
            declared = OwnDeclaration(variant, intern(record.node), intern(record.client), intern(record.id or ""))
            self._tally.own_declarations.of(declared).append(record.time)

    def _read_outage(self, variant: int, record: TraceRecord, position: int) -> None:
        """A broker's view of its neighbours excuses nothing; a driver's view of its session with a broker does."""
        event, brokers, at = record.event, self._variants.brokers, self._at(record, position)
        if record.peer is None:
            return
        if event in FAULT_CHANGES:
            fault = OutageEvent(at, variant, "", record.peer, record.text or "", event is Event.FAULT)
            self._tally.outages.append(fault)
        elif record.node not in brokers:
            self._tally.outages.append(OutageEvent(at, variant, record.node, record.peer, "", event is Event.LINK_DOWN))
        elif record.peer in brokers:
            self._tally.neighbours.append(
                NeighbourChange(at, variant, intern(record.node), intern(record.peer), event is Event.LINK_UP)
            )

    def _read_lost_range(self, variant: int, record: TraceRecord, _position: int) -> None:
        """Reads the client's record; the broker's excuses nothing."""
        client, stream = record.client, record.stream
        if record.node not in self._variants.brokers and client is not None and stream is not None:
            lost = LostRange(variant, intern(client), intern(stream), record.time, record.count or 0)
            self._tally.lost_ranges.append(lost)

    def _read_change(self, variant: int, record: TraceRecord, position: int) -> None:
        if record.peer is not None:
            appeared, intended = record.event is Event.APPEARED, record.intended or record.time
            at = self._at(record, position)
            self._tally.changes.append(LinkChange(at, variant, record.peer, appeared, intended))

    def _read_placement(self, variant: int, record: TraceRecord, position: int) -> None:
        client, composite, placement = record.client, record.id, record.placement
        if client is not None and composite is not None and placement is not None:
            self._tally.placements.append(
                PlacementEvent(
                    self._at(record, position), variant, record.event, record.node, client, composite, placement,
                    record.text or "", record.peer,
                )
            )  # fmt: skip

    def _read_detected(self, variant: int, record: TraceRecord, _position: int) -> None:
        made = made_detection(variant, record)
        if made is not None:
            detecting = DetectingBroker(variant, made.broker, made.client, made.composite, made.sub_unit)
            self._tally.detected.show(detecting, made.time)
            self.events.add_made_detection(made)

    def _read_start(self, variant: int, record: TraceRecord, position: int) -> None:
        self._tally.started.of(variant, record.node, record.text or "")
        self._read_mark(variant, record, position)

    def _read_mark(self, variant: int, record: TraceRecord, position: int) -> None:
        self._tally.extents.add_mark(self._file, self._offset, position - self._offset, variant, record)

    def _read_defect(self, variant: int, record: TraceRecord, position: int) -> None:
        at = self._at(record, position)
        self._tally.defects.append(BrokerDefect(at, variant, record.node, record.text or ""))

    def _at(self, record: TraceRecord, position: int) -> LogPosition:
        return LogPosition(record.time, self._file, self._offset, position - self._offset)


def _kept_once(fields: _Fields) -> _Fields:
    """Fields whose texts are the same objects in all combinations, because a mesh has a million of these."""
    variant, node, event, kind, peer, text, label = fields
    return intern(variant), intern(node), event, _once(kind), _once(peer), _once(text), _once(label)


def _encoded(predicates: Sequence[PredicateRecord] | None) -> bytes:
    return _encode(predicates) if predicates else b""


def _once(text: str | None) -> str | None:
    return None if text is None else intern(text)


def _of_publications(kind: str | None) -> bool:
    return kind is None or kind == _PUBLISH


def _place(variant: int, fields: _Fields) -> Place:
    _, node, event, _, peer, text, _ = fields
    return Place(
        variant,
        event,
        broker=node if event in _AT_BROKERS else None,
        neighbour=peer if event in _WITH_NEIGHBOUR else None,
        reason=text or "no reason given" if event is Event.DROPPED else None,
    )
