"""The overlay and the clients of a run, as a protocol may look at them once, before brokers start."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from broker_service.language import Advertisement, Subscription
from broker_service.messages import BrokerId


class PlannedLink(NamedTuple):
    """A link between two brokers. Delays are in seconds, as brokers measure them."""

    a: BrokerId
    b: BrokerId
    delay: float
    """Delay from `a` to `b`."""
    reverse_delay: float
    """Delay from `b` to `a`."""


class PlannedMesh(Collection[PlannedLink]):
    """The links of a full mesh, made while they are iterated over, in the order of their brokers."""

    def __init__(self, brokers: Sequence[BrokerId], delays: NDArray[np.float64]) -> None:
        """`delays` are the seconds from each broker (a row) to each other."""
        self.brokers = brokers
        self.round_trips: NDArray[np.float64] = delays + delays.T
        """Seconds between each two brokers, a row and a column for each."""
        self._delays = delays

    def __len__(self) -> int:
        return len(self.brokers) * (len(self.brokers) - 1) // 2

    def __iter__(self) -> Iterator[PlannedLink]:
        return (self._link(row, column) for row, column in combinations(range(len(self.brokers)), 2))

    def __contains__(self, link: object) -> bool:
        return any(link == other for other in self)

    def _link(self, row: int, column: int) -> PlannedLink:
        delays = float(self._delays[row, column]), float(self._delays[column, row])
        return PlannedLink(self.brokers[row], self.brokers[column], *delays)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    """The input of `ProtocolOptions.prepare`."""

    brokers: Mapping[BrokerId, Mapping[str, object]]
    """Overlay attributes of every broker."""
    links: Collection[PlannedLink]
    """May be iterated over repeatedly. A `PlannedMesh` where any two brokers of a large overlay are linked."""
    advertisements: Mapping[BrokerId, Sequence[Advertisement]]
    subscriptions: Mapping[BrokerId, Sequence[Subscription]]
    """Subscriptions by the broker of their client: of clients that are there from the beginning, and those written out
    in the scenario, whenever they are issued and withdrawn."""
    seed: int
    """Seed of the run, for random choices: the same input must give the same result."""
