"""Time that routers themselves take for publications: matching and path selection (OctopiA, figures 14 and 16).

Brokers log the time that the router worked on each publication (`received`) and the time that each comparison of its
content took (`matched`). A comparison belongs to the arrival during which it was made. A duration of 0 comes from a
virtual clock, which stands still while a simulated broker works; it means nothing and is left out.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import add, attrgetter
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np

from analysis.tables.broker_work import RouterWork, WorkFigures, WorkKind
from analysis.tables.histogram import DurationHistogram, Durations, classes_of
from analysis.tables.structs import struct_from
from analysis.tables.totals import Rows

CLASSES_PER_DECADE = 100
"""A class of the histogram ends 2.3% above its start."""
MICROSECOND = 1000


class Work(msgspec.Struct):
    """Work of one broker and kind whose durations are of one class."""

    variant: int
    broker: str
    work: WorkKind
    number: int
    """Number of the class."""
    durations: Annotated[Durations, add] = Durations()


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
        self._durations: defaultdict[tuple[int, str, WorkKind], array[int]] = defaultdict(partial(array, "q"))

    def add(self, variant: int, arrivals: Iterable[Arrival], comparisons: Iterable[Comparison]) -> None:
        """Adds the work on one publication; its arrivals are in the order of links travelled, then of time."""
        compared = [comparison for comparison in comparisons if comparison.took > 0]
        for comparison in compared:
            self._durations[variant, comparison.broker, WorkKind.MATCHING].append(comparison.took)
        for broker, took in path_selections(arrivals, compared):
            self._durations[variant, broker, WorkKind.PATH_SELECTION].append(took)

    def rows(self) -> Rows[Work]:
        """The collected durations by class."""
        found = Rows(Work)
        for key, durations in self._durations.items():
            for number, of_class in classes_of(np.frombuffer(durations, dtype=np.int64), CLASSES_PER_DECADE):
                found.add(Work(*key, number, of_class))
        return found


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

    work: Rows[Work]
    variants: Sequence[str]

    def by_broker(self) -> list[RouterWork]:
        """The table `router_work`."""
        return [
            struct_from(RouterWork, _figures(work, histogram), variant=self.variants[variant], broker=broker)
            for (variant, broker, work), histogram in self._by(attrgetter("variant", "broker", "work")).items()
        ]

    def of_variant(self, variant: int) -> list[WorkFigures]:
        """The figures of all brokers of a variant together; empty where no time was measured."""
        together = self._by(attrgetter("variant", "work"))
        return [_figures(work, together[variant, work]) for work in WorkKind if (variant, work) in together]

    def _by(self, key: Callable[[Work], tuple[Any, ...]]) -> dict[tuple[Any, ...], DurationHistogram]:
        """The durations of work with equal keys, in the order of keys."""
        found: defaultdict[tuple[Any, ...], DurationHistogram]
        found = defaultdict(lambda: DurationHistogram(per_decade=CLASSES_PER_DECADE))
        for made in self.work:
            found[key(made)].add(made.number, made.durations)
        return found


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
