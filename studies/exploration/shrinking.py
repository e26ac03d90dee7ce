"""Shrinking of a finding: the same defect with less of everything, and with round times.

Left out are, one kind after another: faults, sites, clients, operations, brokers, altered bounds, jitter and loss of
links, and whatever makes a move or an access link special. Then times and delays are made round. Whatever still shows
the defect is kept, and is tried on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import networkx as nx
from pydantic import ValidationError

from scenario.model import Routing, Scenario
from scenario.sections.brokers import BrokerLimits, Brokers
from scenario.sections.faults import FaultItem
from scenario.sections.topology.explicit import ExplicitTopology, LinkItem
from scenario.sections.topology.links import LinkSection
from scenario.sections.units import DURATION
from scenario.sections.workload import OperationItem
from studies.exploration.drawing import is_sound
from studies.exploration.judged_run import JudgedRun
from studies.exploration.smaller_sites import doing, fewer_sites, named_by, plainer_sites, simpler_moves, without_sites
from studies.exploration.surroundings import Surroundings
from studies.smallest_part import smallest

MOST_TRIES = 250
"""Runs that a finding is shrunk by. One of a usual size takes fewer."""
_ROUND = (1.0, 0.1, 0.01, 0.001, 0.000_001)
"""Seconds that times are made multiples of, the roundest first."""

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Shrunk:
    """A finding after it was shrunk."""

    scenario: Scenario
    run: JudgedRun
    tries: int


@dataclass(slots=True)
class Shrinking:
    """Shrinks one scenario to one that still shows a kind of defect."""

    surroundings: Surroundings
    kind: str
    judged: Callable[[Scenario], JudgedRun]
    tries: int = 0
    _best: tuple[Scenario, JudgedRun] | None = field(default=None, init=False)

    def shrunk(self, scenario: Scenario) -> Shrunk | None:
        """The smallest scenario found that shows the defect; None if the scenario itself does not show it."""
        if not self._shows(scenario):
            return None
        for step in (
            self._fewer_faults, self._fewer_sites, self._fewer_clients, self._fewer_operations, self._fewer_brokers,
            self._usual_bounds, self._steady_links, self._plainer_sites, self._fewer_faults,
            self._round_times, self._round_delays,
        ):  # fmt: skip
            step()
        found, run = self._smallest
        return Shrunk(found, run, self.tries)

    @property
    def _smallest(self) -> tuple[Scenario, JudgedRun]:
        assert self._best is not None
        return self._best

    def _shows(self, scenario: Scenario) -> bool:
        """True when a scenario shows the defect; it is the smallest one so far then."""
        if self.tries >= MOST_TRIES or not is_sound(scenario):
            return False
        self.tries += 1
        run = self.judged(scenario)
        if self.kind not in run.kinds or not _is_valid(scenario):
            return False
        self._best = scenario, run
        return True

    def _try(self, **changes: Any) -> bool:
        """Tries the smallest one with some of its sections changed."""
        scenario, _ = self._smallest
        changed = scenario.model_copy(update=changes)
        return changed != scenario and self._shows(changed)

    def _fewest(self, items: Sequence[_Item], made: Callable[[Sequence[_Item]], Scenario]) -> None:
        """Leaves out as many items as possible, of which `made` makes a scenario."""
        if items:
            smallest(items, lambda chosen: len(chosen) == len(items) or self._shows(made(chosen)))

    def _fewer_faults(self) -> None:
        scenario, _ = self._smallest
        self._fewest(scenario.faults, lambda faults: scenario.model_copy(update={"faults": tuple(faults)}))

    def _fewer_sites(self) -> None:
        self._one_by_one(fewer_sites)

    def _plainer_sites(self) -> None:
        self._one_by_one(fewer_sites)
        self._one_by_one(simpler_moves)
        self._one_by_one(plainer_sites)

    def _one_by_one(self, steps: Callable[[Scenario], Iterable[Scenario]]) -> None:
        """Goes on from the first of the smaller ones that shows the defect, for as long as there is any."""
        while any(self._shows(smaller) for smaller in steps(self._smallest[0])):
            pass

    def _fewer_clients(self) -> None:
        operations = self._smallest[0].workload.operations
        clients = list(dict.fromkeys(item.client for item in operations))
        self._fewest(clients, lambda chosen: self._doing([item for item in operations if item.client in set(chosen)]))

    def _fewer_operations(self) -> None:
        self._fewest(self._smallest[0].workload.operations, self._doing)

    def _doing(self, operations: Sequence[OperationItem]) -> Scenario:
        return doing(self._smallest[0], tuple(operations))

    def _fewer_brokers(self) -> None:
        """Leaves brokers out one by one, where an overlay is written out and stays connected."""
        topology = self._smallest[0].topology
        if not isinstance(topology, ExplicitTopology):
            return
        for broker in sorted({end for link in topology.links for end in link.between}):
            scenario, _ = self._smallest
            topology = scenario.topology
            assert isinstance(topology, ExplicitTopology)
            left = tuple(link for link in topology.links if broker not in link.between)
            graph = nx.Graph([link.between for link in left])
            if left and nx.is_connected(graph):
                self._shows(_without(scenario, broker, left))

    def _usual_bounds(self) -> None:
        """Puts bounds and options back to those of the scenario, all at once or one by one."""
        scenario, usual = self._smallest[0], self.surroundings
        if self._try(brokers=Brokers(), routing=Routing.model_validate({"protocol": usual.protocol, **usual.options})):
            return
        for name in sorted(scenario.brokers.limits.model_fields_set):
            limits = self._smallest[0].brokers.limits
            kept = {each: getattr(limits, each) for each in limits.model_fields_set - {name}}
            plain = self._smallest[0].brokers.model_copy(update={"limits": BrokerLimits.model_construct(**kept)})
            self._try(brokers=plain)
        self._try(brokers=Brokers(limits=self._smallest[0].brokers.limits))
        for name in sorted(scenario.routing.options):
            options = dict(self._smallest[0].routing.options)
            former = options.pop(name)
            if name in usual.options:
                options[name] = usual.options[name]
            if options.get(name) != former:
                self._try(routing=Routing.model_validate({"protocol": usual.protocol, **options}))

    def _steady_links(self) -> None:
        """Takes jitter and loss from all links."""
        for name in ("jitter", "loss"):
            topology = self._smallest[0].topology
            if isinstance(topology, ExplicitTopology):
                self._try(topology=topology.model_copy(update={"links": tuple(_less(topology.links, name))}))
            else:
                link = topology.link
                given = {each: getattr(link, each) for each in link.model_fields_set - {name}}
                self._try(topology=topology.model_copy(update={"link": LinkSection.model_construct(**given)}))

    def _round_times(self) -> None:
        """Makes times of operations and faults round, all of them or one by one, as round as the defect bears."""
        for unit in _ROUND:
            if self._shows(_rounded(self._smallest[0], unit)):
                return
        for place in range(len(self._smallest[0].faults)):
            for unit in _ROUND:
                faults = list(self._smallest[0].faults)
                rounded = _rounded_fault(faults[place], unit)
                if rounded is None or rounded == faults[place]:
                    continue
                faults[place] = rounded
                if self._try(faults=tuple(faults)):
                    break

    def _round_delays(self) -> None:
        topology = self._smallest[0].topology
        if not isinstance(topology, ExplicitTopology):
            return
        for place in range(len(topology.links)):
            topology = self._smallest[0].topology
            assert isinstance(topology, ExplicitTopology)
            links = list(topology.links)
            fields = links[place].model_dump(mode="json", exclude_unset=True)
            delay = float(f"{links[place].delay.low:.1g}")
            links[place] = LinkItem.model_validate({**fields, "delay": DURATION.format(delay)})
            self._try(topology=topology.model_copy(update={"links": tuple(links)}))


def _without(scenario: Scenario, broker: str, links: Sequence[LinkItem]) -> Scenario:
    """The scenario without a broker, its clients and sites, and the faults that name it."""
    sites = {} if scenario.clients is None else scenario.clients.sites
    scenario = without_sites(scenario, {name for name, site in sites.items() if site.broker == broker})
    scenario = doing(scenario, tuple(item for item in scenario.workload.operations if item.broker != broker))
    faults = tuple(fault for fault in scenario.faults if broker not in named_by(fault))
    topology = scenario.topology.model_copy(update={"links": tuple(links)})
    return scenario.model_copy(update={"topology": topology, "faults": faults})


def _less(links: Sequence[LinkItem], name: str) -> Iterator[LinkItem]:
    """The links without a property."""
    for link in links:
        fields = link.model_dump(mode="json", exclude_unset=True)
        fields.pop(name, None)
        yield LinkItem.model_validate(fields)


def _rounded(scenario: Scenario, unit: float) -> Scenario:
    """The scenario with times that are multiples of a unit; operations keep their order."""
    operations = tuple(
        item.model_copy(update={"at": _multiple(item.at, unit)}) for item in scenario.workload.operations
    )
    faults = tuple(_rounded_fault(fault, unit) or fault for fault in scenario.faults)
    workload = scenario.workload.model_copy(update={"operations": operations})
    return scenario.model_copy(update={"workload": workload, "faults": faults})


def _rounded_fault(fault: FaultItem, unit: float) -> FaultItem | None:
    """The fault with a round time and duration; None where that makes none."""
    fields = fault.model_dump(mode="json", by_alias=True, exclude_none=True)
    if fault.at is not None:
        fields["at"] = f"{fault.at.phase.value}+{DURATION.format(_multiple(fault.at.seconds, unit))}"
    if fault.lasts is not None:
        fields["for"] = DURATION.format(max(_multiple(fault.lasts, unit), unit))
    try:
        return FaultItem.model_validate(fields)
    except ValidationError:
        return None


def _is_valid(scenario: Scenario) -> bool:
    """True when the file of a scenario can be read again. Parts that were left out were not checked with the others."""
    try:
        Scenario.model_validate(scenario.resolved())
    except ValidationError:
        return False
    return True


def _multiple(number: float, unit: float) -> float:
    return float(f"{round(number / unit) * unit:.9g}")
