"""Changes of a run that showed something new: faults and operations at moments of its log, and other details."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from scenario.model import Scenario
from scenario.sections.brokers import Brokers
from scenario.sections.faults import FaultItem
from scenario.sections.workload import OperationItem
from studies.exploration.drawing import is_sound
from studies.exploration.draws import seconds, written
from studies.exploration.moments import Moment
from studies.exploration.operations import Course
from studies.exploration.overlays import slowest_link
from studies.exploration.schedules import Schedules, Struck
from studies.exploration.settings import drawn_brokers
from studies.exploration.sites import sites_in
from studies.exploration.surroundings import Surroundings

MOST_OPERATIONS = 150
MOST_FAULTS = 8
_MOST_CHANGES = 3
_TRIES = 10


@dataclass(frozen=True, slots=True)
class Parent:
    """A run to be changed."""

    scenario: Scenario
    moments: tuple[Moment, ...]


class Mutation:
    """Changes of one run, drawn by one source of randomness."""

    def __init__(self, parent: Parent, surroundings: Surroundings, random: Random) -> None:
        self._parent, self._surroundings, self._random = parent, surroundings, random
        scenario = parent.scenario
        timeline, overlay = scenario.timeline, scenario.overlay()
        self._course = Course(seconds(timeline.join), seconds(timeline.run))
        brokers = [broker.id for broker in overlay.brokers]
        links = [(link.a, link.b) for link in overlay.links]
        self._slowest = slowest_link(overlay)
        struck = Struck(brokers, links, tuple(sites_in(scenario.clients, scenario.faults)))
        self._schedules = Schedules.of(random, surroundings, struck, self._course.end)

    def mutated(self) -> Scenario | None:
        """The run with one change or several; None where the checks of scenarios refuse them."""
        for _ in range(_TRIES):
            scenario = self._parent.scenario
            for _ in range(self._random.randint(1, _MOST_CHANGES)):
                scenario = self._random.choice(self._changes())(scenario)
            if scenario != self._parent.scenario and is_sound(scenario):
                return scenario
        return None

    def _changes(self) -> Sequence[Callable[[Scenario], Scenario]]:
        return (
            self._fault_at_moment, self._fault_at_moment, self._fault_at_moment, self._moved_fault,
            self._other_fault, self._without_fault, self._operation_at_moment, self._operation_at_moment,
            self._other_seed, self._other_brokers,
        )  # fmt: skip

    def _time(self) -> tuple[int, Moment | None]:
        """A time in the run, at a moment of its log where it has one."""
        moment = self._random.choice(self._parent.moments) if self._parent.moments else None
        at = self._random.randint(0, self._course.end - 1) if moment is None else moment.nearby(self._random)
        return min(at, self._course.end - 1), moment

    def _fault_at_moment(self, scenario: Scenario) -> Scenario:
        """A fault more; half of the time it is on the broker or the link of the record."""
        at, moment = self._time()
        schedules = self._schedules
        if moment is not None and self._random.random() < 0.5:
            schedules = schedules.near(*moment.concerned)
        faults = (*scenario.faults, FaultItem.model_validate(schedules.one(at)))
        return _with_faults(scenario, faults[-MOST_FAULTS:])

    def _moved_fault(self, scenario: Scenario) -> Scenario:
        if not scenario.faults:
            return scenario
        place, (at, _) = self._random.randrange(len(scenario.faults)), self._time()
        fault = scenario.faults[place]
        fields = fault.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"at", "after"})
        faults = list(scenario.faults)
        faults[place] = FaultItem.model_validate({"at": written(at), **fields})
        return _with_faults(scenario, faults)

    def _other_fault(self, scenario: Scenario) -> Scenario:
        at, _ = self._time()
        return _with_faults(scenario, [*scenario.faults[:-1], FaultItem.model_validate(self._schedules.one(at))])

    def _without_fault(self, scenario: Scenario) -> Scenario:
        if not scenario.faults:
            return scenario
        place = self._random.randrange(len(scenario.faults))
        return _with_faults(scenario, [*scenario.faults[:place], *scenario.faults[place + 1 :]])

    def _operation_at_moment(self, scenario: Scenario) -> Scenario:
        """One of the run's operations, again or later."""
        at, _ = self._time()
        operations = list(scenario.workload.operations)
        item = self._random.choice(operations)
        fields: dict[str, Any] = item.model_dump(mode="json", exclude_none=True)
        if item.verb in ("publish", "unsubscribe", "unadvertise"):
            if len(operations) >= MOST_OPERATIONS:
                return scenario
        elif self._random.random() < 0.5:
            operations.remove(item)
        else:
            fields["id"] = f"{item.id}+{len(operations)}"
        operations.append(OperationItem.model_validate({**fields, "at": written(at)}))
        operations.sort(key=lambda one: one.at)
        workload = scenario.workload.model_copy(update={"operations": tuple(operations)})
        return scenario.model_copy(update={"workload": workload})

    def _other_seed(self, scenario: Scenario) -> Scenario:
        return scenario.model_copy(update={"seed": self._random.randrange(1 << 31)})

    def _other_brokers(self, scenario: Scenario) -> Scenario:
        drawn = Brokers.model_validate(drawn_brokers(self._surroundings, self._random, self._slowest, scenario.clients))
        return scenario.model_copy(update={"brokers": drawn})


def _with_faults(scenario: Scenario, faults: Sequence[FaultItem]) -> Scenario:
    return scenario.model_copy(update={"faults": tuple(faults)})
