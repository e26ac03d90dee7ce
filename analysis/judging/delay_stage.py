"""Stage 4, by group: delays over time, by size and by hops. Only a client's first notification of a publication counts.

Delays are kept as whole nanoseconds, eight bytes each, until percentiles are taken: so that sums do not depend on the
order of the terms, and percentiles are exact.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial
from itertools import pairwise

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from analysis.engines.arrays import elements_of, integers, lengths_of, lists, numbers_of
from analysis.judging.judged import JudgedPublication, Receipt
from analysis.reading.publication_events import UNKNOWN
from analysis.run_files.time_units import second_due
from analysis.tables.delays import DelayByHops, DelayDistribution, DelayFigures, DelayOverTime
from analysis.tables.histogram import CLASSES_PER_DECADE, SMALLEST_MS, lower_ms
from analysis.tables.structs import struct_from
from analysis.tables.totals import Rows, Tally
from record.time_units import MILLISECOND


class Grouping(IntEnum):
    """The property that the notifications of a group share, besides their variant."""

    ALL = 0
    SECOND = 1
    """The second in which the publication was intended."""
    HOPS = 2
    """The number of links travelled."""


DELAYS = pa.schema(
    [
        pa.field("bucket", pa.int32(), nullable=False),
        ("variant", pa.int64()),
        ("grouping", pa.int64()),
        ("number", pa.int64()),
        ("ways_known", pa.int64()),
        ("known_delay", pa.int64()),
        ("known_waiting", pa.int64()),
        ("delays", pa.list_(pa.int64())),
    ]
)
"""A part of the delays of a group, in nanoseconds. All parts of a group are in the same bucket."""


@dataclass(frozen=True, slots=True)
class _Group:
    """A row of `DELAYS`."""

    variant: int
    grouping: Grouping
    number: int
    """The second, or the hops; 0 for `ALL`."""
    ways_known: int
    """The number of notifications whose whole path is known."""
    known_delay: int
    """The sum of the delays of these."""
    known_waiting: int
    """The part of that sum spent in output queues."""
    delays: NDArray[np.int64]


class _Column(IntEnum):
    """The numbers kept of each notification."""

    DELAY = 0
    SECOND = 1
    HOPS = 2
    WAITED = 3


class DelaySamples:
    """Collects the delays of notifications, at 32 bytes each."""

    def __init__(self) -> None:
        self._rows: defaultdict[int, array[int]] = defaultdict(partial(array, "q"))
        """Numbers of each delay (`_Column`), by variant; `UNKNOWN` stands for a number that is not known."""

    def add(self, judged: JudgedPublication, receipt: Receipt, run_start: int | None) -> None:
        """Adds a client's first notification of a publication."""
        if judged.intended is None:
            return
        second, hops, waited = second_due(judged.intended, run_start), receipt.hops, receipt.waited
        self._rows[judged.variant].extend(
            (
                receipt.notified - judged.intended,
                UNKNOWN if second is None else second,
                UNKNOWN if hops is None else hops,
                UNKNOWN if waited is None else waited,
            )
        )

    def groups(self, buckets: int) -> pa.Table:
        """The collected delays as rows of `DELAYS`, in this number of buckets."""
        groups = [
            group
            for variant, collected in self._rows.items()
            for group in _groups(variant, np.frombuffer(collected, dtype=np.int64).reshape(-1, len(_Column)))
        ]
        bucket_of = [(group.variant + group.grouping + group.number) % buckets for group in groups]
        order = sorted(range(len(groups)), key=bucket_of.__getitem__)
        return _rows([groups[place] for place in order], sorted(bucket_of))


def _groups(variant: int, rows: NDArray[np.int64]) -> Iterator[_Group]:
    yield _group(variant, Grouping.ALL, 0, rows)
    for grouping, column in ((Grouping.SECOND, _Column.SECOND), (Grouping.HOPS, _Column.HOPS)):
        known = rows[rows[:, column] != UNKNOWN]
        known = known[np.argsort(known[:, column], kind="stable")]
        numbers, starts = np.unique(known[:, column], return_index=True)
        for number, (start, end) in zip(numbers.tolist(), pairwise((*starts.tolist(), len(known))), strict=True):
            yield _group(variant, grouping, number, known[start:end])


def _group(variant: int, grouping: Grouping, number: int, rows: NDArray[np.int64]) -> _Group:
    known = rows[rows[:, _Column.WAITED] != UNKNOWN]
    return _Group(
        variant=variant,
        grouping=grouping,
        number=number,
        ways_known=len(known),
        known_delay=int(known[:, _Column.DELAY].sum()),
        known_waiting=int(known[:, _Column.WAITED].sum()),
        delays=rows[:, _Column.DELAY].copy(),
    )


def delays_of_variants(found: Mapping[int, NDArray[np.int64]]) -> pa.Table:
    """Delays of whole variants by number as rows of `DELAYS`, in a bucket for each variant."""
    groups = [_Group(variant, Grouping.ALL, 0, 0, 0, 0, delays) for variant, delays in sorted(found.items())]
    return _rows(groups, [group.variant for group in groups])


