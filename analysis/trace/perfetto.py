"""A drawing as a file for Perfetto (ui.perfetto.dev): protobuf, `proto/viewers/trace_file.proto`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from analysis.generated.trace_file_pb2 import CounterDescriptor, DebugAnnotation, ProcessDescriptor, Trace, TracePacket
from analysis.generated.trace_file_pb2 import TrackDescriptor as Descriptor
from analysis.generated.trace_file_pb2 import TrackEvent as Event
from analysis.trace.drawing import Counter, Fact, Facts, Instant, Process, Slice
from analysis.trace.lanes import Kind, Mark, Row

_SEQUENCE = 1
"""The packets of a file come from one writer."""
_TYPES = {
    Kind.BEGIN: Event.SLICE_BEGIN,
    Kind.END: Event.SLICE_END,
    Kind.INSTANT: Event.INSTANT,
}


def as_perfetto(rows: Sequence[Row], marks: Sequence[Mark], counters: Sequence[Counter]) -> Iterator[bytes]:
    """The parts of the file."""
    processes = sorted({row.track.process for row in rows} | {counter.process for counter in counters})
    numbers = {row: number for number, row in enumerate(rows, 1 + max((one.number for one in processes), default=0))}
    for process in processes:
        yield _packet(track_descriptor=_of_process(process))
    for rank, (row, number) in enumerate(numbers.items()):
        described = Descriptor(
            uuid=number, name=row.track.name, parent_uuid=row.track.process.number, sibling_order_rank=rank
        )
        yield _packet(track_descriptor=described)
    yield from _counted(counters, 1 + max(numbers.values(), default=len(processes)), len(numbers))
    for mark in marks:
        yield _packet(timestamp=mark.time, track_event=_event(mark, numbers))


def _counted(counters: Sequence[Counter], first: int, rank: int) -> Iterator[bytes]:
    """Counters, numbered from `first`, below everything else of their process."""
    for place, counter in enumerate(counters):
        described = Descriptor(
            uuid=first + place,
            name=counter.name,
            parent_uuid=counter.process.number,
            counter=CounterDescriptor(unit_name=counter.unit),
            sibling_order_rank=rank + place,
        )
        yield _packet(track_descriptor=described)
        for time, value in counter.samples:
            event = Event(type=Event.COUNTER, track_uuid=first + place, counter_value=value)
            yield _packet(timestamp=time, track_event=event)


def _of_process(process: Process) -> Descriptor:
    return Descriptor(
        uuid=process.number,
        process=ProcessDescriptor(pid=process.number, process_name=process.name),
        child_ordering=Descriptor.EXPLICIT,
    )


def _event(mark: Mark, numbers: Mapping[Row, int]) -> Event:
    event = Event(type=_TYPES[mark.kind], track_uuid=numbers[mark.row], name=mark.name)
    if isinstance(mark.of, Slice):
        event.flow_ids.extend(mark.of.leaving)
        event.terminating_flow_ids.extend(mark.of.arriving)
        event.correlation_id_str = mark.of.publication
    if isinstance(mark.of, Slice | Instant):
        event.debug_annotations.extend(_annotations(mark.of.facts))
    return event


def _annotations(facts: Facts) -> Iterator[DebugAnnotation]:
    for name, value in facts.items():
        yield _annotation(name, value)


def _annotation(name: str, value: Fact) -> DebugAnnotation:
    if isinstance(value, int):
        return DebugAnnotation(name=name, int_value=value)
    return DebugAnnotation(name=name, string_value=value)


def _packet(
    timestamp: int | None = None, track_event: Event | None = None, track_descriptor: Descriptor | None = None
) -> bytes:
    packet = TracePacket(
        timestamp=timestamp,
        trusted_packet_sequence_id=_SEQUENCE,
        track_event=track_event,
        track_descriptor=track_descriptor,
    )
    content: bytes = Trace(packet=[packet]).SerializeToString(deterministic=True)
    return content
