"""All trials of the gauntlet."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from analysis.tables.summary import CORRECT, UNJUDGED
from record.fidelity import FidelityVerdict
from tests.gauntlet import honest
from tests.gauntlet.model import Row
from tests.gauntlet.rows.catalogue import DEFECTS, HONEST, INFIDELITIES
from tests.gauntlet.running import Verdict
from tests.gauntlet.scenarios import Scenario
from tests.gauntlet.trials import Kind, Trial

DRAWN = 300
"""Honest runs that are drawn from the seed."""


def trials(seed: int) -> list[Trial]:
    """Every trial, in an order that does not depend on the seed, from which honest runs are drawn."""
    return [
        *(_planted(Kind.DEFECT, row) for row in DEFECTS),
        *(_planted(Kind.INFIDELITY, row) for row in INFIDELITIES),
        *(_unblamed(row.area, row.name, row.judged) for row in HONEST),
        *(_honest("honest", scenario) for scenario in _distinct()),
        *(_honest("honest, drawn", honest.drawn(seed, number)) for number in range(DRAWN)),
    ]


def _distinct() -> Iterator[Scenario]:
    """The fixed honest runs, and the scenario of every row with nothing planted, which must not be blamed either."""
    seen: set[str] = set()
    for scenario in (*honest.fixed(), *(row.scenario for row in (*DEFECTS, *INFIDELITIES))):
        if scenario.text not in seen:
            seen.add(scenario.text)
            yield scenario


def _planted(kind: Kind, row: Row) -> Trial:
    return Trial(kind, row.area, row.name, row.judged, row.is_named, f"a sentence like /{row.names}/")


def _honest(area: str, scenario: Scenario) -> Trial:
    return _unblamed(area, scenario.name, scenario.run.judged)


def _unblamed(area: str, name: str, judge: Callable[[], Verdict]) -> Trial:
    return Trial(Kind.HONEST, area, name, judge, _is_not_blamed, "correct, and not INVALID")


def _is_not_blamed(verdict: Verdict) -> bool:
    """A verdict that could not judge, and says so, blames nobody."""
    judged_well = {*verdict.delivery} in ({CORRECT}, {UNJUDGED}) and verdict.fidelity != FidelityVerdict.INVALID
    return judged_well and not verdict.names(": missed by ")
