from __future__ import annotations

from dataclasses import dataclass

import pytest

from broker_service.links.flow import IDLE, Flow
from broker_service.routing.common.congestion import Congestion, CongestionOrFailure
from broker_service.routing.tid.publications import CongestionLevels

INTERVAL = 0.05


@dataclass
class Status:
    queue_length: int
    last_flow: Flow = IDLE
    up: bool = True
    utilisation: float = 1.0

    def flow(self, interval: float) -> Flow:
        assert interval == INTERVAL
        return self.last_flow


@pytest.mark.parametrize(
    ("status", "level"),
    [
        (Status(0, Flow(100, 1)), 0.0),
        (Status(8), 8.0),
        (Status(8, Flow(3, 1)), 16.0),
        (Status(8, Flow(1, 3)), 4.0),
    ],
)
def test_equation_3(status: Status, level: float) -> None:
    links = {"B2": status}
    assert Congestion(links, 10, INTERVAL).level("B2") == level
    assert Congestion(links, 10, INTERVAL).is_overloaded("B2") == (level > 10)
    assert not Congestion(links, level, INTERVAL).is_overloaded("B2")


def test_a_link_that_is_down_is_overloaded_to_who_looks() -> None:
    links = {"B2": Status(0, up=False), "B3": Status(50)}
    assert not Congestion(links, 10, INTERVAL).is_overloaded("B2")
    looking = CongestionOrFailure(links, 10, INTERVAL)
    assert looking.is_overloaded("B2") and looking.is_overloaded("B3")
    assert looking.load("B2") > looking.load("B3") == 50


def test_tid_routing_leaves_its_tree_only_when_equation_3_says_so() -> None:
    links = {"B2": Status(10), "B3": Status(11), "B4": Status(12, Flow(99, 0)), "B5": Status(0, up=False)}
    level = CongestionLevels(links, Congestion(links, 10, INTERVAL))
    assert level("B2") == 0 < level("B3") < level("B4") < level("B5")
