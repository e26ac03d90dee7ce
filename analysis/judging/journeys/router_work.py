"""Time that routers themselves take for publications: matching and path selection (OctopiA, figures 14 and 16).

Brokers log the time that the router worked on each publication (`received`) and the time that each comparison of its
content took (`matched`). A comparison belongs to the arrival during which it was made. A duration of 0 comes from a
virtual clock, which stands still while a simulated broker works; it means nothing and is left out.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from analysis.tables.broker_work import RouterWork, WorkKind
from analysis.tables.histogram import DurationHistogram
from analysis.tables.structs import struct_from
from analysis.tables.summary import WorkFigures

CLASSES_PER_DECADE = 100
"""A class of the histogram ends 2.3% above its start."""
MICROSECOND = 1000


class WorkKey(NamedTuple):
    """The broker that worked, and the kind of work."""

    variant: int
    broker: str
    work: WorkKind


class Arrival(NamedTuple):
    """A publication arrived at a broker."""

    broker: str
    time: int
    worked: int
    """The router's work on it, comparisons included; nanoseconds. Not positive where it was not measured."""


class Comparison(NamedTuple):
    """A broker compared a publication's content with subscriptions."""

    broker: str
    time: int
    took: int
    """Nanoseconds; not positive where they were not measured."""


class WorkSamples:
    """Collects the durations of one bucket."""

    def __init__(self) -> None:
        self._durations: dict[WorkKey, array[int]] = {}

    def add(self, variant: int, arrivals: Iterable[Arrival], comparisons: Iterable[Comparison]) -> None:
        """Adds the work on one publication; its arrivals are in the order of links travelled, then of time."""
        compared = [comparison for comparison in comparisons if comparison.took > 0]
        for comparison in compared:
            self._add(WorkKey(variant, comparison.broker, WorkKind.MATCHING), comparison.took)
        for broker, took in path_selections(arrivals, compared):
            self._add(WorkKey(variant, broker, WorkKind.PATH_SELECTION), took)

    def _add(self, key: WorkKey, duration: int) -> None:
        durations = self._durations.get(key)
        if durations is None:
            durations = self._durations[key] = array("q")
        durations.append(duration)

    def tally(self) -> WorkTally:
        """The collected durations as histograms."""
        tally = WorkTally()
        for key, durations in self._durations.items():
            tally.histogram_of(key).add_all(np.frombuffer(durations, dtype=np.int64))
        return tally


@dataclass(slots=True)
class WorkTally:
    """Durations by variant, broker and kind of work."""

    histograms: dict[WorkKey, DurationHistogram] = field(default_factory=dict)

    def merge(self, other: WorkTally) -> None:
        for key, histogram in other.histograms.items():
            self.histogram_of(key).merge(histogram)

    def histogram_of(self, key: WorkKey) -> DurationHistogram:
        found = self.histograms.get(key)
        if found is None:
            found = self.histograms[key] = DurationHistogram(per_decade=CLASSES_PER_DECADE)
        return found

    def of_variant(self, variant: int, work: WorkKind) -> DurationHistogram:
        """The durations of all brokers of a variant together."""
        together = DurationHistogram(per_decade=CLASSES_PER_DECADE)
        for key, histogram in self.histograms.items():
            if key.variant == variant and key.work is work:
                together.merge(histogram)
        return together


def path_selections(arrivals: Iterable[Arrival], comparisons: Iterable[Comparison]) -> Iterator[tuple[str, int]]:
    """The broker and the nanoseconds of path selection of each arrival: the router's time less its comparisons."""
    worked = [arrival for arrival in arrivals if arrival.worked > 0]
    matching = _matching_times(worked, comparisons)
    for number, arrival in enumerate(worked):
        yield arrival.broker, max(0, arrival.worked - matching[number])


def _matching_times(arrivals: Sequence[Arrival], comparisons: Iterable[Comparison]) -> list[int]:
    """Nanoseconds of comparisons during each arrival. A comparison belongs to the last arrival before it; among
    arrivals in the same moment of virtual time, to one that has no comparison yet."""
    matching = [0] * len(arrivals)
    by_broker: dict[str, list[int]] = {}
    for number, arrival in enumerate(arrivals):
        by_broker.setdefault(arrival.broker, []).append(number)
    for comparison in sorted(comparisons, key=lambda made: (made.time, made.broker, made.took)):
        before = [number for number in by_broker.get(comparison.broker, ()) if arrivals[number].time <= comparison.time]
        if before:
            latest = max(before, key=lambda number: (arrivals[number].time, matching[number] == 0))
            matching[latest] += comparison.took
    return matching


@dataclass(frozen=True, slots=True)
class WorkTables:
    """The table `router_work`, and its sums for the summary."""

    tally: WorkTally
    variants: Sequence[str]

    def by_broker(self) -> list[RouterWork]:
        """The table `router_work`."""
        return [
            struct_from(
                RouterWork, _figures(key.work, histogram), variant=self.variants[key.variant], broker=key.broker
            )
            for key, histogram in sorted(self.tally.histograms.items(), key=lambda item: item[0])
        ]

    def of_variant(self, variant: int) -> list[WorkFigures]:
        """The figures of all brokers of a variant together; empty where no time was measured."""
        together = ((work, self.tally.of_variant(variant, work)) for work in WorkKind)
        return [_figures(work, histogram) for work, histogram in together if histogram.count]


def _figures(work: WorkKind, histogram: DurationHistogram) -> WorkFigures:
    return WorkFigures(
        work=work.value,
        count=histogram.count,
        mean_us=histogram.mean / MICROSECOND,
        p50_us=histogram.quantile(0.5) / MICROSECOND,
        p95_us=histogram.quantile(0.95) / MICROSECOND,
        p99_us=histogram.quantile(0.99) / MICROSECOND,
        max_us=histogram.largest / MICROSECOND,
    )
