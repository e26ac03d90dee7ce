"""Trees for many subscriptions without a selective equality: blocks under forks, most of which a publication skips.

Each fork parts the subscriptions below it by one bound (see `bounds`): those whose bound is up to a value, and those
whose bound is beyond it. A publication whose limit is not beyond the value matches none of the latter. The former must
always be visited: they ask for less. So a fork at the median saves a quarter of the work when half of the publications
fall on its near side, and forks multiply. It is a k-d tree (J. L. Bentley, "Multidimensional Binary Search Trees Used
for Associative Searching", CACM 18(9), 1975) whose dimensions are the ends of the intervals.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Generic, TypeVar

from broker_service.language import Predicate, Value
from broker_service.matching.block import Block, Division
from broker_service.matching.bounds import UNBOUNDED, AttributeLimits, Conjunction
from broker_service.matching.tuning import Tuning

K = TypeVar("K", bound=Hashable)


class Fork(Generic[K]):
    """A division, and the subtrees on its two sides."""

    __slots__ = ("division", "sides")

    def __init__(self, division: Division, sides: tuple[Block[K], Block[K]]) -> None:
        self.division = division
        self.sides: list[Fork[K] | Block[K]] = [*sides]
        """Within the division's value, and beyond it."""

    def side_of(self, conjunction: Conjunction) -> int:
        """The side that a subscription is on."""
        attribute, end, value = self.division
        return int(conjunction.intervals.get(attribute, UNBOUNDED)[end] > value)


class BoundsTree(Generic[K]):
    """Subscriptions that are compared as arrays, in blocks of bounded size where their bounds differ at all."""

    __slots__ = ("_root", "_tuning")

    def __init__(self, tuning: Tuning) -> None:
        self._tuning = tuning
        self._root: Fork[K] | Block[K] = Block(tuning.block_columns)

    def __bool__(self) -> bool:
        """True when the tree has a subscription."""
        return isinstance(self._root, Fork) or len(self._root) > 0

    def add(self, key: K, predicates: tuple[Predicate, ...]) -> None:
        """Adds a subscription whose key is not in the tree yet."""
        conjunction = Conjunction(predicates)
        path, block = self._descend(conjunction)
        block.add(key, conjunction)
        if len(block) % self._tuning.block_rows == 0:  # again at each multiple, should it be indivisible now
            division = block.division(lambda end: sum(fork.division[:2] == end for fork, _ in path))
            if division is not None:
                self._replace(path, Fork(division, block.divided(division)))

    def remove(self, key: K, predicates: tuple[Predicate, ...]) -> None:
        """Removes a subscription, given the same predicates as when it was added."""
        path, block = self._descend(Conjunction(predicates))
        block.remove(key)
        if path and not len(block):
            fork, side = path.pop()
            self._replace(path, fork.sides[1 - side])

    def match(self, attributes: Mapping[str, Value], limits: AttributeLimits, keys: list[K]) -> None:
        """Append the keys that match (see `Block.match`)."""
        place = self._root
        ahead: list[Fork[K] | Block[K]] = []
        while True:
            while isinstance(place, Fork):
                attribute, end, value = place.division
                place, beyond = place.sides
                if limits.pair(attribute)[end] > value:
                    ahead.append(beyond)
            place.match(attributes, limits, keys)
            if not ahead:
                return
            place = ahead.pop()

    def _descend(self, conjunction: Conjunction) -> tuple[list[tuple[Fork[K], int]], Block[K]]:
        """The block that holds such a subscription, and the forks on the path with the sides taken."""
        path: list[tuple[Fork[K], int]] = []
        place = self._root
        while isinstance(place, Fork):
            side = place.side_of(conjunction)
            path.append((place, side))
            place = place.sides[side]
        return path, place

    def _replace(self, path: list[tuple[Fork[K], int]], place: Fork[K] | Block[K]) -> None:
        """Replaces the node at the end of a path."""
        if path:
            fork, side = path[-1]
            fork.sides[side] = place
        else:
            self._root = place
