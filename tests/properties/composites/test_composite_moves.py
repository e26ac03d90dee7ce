"""The properties of composite subscriptions while join points move by force, and broken movements that they catch.

| broken movement | caught by |
|---|---|
| the former join point stops at once, with its matches | settled cases |
| it stops when it learns that the present one is confirmed, and forgets the window | moves and time |
| it stops unconfirmed | `test_join_points`: a former join point goes on while a tree does not know of the present one |
| both notify the client | settled cases |
| the brokers between do not pass on detections of a former join point that has returned the unit | settled cases |
| a withdrawal does not reach brokers that have returned the unit | nothing remains |
| a withdrawal does not follow a unit that moves | nothing remains |
| a withdrawal overtakes the unit | `test_join_points`: nothing is left of a unit that is withdrawn while it moves |
| an advertisement that comes late is not bound to the parts at the join point | settled cases |
| a former join point never stops | moves and time |
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_service.routing.tid.bindings import Bindings
from broker_service.routing.tid.placement.detections import Detections
from broker_service.routing.tid.placement.endings import Endings
from broker_service.routing.tid.placement.join_points import JoinPoints
from broker_service.routing.tid.placement.overlap import Overlap
from studies.conformance.model import Case
from tests.proof import drawn, tried
from tests.properties import checks, drawing
from tests.properties.composites import composite_checks
from tests.properties.composites import movement_mutants as broken
from tests.properties.composites.composite_moves import (
    MisdetectedError,
    MovesAtEveryPublication,
    Steps,
    moves_and_pauses,
    moves_and_time,
)
from tests.properties.composites.composite_strategies import (
    ALL_FAULTS,
    CUTS,
    composite_cases,
    composite_cases_with_faults,
)
from tests.properties.composites.test_composites import unhurried
from tests.properties.mutants import in_place_of
from tests.properties.test_mutants import caught

ROWS = pytest.mark.parametrize("protocol", ["tid-topology", "tid-dcsr"])
SETTLED = composite_cases(settled=True)
WITHDRAWN = composite_cases(withdrawn=True)
FAILING = composite_cases_with_faults(ALL_FAULTS)


def moving(property: checks.Property, case: Case, protocol: str) -> None:
    """Checks a property while each publication moves the join points that it passes."""
    with in_place_of("tid", MovesAtEveryPublication):
        property(case, protocol)


@ROWS
@settings(unhurried, max_examples=tried(10))
@given(case=SETTLED)
def test_moves_change_no_detection(protocol: str, case: Case) -> None:
    moving(composite_checks.detected_exactly_once, case, protocol)


@ROWS
@settings(unhurried, max_examples=tried(10))
@given(case=composite_cases())
def test_what_is_in_flight_during_moves_is_detected_at_most_once(protocol: str, case: Case) -> None:
    moving(composite_checks.detected_exactly_once, case, protocol)


@ROWS
@settings(unhurried, max_examples=tried(10))
@given(case=WITHDRAWN)
def test_nothing_remains_of_units_that_have_moved(protocol: str, case: Case) -> None:
    moving(composite_checks.nothing_remains, case, protocol)


@ROWS
@settings(unhurried, max_examples=tried(10))
@given(case=composite_cases_with_faults(CUTS))
def test_links_that_are_down_during_moves_cost_no_detection(protocol: str, case: Case) -> None:
    moving(composite_checks.detected_exactly_once, case, protocol)


@ROWS
@settings(unhurried, max_examples=tried(10))
@given(case=FAILING)
def test_detections_are_complete_again_when_brokers_have_come_back_from_moves(protocol: str, case: Case) -> None:
    moving(composite_checks.detected_exactly_once, case, protocol)


@settings(unhurried, max_examples=tried(19))
@given(moves_and_pauses("PQR"))
def test_moves_and_time_change_no_detection(steps: Steps) -> None:
    moves_and_time(steps)


IN_CASES: list[tuple[type, str, Callable[..., object], checks.Property, st.SearchStrategy[Case]]] = [
    (JoinPoints, "move", broken.stops_at_once, composite_checks.detected_exactly_once, SETTLED),
    (Detections, "_notify", broken.notifies_of_all, composite_checks.detected_exactly_once, SETTLED),
    (Detections, "receive", broken.is_deaf_to_former_join_points, composite_checks.detected_exactly_once, SETTLED),
    (Endings, "remove", broken.withdraws_along_the_path_alone, composite_checks.nothing_remains, WITHDRAWN),
    (Endings, "remove", broken.withdraws_at_a_former_join_point_alone, composite_checks.nothing_remains, WITHDRAWN),
    (Bindings, "bind_local", broken.binds_no_part_late, composite_checks.detected_exactly_once, SETTLED),
]
IN_TIME: list[tuple[type, str, Callable[..., object]]] = [
    (Overlap, "ends_at", broken.forgets_the_window),
    (Overlap, "ends_at", broken.never_ends),
]


@pytest.mark.parametrize(("owner", "method", "mutant", "property", "strategy"), drawn(IN_CASES))
def test_a_broken_movement_is_caught(
    owner: type,
    method: str,
    mutant: Callable[..., object],
    property: checks.Property,
    strategy: st.SearchStrategy[Case],
) -> None:
    with mock.patch.object(owner, method, mutant):
        caught(partial(moving, property), "tid-dcsr", strategy)


@pytest.mark.parametrize(("owner", "method", "mutant"), drawn(IN_TIME))
def test_a_movement_that_goes_wrong_in_time_is_caught(owner: type, method: str, mutant: Callable[..., object]) -> None:
    @drawing.search
    @given(moves_and_pauses("PQR"))
    def search(steps: Steps) -> None:
        moves_and_time(steps)

    with mock.patch.object(owner, method, mutant), pytest.raises(MisdetectedError):
        search()
