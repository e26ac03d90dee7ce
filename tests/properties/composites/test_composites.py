"""The properties of composite subscriptions, over generated overlays, workloads, delays and faults.

A failure shrinks and prints a case; `brokerlab conformance --runtime simulated FILE` runs it again.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from record.faults import FaultKind
from record.promises import Loss
from studies.conformance.model import Case
from studies.conformance.protocols import PROTOCOLS
from tests.proof import tried
from tests.properties import checks
from tests.properties.composites import composite_checks
from tests.properties.composites.composite_strategies import (
    ALL_FAULTS,
    CUTS,
    composite_cases,
    composite_cases_with_faults,
    overlays_for,
)

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])

ROWS = pytest.mark.parametrize("protocol", sorted(PROTOCOLS))
THROUGH_CUTS = sorted(name for name, row in PROTOCOLS.items() if row.promises.loss(FaultKind.LINK_DOWN) is Loss.NOTHING)
"""Protocols whose publications outlast a link that is down."""


@ROWS
@settings(unhurried, max_examples=tried(7))
@given(data=st.data())
def test_settled_cases_detect_what_the_definition_says(protocol: str, data: st.DataObject) -> None:
    case = data.draw(composite_cases(overlays_for(protocol), settled=True))
    composite_checks.detected_exactly_once(case, protocol)
    composite_checks.arrangement_does_not_matter(case, protocol)


@ROWS
@settings(unhurried, max_examples=tried(7))
@given(data=st.data())
def test_what_is_in_flight_is_detected_at_most_once(protocol: str, data: st.DataObject) -> None:
    composite_checks.detected_exactly_once(data.draw(composite_cases(overlays_for(protocol))), protocol)


@ROWS
@settings(unhurried, max_examples=tried(7))
@given(data=st.data())
def test_nothing_remains_when_everything_is_withdrawn(protocol: str, data: st.DataObject) -> None:
    composite_checks.nothing_remains(data.draw(composite_cases(overlays_for(protocol), withdrawn=True)), protocol)


@pytest.mark.parametrize("protocol", THROUGH_CUTS)
@settings(unhurried, max_examples=tried(7))
@given(data=st.data())
def test_links_that_are_down_for_a_while_cost_no_detection(protocol: str, data: st.DataObject) -> None:
    case = data.draw(composite_cases_with_faults(CUTS, overlays_for(protocol)))
    composite_checks.detected_exactly_once(case, protocol)


@ROWS
@settings(unhurried, max_examples=tried(7))
@given(data=st.data())
def test_detections_are_complete_again_when_brokers_have_come_back(protocol: str, data: st.DataObject) -> None:
    case = data.draw(composite_cases_with_faults(ALL_FAULTS, overlays_for(protocol)))
    composite_checks.detected_exactly_once(case, protocol)


MOVES_AHEAD = Case.model_validate(
    {
        "id": "a client moves ahead of a publication that another client of its new broker gets as well",
        "brokers": ["A", "B"],
        "links": [{"between": ["A", "B"], "delay": "20ms"}],
        "steps": [
            {
                "op": "advertise",
                "client": "P",
                "broker": "A",
                "id": "x",
                "text": "[class,eq,'A'],[price,>=,0],[price,<=,5]",
            },
            {
                "op": "subscribe",
                "client": "T",
                "broker": "B",
                "id": "x",
                "text": "[class,eq,'A'],[price,>=,0],[price,<=,5]",
            },
            {
                "op": "subscribe",
                "client": "S",
                "broker": "A",
                "id": "x",
                "text": "[class,eq,'A'],[price,>=,0],[price,<=,5]",
            },
            {"op": "publish", "client": "P", "broker": "A", "id": "p1", "text": "[class,'A'],[price,1]", "wait": "1ms"},
            {
                "op": "subscribe",
                "client": "S",
                "broker": "B",
                "id": "x",
                "text": "[class,eq,'A'],[price,>=,0],[price,<=,5]",
            },
        ],
        "expect": {},
    }
)


@pytest.mark.parametrize(
    ("protocol", "times"), [("tid-fixed", 1), ("gryphon", 2), ("medym-advertised", 2), ("channelization", 2)]
)
def test_a_client_that_moves_ahead_of_a_publication(protocol: str, times: int) -> None:
    """It is right in any case, and twice is right only where brokers match publications when they arrive."""
    outcome = checks.ended(MOVES_AHEAD, protocol)
    assert outcome.got["S"] == times * ["p1"]
    composite_checks.detected_exactly_once(MOVES_AHEAD, protocol)