def _rows(groups: Sequence[_Group], buckets: Sequence[int]) -> pa.Table:
    """Rows of `DELAYS`, given the bucket of each."""
    delays = integers(np.concatenate([*(group.delays for group in groups), np.empty(0, np.int64)]), pa.int64())
    columns = [integers(buckets, pa.int32())]
    for name in DELAYS.names[1:-1]:
        columns.append(integers([getattr(group, name) for group in groups], pa.int64()))
    return pa.table([*columns, lists(delays, [len(group.delays) for group in groups])], schema=DELAYS)


class DelayClass(msgspec.Struct, frozen=True):
    """Notifications whose delays are of one logarithmic class."""

    number: int
    notifications: int


class GroupDelays(DelayFigures, frozen=True):
    """The delays of one group, all parts of which are in the same bucket."""

    variant: int
    grouping: Grouping
    number: int
    ways_known: int
    classes: list[DelayClass]
    """In order; filled for `ALL` only."""


@dataclass(slots=True)
class DelayTally(Tally):
    """The figures of all groups."""

    figures: Rows[GroupDelays] = field(default_factory=partial(Rows, GroupDelays, ("variant", "grouping", "number")))


MEASURED = DelayTally().schema()


def measure_delays(parts: pa.Table) -> pa.Table:
    """The stage: the figures of each group in a bucket."""
    grouped: defaultdict[tuple[int, int, int], list[_Group]] = defaultdict(list)
    ends = np.cumsum(lengths_of(parts.column("delays"))).tolist()
    delays = np.split(numbers_of(elements_of(parts.column("delays"))), ends[:-1])
    numbers = (parts.column(name).to_pylist() for name in DELAYS.names[1:-1])
    for variant, grouping, number, ways, delay, waiting, of_part in zip(*numbers, delays, strict=True):
        part = _Group(variant, Grouping(grouping), number, ways, delay, waiting, of_part)
        grouped[variant, grouping, number].append(part)
    tally = DelayTally()
    for groups in grouped.values():
        tally.figures.add(_figures(groups))
    return tally.table()


def _figures(groups: list[_Group]) -> GroupDelays:
    delays = np.concatenate([group.delays for group in groups])
    total, largest = int(delays.sum()), int(delays.max())
    median, p95, p99 = np.percentile(delays, [50, 95, 99], overwrite_input=True) / MILLISECOND
    known_delay = sum(group.known_delay for group in groups)
    known_waiting = sum(group.known_waiting for group in groups)
    return GroupDelays(
        variant=groups[0].variant,
        grouping=groups[0].grouping,
        number=groups[0].number,
        notifications=len(delays),
        mean_ms=total / len(delays) / MILLISECOND,
        p50_ms=float(median),
        p95_ms=float(p95),
        p99_ms=float(p99),
        max_ms=largest / MILLISECOND,
        queueing_share=known_waiting / known_delay if known_delay else None,
        ways_known=sum(group.ways_known for group in groups),
        classes=_classes(groups) if groups[0].grouping is Grouping.ALL else [],
    )


def _classes(groups: list[_Group]) -> list[DelayClass]:
    """Counts part by part, because a variant may have very many delays."""
    classes: Counter[int] = Counter()
    for group in groups:
        clipped = np.maximum(group.delays / MILLISECOND, SMALLEST_MS)
        numbers, counts = np.unique(np.floor(np.log10(clipped) * CLASSES_PER_DECADE).astype(int), return_counts=True)
        classes.update(dict(zip(numbers.tolist(), counts.tolist(), strict=True)))
    return [DelayClass(*of_class) for of_class in sorted(classes.items())]


@dataclass(frozen=True, slots=True)
class DelayTables:
    """The tables of delays."""

    tally: DelayTally
    variants: tuple[str, ...]

    def over_time(self) -> list[DelayOverTime]:
        """The table `delays`."""
        return [
            struct_from(DelayOverTime, figures, variant=self.variants[figures.variant], second=figures.number)
            for figures in self._of(Grouping.SECOND)
        ]

    def by_hops(self) -> list[DelayByHops]:
        """The table `hops`."""
        return [
            struct_from(DelayByHops, figures, variant=self.variants[figures.variant], hops=figures.number)
            for figures in self._of(Grouping.HOPS)
        ]

    def distribution(self) -> list[DelayDistribution]:
        """The table `distribution`: class i spans 10^(i/20) to 10^((i+1)/20) milliseconds."""
        return [
            DelayDistribution(
                variant=self.variants[figures.variant],
                lower_ms=lower_ms(found.number),
                upper_ms=lower_ms(found.number + 1),
                notifications=found.notifications,
            )
            for figures in self._of(Grouping.ALL)
            for found in figures.classes
        ]

    def of_all(self, variant: int) -> GroupDelays | None:
        return next((figures for figures in self._of(Grouping.ALL) if figures.variant == variant), None)

    def _of(self, grouping: Grouping) -> Iterator[GroupDelays]:
        return (figures for figures in self.tally.figures if figures.grouping is grouping)
