"""The reader of one share of the logs.

Records have some fields that repeat: a share has a hundred thousand records, and some hundred combinations of these
fields. How records are read depends on them alone, so it is decided once for each combination.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from sys import intern

import msgspec

from analysis.reading.access_hops import AT_ACCESS_LINKS, AccessHops
from analysis.reading.detections import detection_loss, notified_detection
from analysis.reading.gauges import Queue
from analysis.reading.hop_events import HopPlace, HopWriter
from analysis.reading.issued_operations import ISSUED
from analysis.reading.log_events import ClientOperation, LateService
from analysis.reading.log_tally import LogTally, OwnDeclaration
from analysis.reading.logged_variants import LoggedVariants
from analysis.reading.message_counts import PASSED_ON, TAIL, Passage, PassageCount, Passed
from analysis.reading.overlay_events import BlockPlace, OverlayEventReader
from analysis.reading.publication_events import PLACED, EventWriter, Place
from analysis.reading.sent_gauges import SentReader
from analysis.reading.slow_readers import SlowReaderRecords
from analysis.reading.stream_positions import StreamPiece
from analysis.reading.traffic import COUNTED, Activity, ActivityAmount, Amount
from analysis.run_files.logs import RecordBlock
from broker_service.messages import Kind
from record.log import Event, PredicateRecord, TraceRecord

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

    def __init__(self, variants: LoggedVariants, buckets: int, link_buckets: int) -> None:
        """Without `link_buckets`, messages at links' ends are left out."""
        self.events = EventWriter(buckets)
        self.hops = HopWriter(link_buckets, variants.receivers)
        self._has_hops = link_buckets > 0
        self._variants = variants
        self._tally = LogTally()
        self._handlings: dict[_Fields, _Handling] = {}
        self._block = BlockPlace()
        self._sent = SentReader(self._tally.sent)
        self._overlay = OverlayEventReader(variants, self._tally, self.events, self._sent, self._block)

    def read(self, block: RecordBlock, file: str) -> None:
        """Reads the records of a block."""
        lines = self._tally.lines.of()
        lines.records += len(block.records)
        lines.torn += block.torn
        lines.malformed += block.malformed
        self._tally.extents.add_block(file, block.offset, len(block.records), block.torn, block.malformed)
        self._block.file, self._block.offset = file, block.offset
        self._sent.begin_block(file, block.offset, len(block.records))
        handlings, hops, numbers, overlay = self._handlings, self.hops, self._variants.numbers, self._overlay.readers
        for position, record in enumerate(block.records, block.offset):
            read = overlay.get(record.event)
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
        self._sent.end()
        self._handlings.clear()
        self._overlay.readers.clear()
        return self._tally

    def _handling(self, fields: _Fields) -> _Handling:
        variant, event = self._variants.numbers.get(fields[0]), fields[2]
        if variant is None:
            return _Handling()
        counted = Amount() if event in COUNTED else None
        if event is Event.SENT and counted is not None and fields[4] is not None:
            self._sent.follow(Queue(variant, intern(fields[1]), intern(fields[4])), self._block.file, counted)
        stop = self._variants.stops[variant]
        read, hop = self._with_access(variant, fields, self._reading(variant, fields)), self._hop(variant, fields)
        read = self._with_slow_readers(variant, fields, read)
        return _Handling(stop, self._variants.ends[variant] - TAIL, amount=counted, read=read, hop=hop)

    def _hop(self, variant: int, fields: _Fields) -> int | None:
        """The place of the rows of messages that arrive at brokers or are sent between them; None for other records."""
        _, node, event, kind, peer, _, _ = fields
        brokers = self._variants.brokers
        if not self._has_hops or event not in _AT_LINK_ENDS or node not in brokers or kind is None:
            return None
        if peer is not None and peer not in brokers:
            return None
        return self.hops.number_of(HopPlace(variant, event, node, peer, kind))

    def _with_access(self, variant: int, fields: _Fields, read: _Read | None) -> _Read | None:
        """The way to read records, with the rows of those that are at access links besides."""
        sites, (_, node, event, kind, peer, _, _) = self._variants.sites.get(variant), fields
        broker = node if event in _AT_BROKERS or event is Event.DELIVERED else peer
        if not (self._has_hops and sites and event in AT_ACCESS_LINKS and _of_publications(kind)) or broker is None:
            return read
        if event is Event.RECEIVED and peer is not None:
            return read
        access = AccessHops(self.hops, variant, event, broker, self._variants)
        return partial(_read_both, access, read, self._variants.stops[variant])

    def _with_slow_readers(self, variant: int, fields: _Fields, read: _Read | None) -> _Read | None:
        """The way to read records, with those of notifications for clients that read at a rate besides."""
        slow, (_, node, event, kind, peer, text, _) = self._variants.slow.get(variant), fields
        if not slow or not _of_publications(kind) or not SlowReaderRecords.may_be(event, text):
            return read
        return partial(_read_also, SlowReaderRecords(slow, self._tally.readings, variant, peer or node), read)

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
            return self._reading_declaration(variant, kind, peer)
        return self._reading_publication(variant, fields) if _of_publications(kind) else None

    def _reading_declaration(self, variant: int, kind: str, peer: str | None) -> _Read:
        if peer is None:
            return partial(self._read_own_declaration, variant)
        if variant in self._variants.unsettled:
            return partial(self._read_declaration, variant)
        return partial(self._read_passed_on, variant, kind)

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
            piece = StreamPiece(variant, client, broker or "", record.stream, self._block.file, self._block.offset)
            self._tally.streams.of(piece).append(record.position)

    def _read_delivered(
        self, variant: int, broker: str, places: dict[str, int], record: TraceRecord, position: int
    ) -> None:
        """Reads a notification that left a broker. `places` has the number of each client's place."""
        client = record.client or ""
        place = places.get(client)
        if variant in self._variants.stays and self._variants.stays[variant].had_left(client, broker, record.time):
            self._tally.served_late.append(LateService(variant, intern(client), broker, record.time))
        if place is None:
            place = places[client] = self.events.number_of(Place(variant, Event.DELIVERED, broker, client=client))
        self.events.add_delivered(place, record, position)

    def _read_operation(self, variant: int, kind: str, record: TraceRecord, position: int) -> None:
        """Reads an operation or its answer."""
        node, broker, client, id = record.node, record.peer, record.client, record.id
        if node not in self._variants.brokers and client is not None and id is not None:
            composes = record.event is Event.COMPOSE
            if record.event in ISSUED and record.time < self._variants.stops[variant]:
                self._tally.issued.of(variant, client).note(record)
            self._tally.operations.add(
                ClientOperation(
                    self._block.at(record, position), variant, record.event, kind, client, id,
                    self._variants.session_node(variant, node, client), broker,
                    _encoded(record.predicates), record.text if composes else None,
                    record.duration if composes else None,
                    (record.text or "") if record.event is Event.REJECTED else "",
                )
            )  # fmt: skip

    def _read_declaration(self, variant: int, record: TraceRecord, _position: int) -> None:
        """Reads the message of an operation."""
        arrival = self._tally.declared.of(variant, record.id or "", record.node)
        arrival.time = min(arrival.time, record.time)

    def _read_passed_on(self, variant: int, kind: str, record: TraceRecord, _position: int) -> None:
        """Reads the message of an operation in a variant that was quiet when the run phase began."""
        passed_on, run_start = self._tally.passed_on.of(variant, kind), self._variants.run_starts[variant]
        if run_start is None or record.time >= run_start:
            passed_on.first = min(passed_on.first, record.time)

    def _read_own_declaration(self, variant: int, record: TraceRecord, _position: int) -> None:
        """Reads the operation of a client as its broker receives it."""
        if record.client is not None:
            declared = OwnDeclaration(variant, intern(record.node), intern(record.client), intern(record.id or ""))
            self._tally.own_declarations.of(declared).append(record.time)


def _read_both(access: AccessHops, read: _Read | None, stop: int, record: TraceRecord, position: int) -> None:
    if record.time < stop:
        access.add(record)
    if read is not None:
        read(record, position)


def _read_also(readers: SlowReaderRecords, read: _Read | None, record: TraceRecord, position: int) -> None:
    readers.add(record)
    if read is not None:
        read(record, position)


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
