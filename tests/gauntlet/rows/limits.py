"""Defects that cost messages or time and no delivery, so that only a limit of the scenario shows them."""

from __future__ import annotations

from broker_service.routing.cbf import sums
from broker_service.routing.medym.multicast import routing_functions
from tests.gauntlet import scenarios
from tests.gauntlet.model import Area
from tests.gauntlet.planting import around

AREA = Area("limits")

_COVERED = scenarios.CBF_COVERING.but(
    "cbf, covered subscriptions",
    {
        "workload.subscriptions.subscribers": 30,
        "workload.operations": [
            {
                "at": "100ms",
                "client": f"All{broker}",
                "broker": broker,
                "id": "all",
                "subscribe": "[class,eq,'STOCK']",
            }
            for broker in ("B1", "B4", "B6")
        ],
    },
)
_CHEAP = _COVERED.but("cbf, covering, at most 780 messages", {"expect": {"messages": 780}})
_QUICK = scenarios.MEDYM_MST.but("medym, mst, a mean delay of 10 ms", {"expect": {"mean": "10ms", "p95": "20ms"}})
_COMPARED = _COVERED.but(
    "cbf, covering against none",
    {
        "routing.aggregation": "identical",
        "vary": {"routing.aggregation": ["identical", "covering"]},
        "expect": {"fewer": {"covering": {"than": "identical", "by": "3%"}}},
    },
)


def _covers_nothing() -> None:
    around(sums, "covers", lambda original, general, special: False)


@AREA.row(_CHEAP, r"^messages between brokers [\d,]+: missed by \d+ \(")
def cbf_covers_nothing() -> None:
    _covers_nothing()


@AREA.row(_COMPARED, r"^messages between brokers .* identical's: missed by ")
def cbf_covers_nothing_beside_another_variant() -> None:
    _covers_nothing()


@AREA.row(_QUICK, r"^mean delay [\d.]+ ms: missed by [\d.]+ ms \(")
def medym_takes_the_longest_links_for_its_trees() -> None:
    around(
        routing_functions,
        "spanning_tree",
        lambda original, weights, root, others: original(weights.max() - weights, root, others),
    )
