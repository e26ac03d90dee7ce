"""Journeys in words: of a notification its way, and of one that never came everything that the log has of it.

The rates at which clients publish and are notified come with them, because the logs are read once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

from analysis.run_files.run_directory import RunDirectory
from analysis.trace.drawing import Drawing, Slice, Track
from analysis.trace.journeys import NOT_IN_THE_LOG, Notified, draw_journey
from analysis.trace.records import ByEvent, Read
from analysis.trace.tracks import Tracks
from record.time_units import MILLISECOND, SECOND

MOST_STEPS = 60
"""Steps of a journey that are told; of more, the last ones, because they tell where it ended."""


_SAID = ("to ", "waits to be published", NOT_IN_THE_LOG)
"""Begins of what slices are named beside their publication, as far as their tracks do not say the same."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The journey of a publication to a client."""

    variant: str
    publication: str
    client: str


@dataclass(frozen=True, slots=True)
class Step:
    """A stretch of time, or a moment, of a journey."""

    at_s: float
    """Seconds from the start of the run phase."""
    took_ms: float | None
    """Milliseconds; None for a moment."""
    where: str


@dataclass(frozen=True, slots=True)
class Told:
    """A journey."""

    steps: Sequence[Step]
    """In order of time."""
    left_out: int
    """Earlier steps."""


@dataclass(frozen=True, slots=True)
class Rate:
    """The traffic of a variant's clients in one second from the start of the run phase."""

    variant: str
    second: int
    published: int
    notified: int


@dataclass(frozen=True, slots=True)
class Followed:
    """Some journeys of a run, and the rates of all clients, by its logs."""

    journeys: Mapping[Wanted, Told]
    rates: Sequence[Rate]
    """Seconds in which anything was published or notified of, in order, variant by variant."""


def follow(run: RunDirectory, read: Mapping[str, Read], wanted: Iterable[Wanted]) -> Followed:
    """Tells of journeys whose records were read, by variant."""
    by_variant: dict[str, defaultdict[str, list[Wanted]]] = {
        variant.name: defaultdict(list) for variant in run.manifest.variants
    }
    for journey in wanted:
        by_variant[journey.variant][journey.publication].append(journey)
    told: dict[Wanted, Told] = {}
    rates: list[Rate] = []
    for variant in run.manifest.variants:
        found = read[variant.name]
        tracks = Tracks([broker.id for broker in run.overlays[variant.name].brokers])
        for publication, journeys in by_variant[variant.name].items():
            told |= _told(publication, found.publications[publication], tracks, journeys, variant.run_start or 0)
        rates += [
            Rate(variant.name, second, found.published[second], found.notified[second])
            for second in sorted({*found.published, *found.notified})
        ]
    return Followed(told, rates)


def _told(
    publication: str, records: ByEvent, tracks: Tracks, journeys: Sequence[Wanted], start: int
) -> Mapping[Wanted, Told]:
    """The journeys of one publication."""
    drawing = Drawing()
    ends = draw_journey(publication, records, tracks, drawing).ends
    return {journey: _cut(_steps(drawing, ends, journey, start)) for journey in journeys}


def _steps(drawing: Drawing, ends: Sequence[Notified], journey: Wanted, start: int) -> list[Step]:
    own = [end.last for end in ends if end.client == journey.client]
    ways = drawing.ways_to(own) if own else [part for part in drawing.slices if part.on_a_way]
    timed = [(part.begin, part.end, _words(part.track, part, journey)) for part in ways]
    steps = [Step((begin - start) / SECOND, (end - begin) / MILLISECOND, words) for begin, end, words in timed]
    if not own:
        steps += [
            Step((moment.time - start) / SECOND, None, _moment(moment.track, moment.name, moment.facts.values()))
            for moment in drawing.instants
        ]
    return sorted(steps, key=attrgetter("at_s"))


def _cut(steps: Sequence[Step]) -> Told:
    return Told(steps[-MOST_STEPS:], max(0, len(steps) - MOST_STEPS))


def _words(track: Track, part: Slice, journey: Wanted) -> str:
    """A place, and what happens there unless the place says it."""
    what = part.name.replace(journey.publication, "").strip(": ")
    place = f"{track.process.name}: {track.name}"
    return f"{place} ({what})" if what.startswith(_SAID) else place


def _moment(track: Track, name: str, facts: Iterable[str | int]) -> str:
    return f"{track.process.name}: {', '.join([name, *map(str, facts)])}"
