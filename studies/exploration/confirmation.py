"""Confirmation of a finding on real brokers, whose work takes other times than in the simulator.

So a fault is told by a record instead of by its time: it comes as long after or before a record of a calm run on real
brokers as it came in the simulator. That is tried with several offsets, because no two real runs are alike. Where none
of them shows the defect, nothing is refuted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from scenario.model import Scenario
from scenario.sections.faults import FaultItem
from studies.exploration.draws import milliseconds, seconds, written
from studies.exploration.findings import Finding
from studies.exploration.judged_run import JudgedRun
from studies.exploration.moments import Moment, all_moments

OFFSETS: Final = (0, -1, 1, -3, 3, -10, 10, -30, 30, 100)
"""Milliseconds by which all faults of a try come later than at their records."""
LONGEST_REST: Final = 60.0
"""Seconds of the phases in which a real overlay comes to rest, at most; the time passes for real there."""

Judged = Callable[[Scenario], JudgedRun]


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The outcome of the tries."""

    confirmed: int
    """Tries that showed the defect."""
    tried: int
    refused: str = ""
    """The reason why the latest try that could not be made could not; empty where all were made."""

    def in_words(self) -> str:
        """One line."""
        words = f"confirmed {self.confirmed} of {self.tried} on real brokers"
        return f"{words}; others could not be tried: {self.refused}" if self.refused else words


def confirm(finding: Finding, simulated: Judged, real: Judged) -> Iterator[Confirmation]:
    """Tries a finding on real brokers; gives the outcome so far after each try."""
    scenario = _brief(finding.scenario)
    calm = scenario.model_copy(update={"faults": ()})
    there = real(calm)
    if there.refused:
        yield Confirmation(0, 0, there.refused)
        return
    times = {moment.words: moment.at for moment in all_moments(there.records, there.begin)}
    here = simulated(calm)
    told = list(all_moments(here.records, here.begin))
    confirmed, tried, refused = 0, 0, ""
    for offset in OFFSETS if scenario.faults else OFFSETS[:1] * len(OFFSETS):
        faults = tuple(_moved(fault, scenario, told, times, milliseconds(offset)) for fault in scenario.faults)
        run = real(scenario.model_copy(update={"faults": faults}))
        refused = run.refused or refused
        tried += not run.refused
        confirmed += finding.cause.kind in run.kinds
        yield Confirmation(confirmed, tried, refused)


def _brief(scenario: Scenario) -> Scenario:
    timeline = scenario.timeline
    rest = {"drain": min(timeline.drain, LONGEST_REST), "withdraw": min(timeline.withdraw or 0.0, LONGEST_REST) or None}
    return scenario.model_copy(update={"timeline": timeline.model_copy(update=rest)})


def _moved(
    fault: FaultItem, scenario: Scenario, told: list[Moment], times: Mapping[str, int], offset: int
) -> FaultItem:
    """The fault as long from its record as it was in the simulator, and an offset later. A record that did not come on
    real brokers is taken to have come at its time in the simulator."""
    if fault.at is None:
        return fault
    timeline = scenario.timeline
    join, end = seconds(timeline.join), seconds(timeline.join + timeline.run)
    at = seconds(fault.at.seconds) + (join if fault.at.phase == "run" else 0)
    near = min(told, key=lambda moment: abs(moment.at - at), default=None)
    if near is not None:
        at += times.get(near.words, near.at) - near.at
    fields = fault.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"at", "after"})
    return FaultItem.model_validate({"at": written(min(max(0, at + offset), end - 1)), **fields})
