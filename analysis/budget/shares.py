"""Intervals of many ways cut into parts, and the nodes that contention and the unexplained belong to."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from analysis.auditing.hops.table import Numbers
from analysis.budget.parts import PARTS


@dataclass(frozen=True, slots=True)
class NodeShare:
    """The contention and the unexplained of intervals at one node each."""

    node: Numbers
    contention: Numbers
    unexplained: Numbers


@dataclass(frozen=True, slots=True)
class Cut:
    """Intervals, cut."""

    parts: Numbers
    """A row for each interval, in the order of `Part`."""
    shares: list[NodeShare] = field(default_factory=list)
    """Each has a number for each interval."""

    @classmethod
    def of(cls, length: int) -> Cut:
        return cls(np.zeros((length, PARTS), dtype=np.int64, order="F"))


class NodeTotals:
    """Contention, the unexplained, and its absolute value, by node, over all notifications."""

    def __init__(self, nodes: int) -> None:
        self.sums = np.zeros((nodes, 3), dtype=np.int64)

    def add(self, cut: Cut, weights: Numbers) -> None:
        """Adds intervals, each as often as there are notifications that it is on the way of."""
        contention, unexplained, absolute = self.sums.T
        for share in cut.shares:
            nodes, sums = _weighted(share.node, share.contention, weights)
            np.add.at(contention, nodes, sums)
            nodes, sums = _weighted(share.node, share.unexplained, weights)
            np.add.at(unexplained, nodes, sums)
            np.add.at(absolute, nodes, np.abs(sums))


def _weighted(nodes: Numbers, numbers: Numbers, weights: Numbers) -> tuple[Numbers, Numbers]:
    """The numbers that are not 0, most of which are, as often as each weighs, and their nodes."""
    some = np.flatnonzero(numbers)
    return nodes[some], numbers[some] * weights[some]
