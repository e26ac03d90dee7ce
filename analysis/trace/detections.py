"""Detections of composite subscriptions: from each publication of a set to the broker where the set was complete, and
from there to the client.

The log does not tell which of a broker's messages carried a set, so the way to the client is one slice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from analysis.trace.drawing import Drawing, Facts, Slice
from analysis.trace.journeys import DrawnJourney
from analysis.trace.tracks import Tracks
from record.log import Event, TraceRecord
from record.time_units import MILLISECOND


def draw_detections(
    records: Iterable[TraceRecord], journeys: Mapping[str, DrawnJourney], tracks: Tracks, drawing: Drawing
) -> None:
    """Draws the sets that clients were notified of, from records in order of time, after the journeys of their
    publications."""
    detected: defaultdict[tuple[str, ...], list[TraceRecord]] = defaultdict(list)
    for record in records:
        if record.event is Event.DETECTED:
            detected[_set(record)].append(record)
        elif (found := detected.get(_set(record))) is not None:
            _draw(found[-1], record, journeys, tracks, drawing)


def _set(record: TraceRecord) -> tuple[str, ...]:
    return record.client or "", record.id or "", *sorted(record.publications or ())


def _draw(
    detected: TraceRecord,
    notified: TraceRecord,
    journeys: Mapping[str, DrawnJourney],
    tracks: Tracks,
    drawing: Drawing,
) -> None:
    members, client = detected.publications or [], notified.client or ""
    name = f"{detected.id}: {' & '.join(members)}"
    complete = Slice(tracks.detections(detected.node), detected.time, detected.time, name, "", _facts(detected))
    ways = [journeys[member].way_to(detected.node, detected.time) for member in members if member in journeys]
    drawing.add(complete)
    for way in ways:
        if way is not None:
            drawing.flow(way, complete)
    track = tracks.client(notified.peer or "", client)
    told = Slice(track, detected.time, max(detected.time, notified.time), f"{client} is told of {name}", "")
    drawing.add(told, complete)


def _facts(detected: TraceRecord) -> Facts:
    spread = {"published within us": 1_000 * (detected.duration or 0) // MILLISECOND}
    return spread if detected.text is None else spread | {"unit": detected.text}
