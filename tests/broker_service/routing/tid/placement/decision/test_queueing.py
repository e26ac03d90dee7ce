from __future__ import annotations

from math import inf

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.routing.tid.placement.decision.queueing import BrokerTimes
from tests.broker_service.language.strategies import unhurried

times = st.floats(0, 10)
extras = st.floats(0, 100)


@unhurried
@given(times, times, extras)
def test_the_model_is_that_of_the_paper(waiting: float, service: float, extra: float) -> None:
    """Written with the rates of service and arrival, which the module's form has eliminated."""
    measured = BrokerTimes(waiting, service)
    assert measured.waiting_with(0) == pytest.approx(waiting)
    if service < 1e-3:
        return
    served = 1 / service
    arriving = waiting / (waiting + service) * served + extra
    predicted = arriving / (served * (served - arriving)) if arriving < served else inf
    if abs(served - arriving) > 1e-6:
        assert measured.waiting_with(extra) == pytest.approx(predicted, rel=1e-3)


@unhurried
@given(times, times, extras, st.floats(0, 1), st.sampled_from(["waiting", "service", "extra"]))
def test_waiting_grows_with_every_quantity(
    waiting: float, service: float, extra: float, more: float, quantity: str
) -> None:
    before = BrokerTimes(waiting, service).waiting_with(extra)
    if quantity == "extra":
        after = BrokerTimes(waiting, service).waiting_with(extra + more)
    elif quantity == "waiting":
        after = BrokerTimes(waiting + more, service).waiting_with(extra)
    else:
        after = BrokerTimes(waiting, service + more).waiting_with(extra)
    assert after >= before * (1 - 1e-9)


def test_a_broker_is_saturated_when_as_much_arrives_as_it_can_serve() -> None:
    half_busy = BrokerTimes(waiting=0.1, service=0.1)  # serves ten a second, five arrive
    assert half_busy.waiting_with(4.9) < inf
    assert half_busy.waiting_with(5.0) == inf


@pytest.mark.parametrize("fields", [[-1.0, 0.0, 0.0], [0.0, float("nan"), 0.0], [0.0, 0.0, float("inf")]])
def test_a_neighbours_nonsense_does_not_decode(fields: list[float]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(msgspec.msgpack.encode(fields), type=BrokerTimes)
