"""The host of several whose nodes have the most contention."""

from __future__ import annotations

import pytest
from msgspec import UNSET, UnsetType

from analysis.auditing.hops.asked import AskedVariant
from analysis.budget.tables import BudgetTables
from analysis.budget.tally import BudgetTally, NodeSums
from analysis.budget.variant import BudgetedVariant

HOSTS = {"B1": "h1", "B2": "h2", "relay@h2": "h2"}


@pytest.mark.parametrize(
    ("hosts", "contention", "busiest"),
    [
        (HOSTS, {"B1": 5, "B2": 3, "relay@h2": 3}, "h2"),
        (HOSTS, {"B1": 0}, ""),
        ({}, {"B1": 5}, UNSET),
    ],
)
def test_the_busiest_host_is_known(hosts: dict[str, str], contention: dict[str, int], busiest: str | UnsetType) -> None:
    tally = BudgetTally()
    for node, waited in contention.items():
        tally.nodes.add(NodeSums(0, node, contention=waited))
        tally.nodes.add(NodeSums(1, node, contention=90))
    variants = [BudgetedVariant(asked=AskedVariant(links={}, hosts=hosts))] * 2
    assert BudgetTables(tally, variants, ["base", "other"]).busiest_host(0) == busiest
