"""The generator of each kind of workload; all that it generates is determined by the scenario's seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from scenario.model import Scenario
from scenario.sections.messages import Problem
from scenario.sections.workload import (
    FileWorkload,
    IntegersWorkload,
    PatternsWorkload,
    QuotesWorkload,
    TopicsWorkload,
    WorkloadKind,
)
from scenario.workload import integers, patterns, topics
from scenario.workload.bounds import subscription_problems
from scenario.workload.explicit import explicit_operations
from scenario.workload.file import population as file
from scenario.workload.population import Population
from scenario.workload.quotes import population as quotes
from scenario.workload.sites import homes_at_sites, sites_of
from scenario.workload.workload import Workload
from topology.model import Overlay
from topology.sites import Site


@dataclass(frozen=True, slots=True)
class Generator:
    """The functions that one kind of workload consists of. Both take its section, the scenario and the overlay."""

    populate: Callable[[Any, Scenario, Overlay], Population]
    """The generated clients. Raises `ScenarioError` for files that cannot be read."""
    problems: Callable[[Any, Scenario, Overlay], Iterator[Problem]]
    """Contradictions between a section that is valid on its own and the rest of the scenario; paths begin with
    `workload`."""


GENERATORS: Mapping[type[WorkloadKind], Generator] = {
    QuotesWorkload: Generator(quotes.populate, quotes.problems),
    IntegersWorkload: Generator(integers.populate, integers.problems),
    TopicsWorkload: Generator(topics.populate, topics.problems),
    PatternsWorkload: Generator(patterns.populate, patterns.problems),
    FileWorkload: Generator(file.populate, file.problems),
}
"""The generator of each kind, by its section."""


def generate(scenario: Scenario, overlay: Overlay) -> Workload:
    """The workload of a scenario (or of one of its variants) on its overlay, determined by the seed.

    Raises `ScenarioError` for quotes or operations that cannot be read.
    """
    section, timeline = scenario.workload, scenario.timeline
    foreseen = scenario.model_copy(update={"timeline": timeline.foreseen})
    population = GENERATORS[type(section)].populate(section, foreseen, overlay)
    written = explicit_operations(section.operations, scenario.brokers.limits.detection_window)
    programs = frozenset() if scenario.clients is None else frozenset(scenario.clients.program_of)
    return Workload(foreseen, population, written, timeline.run, homes_at_sites(scenario), programs)


def problems(scenario: Scenario, overlay: Overlay) -> Iterator[Problem]:
    """Contradictions between the generated part of the workload and the rest of the scenario."""
    section = scenario.workload
    found = list(GENERATORS[type(section)].problems(section, scenario, overlay))
    yield from found
    if not found and section.churn is not None:
        generated = GENERATORS[type(section)].populate(section, scenario, overlay)
        churn, lasting = section.churn, len(generated.lasting_subscriptions())
        again = lasting * churn.share * scenario.timeline.run / churn.every
        yield from subscription_problems(("workload", "churn", "every"), again)


def planned_sites(scenario: Scenario, overlay: Overlay) -> tuple[Site, ...]:
    """The sites of a checked scenario, with the clients on each; none where clients are beside their brokers."""
    return () if scenario.clients is None else sites_of(scenario, overlay, generate(scenario, overlay).clients)
