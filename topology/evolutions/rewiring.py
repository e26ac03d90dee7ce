"""Rewiring: at intervals a link vanishes, and some time later another one appears elsewhere.

The rules are those of semi-probabilistic routing (section 4, "Dynamic network"), for a wanted degree of all brokers:

1. A link may vanish if both its ends have at least the wanted degree. All such links are equally likely.
2. The new link joins two brokers that have at most the wanted degree and share no link, but not the two that have just
   lost theirs. All such pairs are equally likely. It comes exactly `repaired_after` later.

With `Toward.BELOW_DEGREE`, one of the two at least has less than the wanted degree, while such a broker may get a link:
another reading of the paper's aim of a steady degree, by which fewer brokers have a link more or less.

So a broker that starts with the wanted degree keeps it, or has one more or less. A link whose loss would disconnect the
overlay stays, unless the overlay may be partitioned.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

import networkx as nx

from topology.evolutions.evolution import MOST_CHANGES, Appears, Change, Evolution, Vanishes
from topology.link_properties import BrokerId, OverlayError
from topology.model import LinkSource, Overlay

_TRIES = 200
"""Random pairs looked at before all possible ones are listed."""
_MOST_CHOICES = 300_000_000
"""Links looked at in all choices of one that vanishes: a bound on time, some ten seconds."""
_Pair = tuple[BrokerId, BrokerId]


class Toward(StrEnum):
    """Brokers among which one end of a new link is drawn."""

    AT_MOST_DEGREE = "at-most-degree"
    BELOW_DEGREE = "below-degree"


@dataclass(frozen=True, slots=True)
class Rewiring:
    """The rate of changes and the degree that they keep. Times are in seconds."""

    every: float
    """Time from one lost link to the next."""
    repaired_after: float
    """Time from a lost link to the one that replaces it."""
    degree: int
    """Wanted number of links of a broker."""
    toward: Toward = Toward.AT_MOST_DEGREE

    def __post_init__(self) -> None:
        if self.every <= 0:
            raise OverlayError("`every` must be more than 0")
        if self.degree < 1:
            raise OverlayError(f"a broker's wanted degree is 1 at least, not {self.degree}")


def rewired(start: Overlay, rewiring: Rewiring, links: LinkSource, end: float, rng: random.Random) -> Evolution:
    """Changes of an overlay until `end` seconds after its start; new links have the properties that `links` gives.

    Raises `OverlayError` when no link may vanish at the beginning, no pair of brokers may be joined, or there are too
    many changes.
    """
    if 2 * end / rewiring.every > MOST_CHANGES:
        raise OverlayError(f"more than {MOST_CHANGES:,} changes of links: rewire less often, or for a shorter time")
    if end / rewiring.every * len(start.links) > _MOST_CHOICES:
        raise OverlayError(
            f"too many changes for an overlay of {len(start.links):,} links: rewire less often, or for a shorter time"
        )
    network = _Network(start, rewiring, rng)
    changes: list[Change] = []
    repairs: deque[tuple[float, _Pair]] = deque()
    for number in range(1, int(end / rewiring.every) + 1):
        at = number * rewiring.every
        while repairs and repairs[0][0] <= at:
            changes.append(_repaired(network, repairs, links))
        lost = network.lose()
        if lost is not None:
            changes.append(Vanishes(at, *lost))
            repairs.append((at + rewiring.repaired_after, lost))
        elif number == 1:
            raise OverlayError(
                f"no link may be rewired: none has both ends of degree {rewiring.degree} or more and is dispensable"
            )
    while repairs and repairs[0][0] <= end:
        changes.append(_repaired(network, repairs, links))
    return Evolution(start, tuple(changes))


def _repaired(network: _Network, repairs: deque[tuple[float, _Pair]], links: LinkSource) -> Appears:
    at, lost = repairs.popleft()
    return Appears(at, links.between(*network.join(lost)))


class _Network:
    """The links at some moment, with the draws of rules 1 and 2."""

    def __init__(self, start: Overlay, rewiring: Rewiring, rng: random.Random) -> None:
        self._graph: nx.Graph[BrokerId] = nx.Graph()
        self._graph.add_nodes_from(broker.id for broker in start.brokers)
        self._pairs: list[_Pair] = [(link.a, link.b) for link in start.links]
        self._graph.add_edges_from(self._pairs)
        self._degrees = dict(self._graph.degree)
        self._order = {broker: number for number, broker in enumerate(self._graph)}
        self._may_be_partitioned = start.may_be_partitioned
        self._degree = rewiring.degree
        self._toward = rewiring.toward
        self._rng = rng

    def lose(self) -> _Pair | None:
        """Removes a link by rule 1 and returns its ends; None when no link may vanish."""
        least, degrees = self._degree, self._degrees
        eligible = [n for n, (a, b) in enumerate(self._pairs) if degrees[a] >= least and degrees[b] >= least]
        while eligible:
            position = self._rng.randrange(len(eligible))
            a, b = self._pairs[eligible[position]]
            self._graph.remove_edge(a, b)
            if self._may_be_partitioned or nx.has_path(self._graph, a, b):
                del self._pairs[eligible[position]]
                self._count(a, b, -1)
                return a, b
            self._graph.add_edge(a, b)
            eligible[position] = eligible[-1]
            eligible.pop()
        return None

    def join(self, lost: _Pair) -> _Pair:
        """Adds a link by rule 2 and returns its ends, in the overlay's order. Raises `OverlayError`."""
        pair = self._drawn_pair(lost)
        if pair is None:
            raise OverlayError(
                f"no two brokers of degree {self._degree} or less may be linked after {lost[0]} - {lost[1]} vanished: "
                "use more brokers, or a lower degree"
            )
        self._graph.add_edge(*pair)
        self._count(*pair, 1)
        self._pairs.append(pair)
        return pair

    def _count(self, a: BrokerId, b: BrokerId, more: int) -> None:
        self._degrees[a] += more
        self._degrees[b] += more

    def _drawn_pair(self, lost: _Pair) -> _Pair | None:
        free = [broker for broker, degree in self._degrees.items() if degree <= self._degree]
        if len(free) < 2:
            return None
        wanting = self._wanting(free)
        for _ in range(_TRIES):
            a, b = sorted(self._rng.sample(free, 2), key=self._order.__getitem__)
            if not wanting.isdisjoint((a, b)) and self._may_be_linked(a, b, lost):
                return a, b
        possible = list(self._possible(free, lost))
        wanted = [pair for pair in possible if not wanting.isdisjoint(pair)] or possible
        return self._rng.choice(wanted) if wanted else None

    def _wanting(self, free: list[BrokerId]) -> set[BrokerId]:
        """The brokers of which a new link has one at least, where it can."""
        below = {broker for broker in free if self._degrees[broker] < self._degree}
        return below if below and self._toward is Toward.BELOW_DEGREE else set(free)

    def _possible(self, free: list[BrokerId], lost: _Pair) -> Iterator[_Pair]:
        return ((a, b) for a, b in combinations(free, 2) if self._may_be_linked(a, b, lost))

    def _may_be_linked(self, a: BrokerId, b: BrokerId, lost: _Pair) -> bool:
        return not self._graph.has_edge(a, b) and {a, b} != set(lost)
