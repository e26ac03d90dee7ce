"""Drawing of a whole run around a scenario. It is a scenario like any other, with every operation written out."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from scenario.checks import OverlayBuilder, problems
from scenario.model import Scenario
from scenario.sections.topology import TopologyKind, TopologySection
from studies.exploration.draws import magnitude, seconds, written
from studies.exploration.link_faults import LONGEST
from studies.exploration.operations import Course, OperationsDraw
from studies.exploration.overlays import drawn_topology, slowest_link
from studies.exploration.schedules import Schedules, Struck
from studies.exploration.settings import drawn_brokers, drawn_options
from studies.exploration.sites import drawn_clients, sites_in
from studies.exploration.surroundings import Surroundings
from topology.link_properties import OverlayError

NAME: Final = "explored"
DRAIN: Final = 600
"""Seconds in which messages have to come to rest after the last fault is healed. The back-off of a link's transport
alone is up to two minutes; a run ends once all is quiet."""
WITHDRAW: Final = 600
"""Seconds in which brokers have to forget clients that have left."""
_LONG = 0.1
"""Share of the runs that are long enough for faults of any length."""
_MOST_DRAWS = 200
_TOPOLOGY: TypeAdapter[TopologyKind] = TypeAdapter(TopologySection)


class Drawing:
    """Draws runs around a scenario."""

    def __init__(self, surroundings: Surroundings) -> None:
        self.surroundings = surroundings

    def drawn(self, random: Random) -> Scenario:
        """A run that the checks of scenarios accept. What they refuse is drawn again.

        Raises `RuntimeError` where they refuse everything.
        """
        for _ in range(_MOST_DRAWS):
            scenario = accepted(self._fields(random))
            if scenario is not None:
                return scenario
        raise RuntimeError("no run can be drawn around this scenario: the checks of scenarios refuse each one")

    def _fields(self, random: Random) -> Mapping[str, Any]:
        surroundings, seed = self.surroundings, random.randrange(1 << 31)
        topology = drawn_topology(surroundings.shape, random)
        overlay = _TOPOLOGY.validate_python(topology).build(NAME, seed)
        brokers = [broker.id for broker in overlay.brokers]
        is_long = random.random() < _LONG
        run = magnitude(random, 12, LONGEST) if is_long else random.randint(2, 12)
        course = Course(seconds(random.choice((3, 3, 8))), seconds(run))
        options = drawn_options(surroundings, random)
        attribute = str(options.get("attribute") or "x")
        operations = OperationsDraw(random, brokers, course, attribute, surroundings.composites).drawn()
        clients = drawn_clients(operations, brokers, random)
        struck = Struck(brokers, [(link.a, link.b) for link in overlay.links], tuple(sites_in(clients)))
        schedules = Schedules.of(random, surroundings, struck, course.end)
        return {
            "name": NAME,
            "topology": topology,
            "routing": {"protocol": surroundings.protocol, **options},
            "workload": {"operations": [operation for _, operation in operations]},
            "timeline": {
                "join": written(course.join),
                "run": written(course.run),
                "drain": f"{DRAIN}s",
                "withdraw": f"{WITHDRAW}s",
            },
            "brokers": drawn_brokers(surroundings, random, slowest_link(overlay), clients),
            "clients": clients,
            "faults": schedules.drawn(course, operations),
            "seed": seed,
        }


def accepted(fields: Mapping[str, Any]) -> Scenario | None:
    """The scenario with these fields, as if they stood in a file; None if it cannot be run."""
    try:
        scenario = Scenario.model_validate(fields)
        return scenario if is_sound(scenario) else None
    except (ValidationError, OverlayError):
        return None


def is_sound(scenario: Scenario) -> bool:
    """True when the checks of scenarios find nothing wrong."""
    return next(problems(scenario, OverlayBuilder()), None) is None
