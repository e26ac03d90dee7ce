"""Costs at rest are those of the host that each broker is on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from msgspec import UNSET

from analysis.auditing.hops.asked import AskedVariant
from analysis.budget.at_rest import NodesAtRest
from analysis.budget.request import at_rest
from analysis.budget.variant import AtRest, BudgetedVariant
from record.manifest import ChargedCosts
from record.time_units import MILLISECOND
from tests.analysis.budget.made import COUNT, Delays, asked, budget_of, line, read, total

CHARGED = ChargedCosts(
    frame=100, work={"publish": 10}, link=[MILLISECOND], submit=[2 * MILLISECOND], notify=[4 * MILLISECOND]
)
ON_HOSTS = {
    "h1": at_rest(CHARGED, 1.0, dilation=1.0),
    "h2": at_rest(CHARGED, 3.0, dilation=1.0),
}
HOSTS = {"A": "h1", "B": "h2"}
AT_REST = Delays(
    to_broker=[2 * MILLISECOND] * COUNT, arriving=[3 * MILLISECOND] * COUNT, notifying=[12 * MILLISECOND] * COUNT
)
"""A is on h1, B on h2, three times as slow."""


def on_hosts(hosts: Mapping[str, str], rest_on: Mapping[str, AtRest]) -> BudgetedVariant:
    free = {host: replace(rest, frame=0, work={}) for host, rest in rest_on.items()}
    return replace(asked({}, hosts=hosts), rest_on=free)


def test_each_node_has_the_costs_of_its_host() -> None:
    variant = BudgetedVariant(asked=AskedVariant(links={}, hosts=HOSTS), rest_on=ON_HOSTS)
    rest, both = NodesAtRest(variant, ("A", "B", "elsewhere")), np.array([0, 1, 2])
    assert rest.frame(both).tolist() == [100, 300, 0]
    assert rest.handling(both).tolist() == [110, 330, 0]
    assert rest.work(np.array([1, 0]), np.array([1, 1]), ("join", "publish")).tolist() == [30, 10]
    link = rest.link(np.array([1, 0, 1]))
    assert link.bounds[1].tolist() == [3 * MILLISECOND, MILLISECOND, 3 * MILLISECOND]
    assert link.beyond(np.array([MILLISECOND] * 3)).tolist() == [2 * MILLISECOND, 0, 2 * MILLISECOND]
    assert link.plausible(np.array([0, 0, 9 * MILLISECOND])).tolist() == [3 * MILLISECOND, MILLISECOND, 3 * MILLISECOND]


def test_one_host_has_the_costs_of_the_variant() -> None:
    rest = NodesAtRest(BudgetedVariant(asked=AskedVariant(links={}), rest=ON_HOSTS["h2"]), ("A", "B"))
    assert rest.frame(np.array([0, 1])).tolist() == [300, 300]
    assert rest.submit(np.array([1])).bounds[0].tolist() == [6 * MILLISECOND]


@pytest.mark.parametrize(("hosts", "unexplained"), [(HOSTS, 0), ({"A": "h1", "B": "h1"}, 10)])
def test_the_budget_has_the_platform_of_each_brokers_host(hosts: Mapping[str, str], unexplained: int) -> None:
    sums = total(budget_of(read(line(AT_REST), ["base"], "AB"), [on_hosts(hosts, ON_HOSTS)], "AB"))
    per_way = sums.notifications * MILLISECOND
    assert sums.unexplained / per_way == pytest.approx(unexplained, abs=0.01)
    assert sums.platform / per_way == pytest.approx(17 - unexplained, abs=0.01)


def test_costs_of_a_host_of_unknown_speed_are_the_calibrations() -> None:
    assert at_rest(CHARGED, UNSET, dilation=1.0) == replace(ON_HOSTS["h1"], factor=UNSET)
