"""The properties of composite subscriptions that are split into sub-units, while join points move by force.

| broken handling | caught by |
|---|---|
| sub-units of a former join point end at once | settled cases |
| sub-units stay where a unit is detected no more | nothing remains |
| a sub-unit passes on a part of a set | settled cases |
| a restart on the path of a unit leaves it at the brokers behind | nothing remains after restarts |
| the window is judged by the times at which publications of a sub-unit come | moves and time |
| a join point is confirmed before its sub-units are | `test_sub_units`: a former join point waits for sub-units |
| a part that others than the sub-unit need does not come alone | `test_sub_units`: a part of a sub-unit and of others |
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_service.detection import Detector
from broker_service.routing.tid.placement.detections import Detections
from broker_service.routing.tid.placement.endings import Endings
from broker_service.routing.tid.placement.join_points import JoinPoints
from broker_service.routing.tid.placement.units import Units
from studies.conformance.model import Case
from tests.proof import drawn, tried
from tests.properties import checks, drawing
from tests.properties.composites import composite_checks
from tests.properties.composites import sub_unit_mutants as broken
from tests.properties.composites.composite_moves import (
    SPLIT_PATTERN,
    MisdetectedError,
    Steps,
    moves_and_pauses,
    moves_and_time,
)
from tests.properties.composites.composite_splits import split_cases
from tests.properties.composites.composite_strategies import ALL_FAULTS, CUTS
from tests.properties.composites.test_composite_moves import moving
from tests.properties.composites.test_composites import unhurried
from tests.properties.test_mutants import caught

DCSR = "tid-dcsr"
SETTLED = split_cases(settled=True)
WITHDRAWN = split_cases(withdrawn=True)
RESTARTED = split_cases(faults=("kill",), withdrawn=True, steps=8)
IN_TIME = moves_and_pauses("PQRT")


@pytest.mark.parametrize("cases", [SETTLED, split_cases(), split_cases(faults=CUTS), split_cases(faults=ALL_FAULTS)])
@settings(unhurried, max_examples=tried(5))
@given(data=st.data())
def test_sub_units_that_move_detect_what_the_definition_says(
    cases: st.SearchStrategy[Case], data: st.DataObject
) -> None:
    moving(composite_checks.detected_exactly_once, data.draw(cases), DCSR)


@settings(unhurried, max_examples=tried(8))
@given(case=WITHDRAWN)
def test_nothing_remains_of_sub_units_that_have_moved(case: Case) -> None:
    moving(composite_checks.nothing_remains, case, DCSR)


@settings(unhurried, max_examples=tried(8))
@given(case=RESTARTED)
def test_nothing_remains_of_units_whose_brokers_were_restarted(case: Case) -> None:
    composite_checks.nothing_remains(case, DCSR)


@settings(unhurried, max_examples=tried(10))
@given(IN_TIME)
def test_moves_of_sub_units_and_time_change_no_detection(steps: Steps) -> None:
    moves_and_time(steps, SPLIT_PATTERN)


IN_CASES: list[tuple[type, str, Callable[..., object], checks.Property, st.SearchStrategy[Case]]] = [
    (JoinPoints, "move", broken.ends_sub_units_at_once, composite_checks.detected_exactly_once, SETTLED),
    (Endings, "cease", broken.leaves_sub_units, composite_checks.nothing_remains, WITHDRAWN),
    (Detections, "detected", broken.passes_on_the_last_alone, composite_checks.detected_exactly_once, SETTLED),
    (Units, "restarted", broken.leaves_broken_paths, composite_checks.nothing_remains, RESTARTED),
]


@pytest.mark.parametrize(("owner", "method", "mutant", "property", "strategy"), drawn(IN_CASES))
def test_broken_handling_of_sub_units_is_caught(
    owner: type,
    method: str,
    mutant: Callable[..., object],
    property: checks.Property,
    strategy: st.SearchStrategy[Case],
) -> None:
    with mock.patch.object(owner, method, mutant):
        caught(partial(moving, property), DCSR, strategy)


def test_a_window_that_is_judged_by_arrival_is_caught() -> None:
    @drawing.search
    @given(IN_TIME)
    def search(steps: Steps) -> None:
        moves_and_time(steps, SPLIT_PATTERN)

    with mock.patch.object(Detector, "contribute", broken.stamps_on_arrival), pytest.raises(MisdetectedError):
        search()
