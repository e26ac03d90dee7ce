"""Reading of records about the overlay itself: gauges, loads, faults, links, placements, beginnings and ends of nodes,
and of what clients were told besides notifications.

They are neither counted nor read in several ways, so that the event alone tells how to read one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from sys import intern

from analysis.reading.detections import made_detection
from analysis.reading.gauges import LoadedBroker, Queue
from analysis.reading.log_events import (
    BrokerDefect,
    EndedStream,
    ListeningEvent,
    LogPosition,
    LostRange,
    NeighbourChange,
    NumberedNotification,
    OutageEvent,
)
from analysis.reading.log_tally import LogTally
from analysis.reading.logged_variants import LoggedVariants
from analysis.reading.overlay_changes import LinkChange
from analysis.reading.placements import DetectingBroker, PlacementEvent
from analysis.reading.publication_events import EventWriter
from analysis.reading.sent_gauges import SentReader
from analysis.run_files.time_units import second_of
from record.log import FAULT_CHANGES, LINK_CHANGES, PLACEMENT_CHANGES, Event, TraceRecord

_OF_NUMBERS = frozenset({Event.MISNUMBERED, Event.UNPROCESSED})
_LINKS = frozenset({Event.LINK_UP, Event.LINK_DOWN})


@dataclass(slots=True)
class BlockPlace:
    """Place of the block of records that is read."""

    file: str = ""
    offset: int = 0
    """Byte offset of the block in its file."""

    def at(self, record: TraceRecord, position: int) -> LogPosition:
        """The place of a record, given its position in the file."""
        return LogPosition(record.time, self.file, self.offset, position - self.offset)


class OverlayEventReader:
    """Reads records about the overlay into the tally of a share of the logs."""

    def __init__(
        self, variants: LoggedVariants, tally: LogTally, events: EventWriter, sent: SentReader, block: BlockPlace
    ) -> None:
        """`block` is the block that is read at present."""
        self.readers: dict[Event, Callable[[int, TraceRecord, int], None]] = {
            Event.QUEUE: self._read_queue,
            Event.LOAD: self._read_load,
            Event.BUFFER: self._read_buffer,
            Event.DEFECT: self._read_defect,
            Event.STARTED: self._read_start,
            Event.STOPPED: self._read_mark,
            **dict.fromkeys(FAULT_CHANGES | _LINKS, self._read_outage),
            Event.LISTENING: self._read_listening,
            **dict.fromkeys(LINK_CHANGES, self._read_change),
            **dict.fromkeys(PLACEMENT_CHANGES, self._read_placement),
            Event.DETECTED: self._read_detected,
            Event.LOST_RANGE: self._read_lost_range,
            Event.STREAM_ENDED: self._read_ended_stream,
            **dict.fromkeys(_OF_NUMBERS, self._read_numbered),
        }
        """Readers by event. Each takes a variant, a record and its position in its file."""
        self._variants = variants
        self._tally = tally
        self._events = events
        self._sent = sent
        self._block = block

    def _read_queue(self, variant: int, record: TraceRecord, position: int) -> None:
        """Counts a gauge of an output queue. A gauge without a peer is of messages that wait for service."""
        if record.time >= self._variants.stops[variant]:
            return
        queue = Queue(variant, record.node, record.peer or "")
        self._sent.gauge(queue, record, position)
        second = second_of(record.time, self._variants.run_starts[variant])
        if second is not None and record.queue is not None:  # otherwise the queue is as before
            readings = self._tally.services if record.peer is None else self._tally.traffic.gauges
            readings.show(queue, second, record.queue, record.count or 0)

    def _read_load(self, variant: int, record: TraceRecord, _position: int) -> None:
        if record.time < self._variants.stops[variant]:
            broker, incarnation = LoadedBroker(variant, record.node), record.count or 0
            self._tally.traffic.loads.show(broker, incarnation, record.time, record.duration or 0, record.bytes)

    def _read_buffer(self, variant: int, record: TraceRecord, _position: int) -> None:
        if record.time < self._variants.stops[variant]:
            self._tally.traffic.buffers.show(variant, record)

    def _read_outage(self, variant: int, record: TraceRecord, position: int) -> None:
        """A broker's view of its neighbours excuses nothing; a driver's view of its session with a broker does."""
        event, brokers, at = record.event, self._variants.brokers, self._block.at(record, position)
        if record.peer is None:
            return
        if event in FAULT_CHANGES:
            fault = OutageEvent(at, variant, "", record.peer, record.text or "", event is Event.FAULT)
            self._tally.outages.append(fault)
        elif record.node not in brokers:
            node = self._variants.session_node(variant, record.node, record.client or "")
            self._tally.outages.append(OutageEvent(at, variant, node, record.peer, "", event is Event.LINK_DOWN))
        elif record.peer in brokers:
            self._tally.neighbours.append(
                NeighbourChange(at, variant, intern(record.node), intern(record.peer), event is Event.LINK_UP)
            )

    def _read_listening(self, variant: int, record: TraceRecord, _position: int) -> None:
        """Reads the emulator's record; a broker has none to tell of itself."""
        if record.node not in self._variants.brokers and record.peer is not None:
            not_before = record.time - (record.duration or 0)
            self._tally.listening.append(ListeningEvent(variant, intern(record.peer), not_before, record.time))

    def _read_lost_range(self, variant: int, record: TraceRecord, _position: int) -> None:
        """Reads the client's record; the broker's excuses nothing."""
        client, stream = record.client, record.stream
        if record.node not in self._variants.brokers and client is not None and stream is not None:
            lost = LostRange(variant, intern(client), intern(stream), record.time, record.count or 0)
            self._tally.lost_ranges.append(lost)

    def _read_ended_stream(self, variant: int, record: TraceRecord, _position: int) -> None:
        if record.node not in self._variants.brokers and record.peer is not None:
            self._tally.ended_streams.append(EndedStream(variant, record.time, intern(record.peer)))

    def _read_numbered(self, variant: int, record: TraceRecord, _position: int) -> None:
        """Reads the record of a client program's site; brokers have none to tell of themselves."""
        client, publication = record.client, record.id
        if record.node not in self._variants.brokers and client is not None and publication is not None:
            self._tally.numbered.append(
                NumberedNotification(
                    variant, record.event, record.time, intern(client), intern(record.peer or ""), publication,
                    record.count or 0, record.text or "",
                )
            )  # fmt: skip

    def _read_change(self, variant: int, record: TraceRecord, position: int) -> None:
        if record.peer is not None:
            appeared, intended = record.event is Event.APPEARED, record.intended or record.time
            at = self._block.at(record, position)
            self._tally.changes.append(LinkChange(at, variant, record.peer, appeared, intended))

    def _read_placement(self, variant: int, record: TraceRecord, position: int) -> None:
        client, composite, placement = record.client, record.id, record.placement
        if client is not None and composite is not None and placement is not None:
            self._tally.placements.append(
                PlacementEvent(
                    self._block.at(record, position), variant, record.event, record.node, client, composite, placement,
                    record.text or "", record.peer,
                )
            )  # fmt: skip

    def _read_detected(self, variant: int, record: TraceRecord, _position: int) -> None:
        made = made_detection(variant, record)
        if made is not None:
            detecting = DetectingBroker(variant, made.broker, made.client, made.composite, made.sub_unit)
            self._tally.detected.show(detecting, made.time)
            self._events.add_made_detection(made)

    def _read_start(self, variant: int, record: TraceRecord, position: int) -> None:
        self._tally.started.of(variant, record.node, record.text or "")
        self._sent.start(variant, record.node, position)
        self._read_mark(variant, record, position)

    def _read_mark(self, variant: int, record: TraceRecord, position: int) -> None:
        block = self._block
        self._tally.extents.add_mark(block.file, block.offset, position - block.offset, variant, record)

    def _read_defect(self, variant: int, record: TraceRecord, position: int) -> None:
        at = self._block.at(record, position)
        self._tally.defects.append(BrokerDefect(at, variant, record.node, record.text or ""))
