"""The file of a run's journeys, from its logs and tables."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from analysis.run_files.run_directory import RunDirectory, open_run
from analysis.tables.summary import Summary, read_summary
from analysis.trace.choice import Choice, Chosen, Judged, choose
from analysis.trace.chrome import as_chrome
from analysis.trace.detections import draw_detections
from analysis.trace.drawing import Counter, Drawing, Instant, Slice
from analysis.trace.journeys import draw_journey
from analysis.trace.lanes import Mark, Row, counters_in_order, marks_of, rows_of, used_rows
from analysis.trace.perfetto import as_perfetto
from analysis.trace.records import Read, Reading, read_records
from analysis.trace.tracks import Tracks
from record.errors import BadInputError
from record.files import replace_file
from topology.link_properties import BrokerId

Form = Callable[[Sequence[Row], Sequence[Mark], Sequence[Counter]], Iterator[bytes]]

FORMS: Mapping[str, Form] = {".pftrace": as_perfetto, ".json": as_chrome}
"""The forms of a file, by the end of its name."""
_NAMES = {
    Reading.WAITING: ("waiting for {}", "messages"),
    Reading.IN_FLIGHT: ("in flight to {}", "messages"),
    Reading.WORK: ("processor", "per mille"),
    Reading.MEMORY: ("memory", "bytes"),
}
_OF_SERVICE = "service"
"""Stands where a number of a queue is of no link: the queue for modelled service."""


@dataclass(frozen=True, slots=True)
class Made:
    """A trace that was written."""

    variant: str
    publications: int
    records: int
    """Records of the logs that were read."""
    slices: int
    flows: int
    bytes: int


def make_trace(directory: Path, choice: Choice, target: Path) -> Made:
    """Writes the journeys of a run's publications into a file whose name ends as in `FORMS`. Raises `UserError`s and
    `OSError`."""
    form = FORMS.get(target.suffix)
    if form is None:
        raise BadInputError(f"-o {target}: a file for a trace viewer ends in {' or '.join(FORMS)}")
    run = open_run(directory)
    chosen = choose(run, choice)
    name = chosen.variant.name
    read = read_records(run, {name: chosen.publications})[name]
    for publication, records in read.publications.items():
        if not records:
            raise BadInputError(f"--publications {publication}: there is no such publication in the variant {name}")
    drawing = draw(run, chosen, read, read_summary(directory))
    content = content_of(drawing, form)
    replace_file(target, content)
    return Made(name, len(chosen.publications), read.records, len(drawing.slices), drawing.flows, len(content))


def content_of(drawing: Drawing, form: Form = as_perfetto) -> bytes:
    """A drawing as a file."""
    marks = marks_of(drawing, rows_of(drawing))
    return b"".join(form(used_rows(marks), marks, counters_in_order(drawing.counters)))


def draw(run: RunDirectory, chosen: Chosen, read: Read, summary: Summary) -> Drawing:
    """Everything that the trace of a variant shows."""
    name = chosen.variant.name
    tracks, drawing = Tracks([broker.id for broker in run.overlays[name].brokers]), Drawing()
    journeys = {
        publication: draw_journey(publication, read.publications[publication], tracks, drawing)
        for publication in chosen.publications
    }
    draw_detections(read.detections, journeys, tracks, drawing)
    for judged in chosen.defects:
        _draw_defect(judged, read, tracks, drawing)
    _draw_course(chosen, summary, tracks, drawing)
    shown = {slice.track.process for slice in drawing.slices}
    for record in read.links:
        track = tracks.node(record.node)
        if chosen.begin <= record.time <= chosen.end and track.process in shown:
            words = f"{record.event.value.replace('_', ' ')} {record.peer or ''}".strip()
            drawing.instants.append(Instant(track, record.time, words))
    for gauge, numbers in sorted(read.gauges.items()):
        process = tracks.broker(gauge.broker)
        samples = [*_in_window(_samples(gauge.what, numbers), chosen)]
        if process in shown and any(value for _, value in samples):
            words, unit = _NAMES[gauge.what]
            drawing.counters.append(Counter(process, words.format(gauge.neighbour or _OF_SERVICE), unit, samples))
    return drawing


def _draw_defect(judged: Judged, read: Read, tracks: Tracks, drawing: Drawing) -> None:
    """Marks the judge's word at the client, at the time of the last record of the publication."""
    times = [record.time for records in read.publications[judged.publication].values() for record in records]
    broker: BrokerId = read.homes.get(judged.client, "")
    if not times or not broker:
        return
    facts = {"cause": judged.cause, "last seen": judged.last_seen}
    stated = {name: text for name, text in facts.items() if text}
    words = f"{judged.defect}: {judged.publication} to {judged.client}"
    drawing.instants.append(Instant(tracks.client(broker, judged.client), max(times), words, stated))


def _draw_course(chosen: Chosen, summary: Summary, tracks: Tracks, drawing: Drawing) -> None:
    """Draws phases and faults."""
    for phase in chosen.variant.phases:
        drawing.add(Slice(tracks.phases, phase.start, phase.end, phase.name, ""))
    last = max((phase.end for phase in chosen.variant.phases), default=0)
    for variant in summary.variants:
        for fault in variant.faults if variant.name == chosen.variant.name else ():
            end = last if fault.healed_ns is None else fault.healed_ns
            words = f"{fault.kind} {', '.join(fault.what)}"
            healed = {} if fault.healed_ns is not None else {"healed": "never"}
            drawing.add(Slice(tracks.faults, fault.began_ns, max(end, fault.began_ns), words, "", healed))


def _samples(what: Reading, numbers: array[int]) -> Iterator[tuple[int, int]]:
    """Times and values of a gauge; of work, the share of a processor since the reading before, in thousandths."""
    read = zip(numbers[::2], numbers[1::2], strict=True)
    if what is not Reading.WORK:
        yield from read
        return
    for (begin, before), (end, work) in pairwise(read):
        if end > begin and work >= before:
            yield end, 1_000 * (work - before) // (end - begin)


def _in_window(samples: Iterator[tuple[int, int]], chosen: Chosen) -> Sequence[tuple[int, int]]:
    return [sample for sample in samples if chosen.begin <= sample[0] <= chosen.end]
