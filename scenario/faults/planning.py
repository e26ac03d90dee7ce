"""Planning of faults: a schedule of concrete brokers, links and times, the same for the same overlay and seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, takewhile
from typing import Protocol

from record.time_units import SECOND
from scenario.faults.conditions import Condition, Down, Target
from scenario.faults.programs import Begin, Hold, Lift, Program, leaves, unfold
from scenario.faults.roles import Demand, LinkEnds
from scenario.faults.target_words import TargetError
from scenario.faults.targets import Targets
from scenario.faults.times import CountReached, Phase, When
from topology.link_properties import BrokerId, LinkDirection
from topology.model import Overlay
from topology.sites import Site

ROAMING = "clients.roaming"
"""Place in a scenario of moves that are drawn."""


class Fault(Protocol):
    """One entry of a scenario's `faults`."""

    @property
    def verb(self) -> str:
        """The field that names the fault, for messages."""

    @property
    def when(self) -> When: ...

    def program(self, targets: Targets) -> Program:
        """Conditions and times of the fault. Raises `TargetError`."""


class FaultError(Exception):
    """A fault that cannot be on this overlay: which entry, which of its fields, and why."""

    def __init__(self, index: int, field: str, message: str) -> None:
        super().__init__(f"faults[{index}].{field}: {message}")
        self.index = index
        self.field = field
        self.message = message


@dataclass(frozen=True, slots=True)
class ScheduledFault:
    """A fault that starts at a moment, in nanoseconds from the start of the join phase, or at a count."""

    start: int | CountReached
    program: Program
    name: str
    """Place of the fault in the scenario: `faults[2].kill`, `clients.roaming`."""


@dataclass(frozen=True, slots=True)
class FaultSchedule:
    """All faults of a variant, resolved."""

    entries: tuple[ScheduledFault, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.entries)

    @property
    def conditions(self) -> Iterator[tuple[ScheduledFault, Condition]]:
        """Every condition that can come to hold, with the entry that begins it."""
        for entry in self.entries:
            for leaf in leaves(entry.program):
                if isinstance(leaf, Hold):
                    for condition in leaf.conditions:
                        yield entry, condition

    @property
    def brokers(self) -> frozenset[BrokerId]:
        """Brokers that a fault hits."""
        return frozenset(condition.target for _, condition in self.conditions if isinstance(condition.target, str))

    def starts(self, seconds: float) -> dict[BrokerId, int]:
        """The number of times that each broker starts within so many seconds since the start of the join phase, of
        brokers that start more than once."""
        end = round(seconds * SECOND)
        ending = {id(entry) for entry, condition in self.conditions if isinstance(condition, Down)}
        downs = Counter(
            condition.target
            for entry in self.entries
            if id(entry) in ending
            for _, change in takewhile(lambda step: step[0] <= end, unfold(entry.program, _earliest(entry), count()))
            if isinstance(change, Begin)
            for condition in change.conditions
            if isinstance(condition, Down)
        )
        return {broker: 1 + times for broker, times in sorted(downs.items())}

    @property
    def links(self) -> frozenset[frozenset[BrokerId]]:
        """Links that a fault hits, by their ends."""
        targets = (condition.target for _, condition in self.conditions)
        return frozenset(frozenset((hit.source, hit.target)) for hit in targets if isinstance(hit, LinkDirection))


def plan(
    faults: Sequence[Fault],
    overlay: Overlay,
    *,
    join: float,
    run: float,
    seed: int,
    demand: Demand | None = None,
    later: Sequence[LinkEnds] = (),
    sites: Sequence[Site] = (),
    roaming: Sequence[Fault] = (),
) -> FaultSchedule:
    """Resolves targets and times. `join` and `run` are how long these phases last, in seconds.

    `later` are pairs of brokers that the overlay links at a later time (`Evolution.later_pairs`), `sites` the hosts of
    clients, `roaming` the moves of these that were drawn; they come behind the faults of the scenario.

    Raises `FaultError` for a target that the overlay does not have, a time outside the two phases, and for a heal of
    what no fault of the scenario brings about.
    """
    targets = Targets(overlay, seed, demand, later=later, sites=sites)
    entries = []
    for index, fault in enumerate((*faults, *roaming)):
        targets.begin(index)
        start = _start(index, fault, join, run)
        try:
            program = fault.program(targets)
        except TargetError as error:
            raise FaultError(index, error.field or fault.verb, str(error)) from error
        name = f"faults[{index}].{fault.verb}" if index < len(faults) else ROAMING
        entries.append(ScheduledFault(start, program, name))
    schedule = FaultSchedule(tuple(entries))
    _require_something_to_heal(faults, schedule)
    return schedule


def _start(index: int, fault: Fault, join: float, run: float) -> int | CountReached:
    when = fault.when
    if isinstance(when, CountReached):
        return when
    seconds = when.seconds + (join if when.phase is Phase.RUN else 0.0)
    if seconds >= join + run:
        raise FaultError(
            index,
            "at",
            f"{seconds:g} s after the start, but all faults end with the run phase, at {join + run:g} s",
        )
    return round(seconds * SECOND)


def _require_something_to_heal(faults: Sequence[Fault], schedule: FaultSchedule) -> None:
    wrong = [condition for _, condition in schedule.conditions]
    for index, (fault, entry) in enumerate(zip(faults, schedule.entries, strict=False)):  # drawn moves heal nothing
        for leaf in leaves(entry.program):
            if isinstance(leaf, Lift) and (idle := _idle(leaf, wrong)):
                raise FaultError(index, fault.verb, f"nothing to heal: no fault of this scenario is to hit {idle} so")


def _idle(lift: Lift, wrong: Iterable[Condition]) -> str:
    """The targets for which a lift can never have anything to do, in words."""
    of_kind: set[Target] = {
        condition.target for condition in wrong if lift.kind is None or isinstance(condition, lift.kind)
    }
    if lift.targets is None:
        return "" if of_kind else "anything"
    return ", ".join(sorted(str(target) for target in lift.targets - of_kind))


def _earliest(entry: ScheduledFault) -> int:
    return entry.start if isinstance(entry.start, int) else 0
