from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import pytest

from broker_service.messages import BrokerId
from broker_service.routing.interface import LinkStatus
from broker_service.routing.tid.placement.decision.measurement import Measurement
from broker_service.routing.tid.placement.decision.queueing import BrokerTimes
from broker_service.service import ServiceTotals
from record.time_units import SECOND


@dataclass
class Totals:
    """The totals of a link."""

    sent: int = 0
    waited: int = 0


def links_of(totals: dict[BrokerId, Totals]) -> dict[BrokerId, LinkStatus]:
    return cast(dict[BrokerId, LinkStatus], totals)


def test_means_are_those_since_the_last_reading() -> None:
    service = [ServiceTotals(100, 7 * SECOND, 9 * SECOND)]
    totals = {"B2": Totals(10, 5 * SECOND), "B3": Totals()}
    measurement = Measurement(links_of(totals), lambda: service[0])
    service[0] = ServiceTotals(104, 8 * SECOND, 11 * SECOND)
    totals["B2"] = Totals(12, 6 * SECOND)
    measured = measurement.take()
    assert measured.times == BrokerTimes(waiting=0.25, service=0.5)
    assert measured.outputs == {"B2": 0.5, "B3": 0.0}
    assert measured.reported_to("B2") == BrokerTimes(0.25, 0.5, 0.5)
    assert measured.reported_to("B9") == BrokerTimes(0.25, 0.5, 0.0)
    totals["B2"] = Totals(13, 10 * SECOND)
    assert measurement.take().outputs["B2"] == 4.0


def test_an_interval_without_messages_changes_nothing() -> None:
    service = [ServiceTotals(0, 0, 0)]
    totals = {"B2": Totals()}
    measurement = Measurement(links_of(totals), lambda: service[0])
    service[0], totals["B2"] = ServiceTotals(1, SECOND, SECOND), Totals(1, SECOND)
    before = measurement.take()
    service[0] = ServiceTotals(1, SECOND, 2 * SECOND)
    assert measurement.take() == before == measurement.latest


@pytest.mark.parametrize("sent", [0, 4])
def test_a_link_that_is_new_is_counted_from_its_beginning(sent: int) -> None:
    totals: dict[BrokerId, Totals] = {}
    measurement = Measurement(links_of(totals), lambda: ServiceTotals(0, 0, 0))
    totals["B2"] = Totals(sent, 2 * SECOND)
    assert measurement.take().outputs == {"B2": 0.5 if sent else 0.0}
