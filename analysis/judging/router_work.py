"""What routers themselves take for publications: matching and selecting paths (OctopiA, figures 14 and 16).

Brokers log with each publication how long the router worked on it (`received`), and how long each comparison of its
content took (`matched`). A comparison belongs to the arrival during which it was made. A duration of 0 is a virtual
clock's, which stands still while a simulated broker works: it says nothing and is left out.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from analysis.judging.journeys import Journey
from analysis.reading.publication_events import Arrived
from analysis.tables.fields import made_of
from analysis.tables.histogram import DurationClasses
from analysis.tables.summary import WorkFigures
from analysis.tables.tables import RouterWork, Work

CLASSES_PER_DECADE = 100
"""A class ends 2.3% above its begin."""
MICROSECOND = 1000


class WorkKey(NamedTuple):
    """Whose work it is, and which."""

    variant: int
    broker: str
    work: Work


class WorkSamples:
    """Collects durations, until there are as many as a bucket has."""

    def __init__(self) -> None:
        self._durations: dict[WorkKey, array[int]] = {}

    def add(self, variant: int, journey: Journey) -> None:
        """Takes a publication."""
        for one in journey.compared:
            if one.took:
                self._add(WorkKey(variant, one.broker, Work.MATCHING), one.took)
        for broker, took in path_selections(journey):
            self._add(WorkKey(variant, broker, Work.PATH_SELECTION), took)

    def _add(self, key: WorkKey, duration: int) -> None:
        durations = self._durations.get(key)
        if durations is None:
            durations = self._durations[key] = array("q")
        durations.append(duration)

    def tally(self) -> WorkTally:
        """All that was collected, in classes."""
        tally = WorkTally()
        for key, durations in self._durations.items():
            tally.classes_of(key).add_all(np.frombuffer(durations, dtype=np.int64))
        return tally


@dataclass(slots=True)
class WorkTally:
    """Durations by variant, broker and kind of work."""

    classes: dict[WorkKey, DurationClasses] = field(default_factory=dict)

    def merge(self, other: WorkTally) -> None:
        for key, classes in other.classes.items():
            self.classes_of(key).merge(classes)

    def classes_of(self, key: WorkKey) -> DurationClasses:
        found = self.classes.get(key)
        if found is None:
            found = self.classes[key] = DurationClasses(per_decade=CLASSES_PER_DECADE)
        return found

    def of_variant(self, variant: int, work: Work) -> DurationClasses:
        """Of all its brokers together."""
        together = DurationClasses(per_decade=CLASSES_PER_DECADE)
        for key, classes in self.classes.items():
            if key.variant == variant and key.work is work:
                together.merge(classes)
        return together


def path_selections(journey: Journey) -> Iterator[tuple[str, int]]:
    """The broker and the nanoseconds of path selection of each arrival: what the router took, less its comparisons."""
    worked = [arrival for arrival in journey.arrivals if arrival.worked]
    compared = _comparing(worked, journey)
    for number, arrival in enumerate(worked):
        yield arrival.broker, max(0, (arrival.worked or 0) - compared[number])


def _comparing(arrivals: Sequence[Arrived], journey: Journey) -> list[int]:
    """Nanoseconds of comparisons during each arrival: the last before the comparison, but one that has none yet of
    those that came in the same moment of virtual time."""
    compared = [0] * len(arrivals)
    by_broker: dict[str, list[int]] = {}
    for number, arrival in enumerate(arrivals):
        by_broker.setdefault(arrival.broker, []).append(number)
    for one in sorted(journey.compared, key=lambda one: (one.time, one.broker, one.took or 0)):
        before = [number for number in by_broker.get(one.broker, ()) if arrivals[number].time <= one.time]
        if before:
            latest = max(before, key=lambda number: (arrivals[number].time, compared[number] == 0))
            compared[latest] += one.took or 0
    return compared


@dataclass(frozen=True, slots=True)
class WorkTables:
    """The table about routers' work, and its sums for the summary."""

    tally: WorkTally
    variants: Sequence[str]

    def by_broker(self) -> list[RouterWork]:
        """The table `router_work`."""
        return [
            made_of(RouterWork, _figures(key.work, classes), variant=self.variants[key.variant], broker=key.broker)
            for key, classes in sorted(self.tally.classes.items(), key=lambda item: item[0])
        ]

    def of_variant(self, variant: int) -> list[WorkFigures]:
        """Of all its brokers together; nothing where no time was measured."""
        together = ((work, self.tally.of_variant(variant, work)) for work in Work)
        return [_figures(work, classes) for work, classes in together if classes.count]


def _figures(work: Work, classes: DurationClasses) -> WorkFigures:
    return WorkFigures(
        work=work.value,
        count=classes.count,
        mean_us=classes.mean / MICROSECOND,
        p50_us=classes.quantile(0.5) / MICROSECOND,
        p95_us=classes.quantile(0.95) / MICROSECOND,
        p99_us=classes.quantile(0.99) / MICROSECOND,
        max_us=classes.largest / MICROSECOND,
    )
