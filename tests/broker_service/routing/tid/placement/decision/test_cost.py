from __future__ import annotations

from dataclasses import replace
from math import inf

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from broker_service.routing.tid.placement.decision.cost import Surroundings, total_cost
from broker_service.routing.tid.placement.decision.queueing import BrokerTimes
from tests.broker_service.language.strategies import unhurried
from tests.broker_service.routing.tid.placement.situations import (
    HERE,
    NEIGHBOURS,
    equal_times,
    flows,
    rates,
    surroundings,
)
from tests.broker_service.routing.tid.placement.walks import walked_cost

TIME = 1e-6
"""Seconds between any two brokers, so few that a join attracts no noticeable traffic."""


def places_of(flows: dict[str, float]) -> list[str]:
    return sorted({HERE, *flows})


@unhurried
@given(flows, rates, surroundings)
def test_a_cost_is_what_walking_every_flow_takes(
    flows: dict[str, float], detections: float, around: Surroundings
) -> None:
    for place in places_of(flows):
        cost = total_cost(place, flows, detections, around)
        assert cost.total == pytest.approx(walked_cost(place, flows, detections, around))
        assert cost.by_broker.keys() <= {HERE, *flows}


@unhurried
@given(rates, rates, rates, st.none() | st.sampled_from(NEIGHBOURS).filter(lambda neighbour: neighbour != "B1"))
def test_equal_times_everywhere(left: float, right: float, detections: float, previous: str | None) -> None:
    """The join goes to the left part's neighbour exactly when that saves more messages than it adds."""
    assume(abs(left - right - detections) > 0.01)
    around = equal_times(TIME, previous)
    here, there = (total_cost(place, {"B1": left, "B2": right}, detections, around).total for place in (HERE, "B1"))
    assert (there < here) == (left > right + detections)


@unhurried
@given(rates, rates, rates)
def test_equal_times_where_the_subscription_came_from(left: float, right: float, detections: float) -> None:
    """A join there spares detections the link to it, one of three steps that a publication takes from broker to
    broker."""
    assume(abs(left - right + detections / 3) > 0.01)
    around = equal_times(TIME, "B1")
    here, there = (total_cost(place, {"B1": left, "B2": right}, detections, around).total for place in (HERE, "B1"))
    assert (there < here) == (left + detections / 3 > right)


@unhurried
@given(flows, rates, surroundings, st.data())
def test_a_cost_never_falls_when_a_rate_or_a_time_rises(
    flows: dict[str, float], detections: float, around: Surroundings, data: st.DataObject
) -> None:
    place = data.draw(st.sampled_from(places_of(flows)))
    more = data.draw(st.floats(0, 1))
    quantity = data.draw(st.sampled_from(["flow", "detections", "time", "output", "report"]))
    before = total_cost(place, flows, detections, around).total
    broker = data.draw(st.sampled_from(NEIGHBOURS))
    if quantity == "flow":
        source = data.draw(st.sampled_from(sorted(flows)))
        flows = {**flows, source: flows[source] + more}
    elif quantity == "detections":
        detections += more
    elif quantity == "output":
        around = replace(around, outputs={**around.outputs, broker: around.output_to(broker) + more})
    else:
        name = data.draw(st.sampled_from(["waiting", "service", "output"]))
        if quantity == "time":
            # Neighbours without a report have this broker's times: all of these rise.
            around = replace(around, times=_longer(around.times, name, more))
        else:
            longer = _longer(around.times_at(broker), name, more)
            around = replace(around, neighbours={**around.neighbours, broker: longer})
    assert total_cost(place, flows, detections, around).total >= before * (1 - 1e-9)


def _longer(times: BrokerTimes, name: str, more: float) -> BrokerTimes:
    return msgspec.structs.replace(times, **{name: getattr(times, name) + more})


def test_a_neighbour_that_the_parts_would_saturate_costs_infinitely_much() -> None:
    around = equal_times(0.1, None)
    assert total_cost("B1", {"B1": 100.0, "B2": 4.9}, 0.0, around).total < inf
    assert total_cost("B1", {"B1": 100.0, "B2": 5.0}, 0.0, around).total == inf
    assert total_cost(HERE, {"B1": 100.0, "B2": 5.0}, 0.0, around).total < inf


def test_costs_by_hand() -> None:
    """B1 sends 10, B2 sends 2, clients of this broker 1 a second; 0.5 detections a second go to B3."""
    around = Surroundings(
        HERE,
        BrokerTimes(0.01, 0.02),
        {"B1": 0.1, "B3": 0.3},
        {"B1": BrokerTimes(0.0, 0.04, 0.5), "B2": BrokerTimes(0.05, 0.06, 0.7)},
        "B3",
    )
    flows = {"B1": 10.0, "B2": 2.0, HERE: 1.0}
    assert total_cost(HERE, flows, 0.5, around).by_broker == pytest.approx(
        {HERE: 0.03 * 13 + 0.3 * 0.5, "B1": 0.54 * 10, "B2": 0.81 * 2}
    )
    attracted = 3 * 0.04 * 0.04 / (1 - 3 * 0.04)
    assert total_cost("B1", flows, 0.5, around).by_broker == pytest.approx(
        {HERE: 0.03 * 3 + 0.1 * 3 + 0.03 * 0.5 + 0.3 * 0.5, "B1": (attracted + 0.04) * 13 + 0.5 * 0.5, "B2": 0.81 * 2}
    )
