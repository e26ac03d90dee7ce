from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from broker_service.routing import read_options
from emulation.planning.variant_record import new_variant
from record.promises import Order
from scenario.loading import load

SCENARIOS = Path(__file__).parents[3] / "scenarios"


def test_a_variant_says_what_its_routing_promises() -> None:
    scenario = load(SCENARIOS / "quickstart.yaml", {"routing.reconcile_after": "4", "brokers.limits.heartbeat": "2s"})
    fixed, dynamic = (new_variant(variant.name, variant.settings, variant.scenario) for variant in scenario.variants())
    assert (fixed.promises.order, dynamic.promises.order) == (Order.ADVERTISEMENT, Order.NONE)
    assert fixed.recovery == 3 * 2 + scenario.brokers.limits.reconnect_last + 4
    assert fixed.settings == {"routing.publications": "fixed"}
    assert (fixed.follows_load, dynamic.follows_load) == (UNSET, True)


@pytest.mark.parametrize(
    ("protocol", "options", "follows"),
    [
        ("tid", {}, False),
        ("tid", {"composites": "dcsr"}, True),
        ("octopia", {"publications": "static"}, False),
        ("octopia", {"publications": "inter-cluster-dynamic"}, True),
        ("gryphon", {"paths": "hash"}, False),
        ("gryphon", {"paths": "least-loaded"}, True),
    ],
)
def test_routing_that_decides_by_load_says_so(protocol: str, options: dict[str, Any], follows: bool) -> None:
    assert read_options(protocol, options).follows_load is follows
