"""The generated clients of a workload: a contract that each kind of workload fulfils in its own way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, overload

from scenario.workload.operations import PlannedOperation
from topology.link_properties import BrokerId


@dataclass(frozen=True, slots=True)
class Expected:
    """Expected amounts over a whole run. The delivery verdict does not use them."""

    advertisements: int
    subscriptions: int
    publications: float
    notifications: float


class Population(Protocol):
    """Generated clients. They hold what decides their operations, and make each operation when it is asked for."""

    @property
    def publishers(self) -> Mapping[str, BrokerId]:
        """The broker of each client that publishes."""

    @property
    def subscribers(self) -> Mapping[str, BrokerId]:
        """The broker of each client that subscribes."""

    def advertisements(self) -> Sequence[PlannedOperation]:
        """Advertisements of the join phase, all at time 0, which the workload replaces."""

    def subscriptions(self) -> Sequence[PlannedOperation]:
        """Subscriptions of the join phase, all at time 0, which the workload replaces."""

    def lasting_subscriptions(self) -> Sequence[PlannedOperation]:
        """All of `subscriptions` but those which the population itself withdraws."""

    def paced(self, begin: int, load: float) -> Iterator[PlannedOperation]:
        """Publications, and what goes with their pace, during `load` seconds from `begin` (nanoseconds) on.

        They are sorted by time, which is load time where the workload has a profile (`scenario.workload.pace`).
        """

    def changes(self, begin: int, run: float) -> Iterator[PlannedOperation]:
        """Other operations of a run phase that starts at `begin` and lasts `run` seconds, sorted by time."""

    def expected(self, run: float) -> Expected:
        """Expected amounts with a run phase of `run` seconds."""


@dataclass(frozen=True, slots=True)
class OperationSequence(Sequence[PlannedOperation]):
    """A sequence of operations of which each is made when it is read, so that a million of them take no memory."""

    length: int
    make: Callable[[int], PlannedOperation]
    """The operation with this number, from 0."""

    def __len__(self) -> int:
        return self.length

    @overload
    def __getitem__(self, index: int) -> PlannedOperation: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[PlannedOperation]: ...
    def __getitem__(self, index: int | slice) -> PlannedOperation | Sequence[PlannedOperation]:
        numbers = range(self.length)[index]
        return [self.make(number) for number in numbers] if isinstance(numbers, range) else self.make(numbers)
