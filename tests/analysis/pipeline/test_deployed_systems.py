"""Figures of deployed systems, by hand."""

from __future__ import annotations

import pytest
from msgspec import UNSET, UnsetType

from analysis.pipeline.deployed_systems import system_figures
from analysis.tables.delays import DelayByHops
from analysis.tables.summary import SystemFigures
from analysis.tables.traffic import Drop
from record.contract import CAME_AGAIN, CONTRACT, NOT_WANTED, ForeignBrokers
from record.manifest import VariantRecord
from topology.link_properties import Link, LinkProperties
from topology.model import Broker, Overlay

_SYSTEM = ForeignBrokers(contract=CONTRACT, level=0, system="zenoh")


def _row(hops: int, notifications: int, mean_ms: float) -> DelayByHops:
    return DelayByHops(
        variant="base", hops=hops, notifications=notifications, mean_ms=mean_ms, p50_ms=0, p95_ms=0, p99_ms=0, max_ms=0,
        queueing_share=None,
    )  # fmt: skip


def _figures(
    *rows: DelayByHops, delays: tuple[float, float] = (0.01, 0.01), foreign: ForeignBrokers | UnsetType = _SYSTEM
) -> SystemFigures | UnsetType:
    first, second = (LinkProperties(delay=delay) for delay in delays)
    links = (Link("B1", "B2", first, first), Link("B2", "B3", second, second))
    overlay = Overlay("line", tuple(Broker(name) for name in ("B1", "B2", "B3")), links)
    drops = [
        Drop(variant="base", node=node, event="dropped", kind="publish", reason=reason, count=count)
        for node, reason, count in (("B1", NOT_WANTED, 3), ("B2", NOT_WANTED, 4), ("B2", CAME_AGAIN, 1))
    ]
    variant = VariantRecord(name="base", settings={}, foreign=foreign)
    return system_figures(variant, overlay, drops, rows)


def test_what_clients_throw_away_is_summed_over_brokers() -> None:
    found = _figures()
    assert found is not UNSET
    assert (found.system, found.not_wanted, found.came_again) == ("zenoh", 7, 1)


def test_delays_are_less_those_of_the_links_crossed() -> None:
    found = _figures(_row(0, 1, 2.0), _row(2, 3, 26.0))
    assert found is not UNSET
    assert found.beyond_links_ms == pytest.approx((1 * 2.0 + 3 * 6.0) / 4)
    assert "5.0 ms longer than those of links" in found.in_words()


@pytest.mark.parametrize(("delays", "hops"), [((0.01, 0.02), 1), ((0.01, 0.01), -1)])
def test_where_the_way_is_not_known_delays_are_not_compared(delays: tuple[float, float], hops: int) -> None:
    found = _figures(_row(hops, 1, 20.0), delays=delays)
    assert found is not UNSET
    assert found.beyond_links_ms is UNSET
    assert "links" not in found.in_words()


def test_brokers_of_other_kinds_have_no_such_figures() -> None:
    assert _figures(foreign=UNSET) is UNSET
    assert _figures(foreign=ForeignBrokers(contract=CONTRACT, level=1)) is UNSET
