"""Findings: defects that runs showed, each with the smallest run that shows it, and its cause as far as that tells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scenario.model import Scenario
from scenario.sections.brokers import Brokers
from scenario.sections.faults import FaultItem
from scenario.sections.units import DURATION
from studies.exploration.draws import seconds
from studies.exploration.judged_run import Defect
from studies.exploration.moments import Moment
from studies.exploration.surroundings import Surroundings

_NEAR = 1.0
"""Seconds from a record within which a fault is told by it."""


@dataclass(frozen=True, slots=True)
class Cause:
    """The likeness of two findings: the defect, the kinds of faults it takes, and the bounds it is found under."""

    kind: str
    faults: tuple[str, ...]
    altered: tuple[str, ...]

    @classmethod
    def of(cls, kind: str, scenario: Scenario, surroundings: Surroundings) -> Cause:
        """The cause, by what is left of a scenario that was shrunk."""
        verbs = sorted({fault.verb for fault in scenario.faults})
        return cls(kind, tuple(verbs), tuple(altered_bounds(scenario, surroundings)))

    def in_words(self) -> str:
        """One line."""
        words = f"{self.kind}, with {' and '.join(self.faults)}" if self.faults else f"{self.kind}, without a fault"
        return f"{words}, under altered {', '.join(self.altered)}" if self.altered else words


@dataclass(slots=True)
class Finding:
    """A defect with its cause, and the smallest run that shows it."""

    name: str
    cause: Cause
    number: int
    """The number of the run that showed it first."""
    scenario: Scenario
    found: Scenario
    """The scenario as it was before it was shrunk."""
    defects: tuple[Defect, ...]
    moments: tuple[str, ...] = ()
    """Sentences on the moments of its faults."""
    case: str = ""
    """The text of a conformance case that fails as well; empty where there is none."""
    seen: int = 1
    """The number of runs with the same cause, of those that were shrunk."""
    confirmed: str = ""
    """A sentence on the tries on real brokers; empty where there were none."""


def altered_bounds(scenario: Scenario, surroundings: Surroundings) -> Iterator[str]:
    """Bounds and options that are not those that the exploration began with, and their values."""
    brokers, usual = (section.model_dump(mode="json") for section in (scenario.brokers, Brokers()))
    for here, there in ((brokers.pop("limits"), usual.pop("limits")), (brokers, usual)):
        yield from (f"{name} {value}" for name, value in here.items() if value != there[name])
    for name, value in scenario.routing.options.items():
        if surroundings.options.get(name) != value:
            yield f"{name} {value}"


def moments_in_words(scenario: Scenario, moments: tuple[Moment, ...]) -> Iterator[str]:
    """A sentence on each fault that is near a moment of the run's log, other than faults."""
    told = [moment for moment in moments if not moment.of_fault]
    for fault in scenario.faults:
        if fault.at is None:
            continue
        at = seconds(fault.at.seconds + (scenario.timeline.join if fault.at.phase == "run" else 0.0))
        near = min(told, key=lambda moment: abs(moment.at - at), default=None)
        if near is None or abs(near.at - at) > seconds(_NEAR):
            continue
        apart = DURATION.format(abs(at - near.at) / 1e9)
        when = "when" if at == near.at else f"{apart} {'before' if at < near.at else 'after'}"
        yield f"{fault.verb} of {targets_of(fault)} {when} {near.words}"


def targets_of(fault: FaultItem) -> str:
    """The brokers, links, sites or clients that a fault befalls."""
    return _listed(fault.model_dump(mode="json", by_alias=True)[fault.verb])


def _listed(named: object) -> str:
    if isinstance(named, list | tuple):
        return ", ".join(map(_listed, named))
    return str(named)
