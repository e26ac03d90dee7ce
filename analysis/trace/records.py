"""The records of a run's logs that a trace shows: all of the chosen publications, gauges of brokers, and links' ends.

The logs are read once, in pieces, so memory holds the chosen publications and gauges alone.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from analysis.run_files.logs import Piece, RecordBlock, bring_to_scenario_time
from analysis.run_files.run_directory import RunDirectory
from broker_service.messages import Kind
from record.errors import BadInputError
from record.log import Event, TraceRecord
from record.time_units import SECOND

MOST_RECORDS = 2_000_000
"""Records that a trace holds in memory, about 250 bytes each."""
_PUBLISH = Kind.PUBLISH.word
_OF_PUBLICATIONS = frozenset(
    {
        Event.PUBLISH,
        Event.RECEIVED,
        Event.MATCHED,
        Event.SENT,
        Event.DELIVERED,
        Event.NOTIFIED,
        Event.DROPPED,
        Event.DISTURBED,
        Event.REJECTED,
        Event.REFUSED,
    }
)
_LINK_ENDS = frozenset({Event.LINK_UP, Event.LINK_DOWN, Event.LINK_ADDED, Event.LINK_REMOVED})
_OPERATIONS = frozenset({Event.SUBSCRIBE, Event.COMPOSE, Event.PUBLISH, Event.ADVERTISE})


class Reading(IntEnum):
    """The numbers of gauges."""

    WAITING = 0
    """Messages in the output queue; without neighbour: messages that wait for service."""
    IN_FLIGHT = 1
    """Messages sent and not acknowledged."""
    WORK = 2
    """Nanoseconds since the broker started."""
    MEMORY = 3
    """Memory of the broker, in bytes."""


ByEvent = Mapping[Event, list[TraceRecord]]
"""The records of one publication, by event; each list in order of time."""


class Gauge(NamedTuple):
    """A number that a broker logs once a second."""

    broker: str
    neighbour: str
    """Empty where the number is of no link."""
    what: Reading


@dataclass(slots=True)
class Read:
    """Records of one variant."""

    publications: dict[str, defaultdict[Event, list[TraceRecord]]] = field(default_factory=dict)
    """Records of the chosen publications, by event."""
    gauges: defaultdict[Gauge, array[int]] = field(default_factory=lambda: defaultdict(lambda: array("q")))
    """Times and values in turns, in the order of the broker's log."""
    links: list[TraceRecord] = field(default_factory=list)
    """Links' ends that opened, broke, came or went."""
    detections: list[TraceRecord] = field(default_factory=list)
    """Sets of composite subscriptions with a chosen publication, as brokers detected them and as clients were notified
    of them."""
    homes: dict[str, str] = field(default_factory=dict)
    """The broker of each client, by its latest operation."""
    published: Counter[int] = field(default_factory=Counter)
    """Publications that clients made, by the second of the run phase."""
    notified: Counter[int] = field(default_factory=Counter)
    """Notifications that clients got, by the second of the run phase."""
    records: int = 0
    """Records of the logs, those of other variants and publications included."""
    kept: int = 0


def read_records(run: RunDirectory, chosen: Mapping[str, Collection[str]]) -> Mapping[str, Read]:
    """Reads the logs, for the chosen publications of each variant.

    Raises `OSError`, and `BadInputError` where these have too many records.
    """
    found = {
        variant: Read(publications={publication: defaultdict(list) for publication in sorted(publications)})
        for variant, publications in chosen.items()
    }
    starts = {variant.name: variant.run_start or 0 for variant in run.manifest.variants}
    readers = {variant: _readers(read, starts[variant]) for variant, read in found.items()}
    for block in _blocks(run):
        for record in block.records:
            of_variant = readers.get(record.variant)
            if of_variant is not None:
                reader = of_variant.get(record.event)
                if reader is not None:
                    reader(record)
        if sum(read.kept for read in found.values()) > MOST_RECORDS:
            raise BadInputError(
                f"--sample, --worst: the chosen journeys have more than {MOST_RECORDS:,} records, too many for a "
                "viewer; choose fewer, or a shorter time (--from, --to)"
            )
        for read in found.values():
            read.records += len(block.records)
    for read in found.values():
        for events in read.publications.values():
            for records in events.values():
                records.sort(key=_in_order)
        read.detections.sort(key=_in_order)
        read.links.sort(key=lambda record: (record.time, record.node, record.event, record.peer or ""))
    return found


def _in_order(record: TraceRecord) -> tuple[int, int, str, str, str]:
    return record.time, record.hops or 0, record.node, record.peer or "", record.client or ""


def _blocks(run: RunDirectory) -> Iterator[RecordBlock]:
    """All records, by the run's clock and in the scenario's time."""
    for file in run.log_files:
        clock = run.clocks.get(file.name)
        for block in run.logs.blocks(Piece(file.name, 0, file.size)):
            if clock is not None:
                clock.bring_to_run_time(block.records)
            if run.dilations:
                bring_to_scenario_time(block.records, run.dilations)
            yield block


def _readers(read: Read, start: int) -> Mapping[Event, Callable[[TraceRecord], None]]:
    def keep(record: TraceRecord) -> None:
        if record.kind == _PUBLISH or record.kind is None:
            events = read.publications.get(record.id or "")
            if events is not None:
                events[record.event].append(record)
                read.kept += 1

    def keep_published(record: TraceRecord) -> None:
        read.published[(record.time - start) // SECOND] += 1
        note_home(record)
        keep(record)

    def keep_notified(record: TraceRecord) -> None:
        read.notified[(record.time - start) // SECOND] += 1
        (keep if record.publications is None else keep_detection)(record)

    def keep_detection(record: TraceRecord) -> None:
        if any(publication in read.publications for publication in record.publications or ()):
            read.detections.append(record)
            read.kept += 1

    def note_home(record: TraceRecord) -> None:
        if record.client is not None and record.peer is not None:
            read.homes[record.client] = record.peer

    def add_queue(record: TraceRecord) -> None:
        if record.queue is None:
            return  # the queue is as before
        where = record.node, record.peer or ""
        read.gauges[Gauge(*where, Reading.WAITING)].extend((record.time, record.queue or 0))
        if record.peer is not None:
            read.gauges[Gauge(*where, Reading.IN_FLIGHT)].extend((record.time, record.count or 0))

    def add_load(record: TraceRecord) -> None:
        read.gauges[Gauge(record.node, "", Reading.WORK)].extend((record.time, record.duration or 0))
        if record.bytes is not None:
            read.gauges[Gauge(record.node, "", Reading.MEMORY)].extend((record.time, record.bytes))

    return {
        **dict.fromkeys(_OPERATIONS, note_home),
        **dict.fromkeys(_OF_PUBLICATIONS, keep),
        **dict.fromkeys(_LINK_ENDS, read.links.append),
        Event.PUBLISH: keep_published,
        Event.NOTIFIED: keep_notified,
        Event.DETECTED: keep_detection,
        Event.QUEUE: add_queue,
        Event.LOAD: add_load,
    }
