"""Sums of the parts of delays. They add up, whichever notifications are summed first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial

import msgspec
import numpy as np

from analysis.auditing.hops.table import Numbers
from analysis.budget.parts import Part
from analysis.tables.totals import Rows, Sum, Tally


class Grouping(IntEnum):
    """The property that notifications which are summed have in common, besides their variant."""

    ALL = 0
    DELAY = 1
    """The logarithmic class of their delay (`analysis.tables.histogram`)."""
    SECOND = 2
    """The second in which the publication was intended."""


class Sums(msgspec.Struct):
    """The parts of some delays, in nanoseconds."""

    variant: int
    grouping: Grouping
    number: int
    """The class or the second; 0 for all."""
    notifications: Sum = 0
    links: Sum = 0
    waiting_for_links: Sum = 0
    waiting_at_brokers: Sum = 0
    work: Sum = 0
    platform: Sum = 0
    contention: Sum = 0
    unexplained: Sum = 0
    access: Sum = 0
    unexplained_absolute: Sum = 0
    """The sum of the absolute values, of one notification each."""

    @property
    def parts(self) -> list[int]:
        """In the order of `Part`."""
        return [getattr(self, part.name.lower()) for part in Part]

    @property
    def delay(self) -> int:
        return sum(self.parts)


class NodeSums(msgspec.Struct):
    """The contention and the unexplained of all notifications that came by one node, in nanoseconds."""

    variant: int
    node: str
    contention: Sum = 0
    unexplained: Sum = 0
    unexplained_absolute: Sum = 0
    """The sum of the absolute values, of one passage each."""


class Stolen(msgspec.Struct):
    """The part of the contention and the unexplained time of all notifications that the hypervisor can have stolen."""

    variant: int
    at_most: Sum = 0
    """Upper bound of the stolen time, in nanoseconds."""


class BesideSlowReaders(msgspec.Struct):
    """Notifications of clients that read everything, at a broker where the session of a slow reader was full."""

    variant: int
    broker: str
    """Empty for all other notifications of the variant, to compare with."""
    notifications: Sum = 0
    unexplained: Sum = 0
    """Nanoseconds that nothing explains."""


class Unknown(msgspec.Struct):
    """First notifications that are in no sum, because the log does not hold their ways."""

    variant: int
    notifications: Sum = 0


@dataclass(slots=True)
class BudgetTally(Tally):
    """The sums of some buckets of publications."""

    sums: Rows[Sums] = field(default_factory=partial(Rows, Sums))
    nodes: Rows[NodeSums] = field(default_factory=partial(Rows, NodeSums))
    stolen: Rows[Stolen] = field(default_factory=partial(Rows, Stolen))
    unknown: Rows[Unknown] = field(default_factory=partial(Rows, Unknown))
    beside_slow: Rows[BesideSlowReaders] = field(default_factory=partial(Rows, BesideSlowReaders))


def summands(parts: Numbers) -> Numbers:
    """The numbers of which `add_sums` makes sums: the parts of notifications, one row each, and one more column."""
    return np.column_stack((parts, np.abs(parts[:, Part.UNEXPLAINED])))


def add_sums(tally: BudgetTally, variant: int, grouping: Grouping, numbers: Numbers, rows: Numbers) -> None:
    """Adds notifications with a number of their group, and their `summands`."""
    if not len(numbers):
        return
    order = np.argsort(numbers)
    ordered = numbers[order]
    first = np.flatnonzero(np.diff(ordered, prepend=ordered[0] - 1))
    counts = np.diff(first, append=len(ordered))
    sums = np.add.reduceat(rows[order], first)
    for number, count, row in zip(ordered[first].tolist(), counts.tolist(), sums.tolist(), strict=True):
        tally.sums.add(Sums(variant, grouping, number, count, *row))


def add_nodes(tally: BudgetTally, variant: int, nodes: Sequence[str], sums: Numbers) -> None:
    """Adds a row of contention, the unexplained and its absolute value for each node by number."""
    for node in np.flatnonzero(sums.any(axis=1)).tolist():
        tally.nodes.add(NodeSums(variant, nodes[node], *sums[node].tolist()))
