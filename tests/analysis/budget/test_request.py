"""Facts about brokers that the budget takes from a manifest, whichever part of the section a variant sets."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.auditing.hops.asked import AskedVariant
from analysis.budget.request import budgeted
from record.manifest import Manifest, VariantRecord
from scenario.sections.brokers import Brokers


@pytest.mark.parametrize(
    ("window", "settings", "singly"),
    [
        (64, {}, False),
        (1, {}, True),
        (64, {"brokers.limits.window": 1}, True),
        (1, {"brokers.limits.window": 2}, False),
        (64, {"brokers.limits": {"window": 1}}, True),
        (64, {"brokers": {"service_time": "2ms", "limits": {"window": 1}}}, True),
    ],
)
def test_links_with_one_message_in_flight_are_known_from_the_scenario(
    window: int, settings: dict[str, Any], singly: bool
) -> None:
    scenario = {"brokers": Brokers.model_validate({"limits": {"window": window}}).model_dump(mode="json")}
    manifest = Manifest(run_id="r", scenario=scenario, variants=[VariantRecord(name="base", settings=settings)])
    found = budgeted(manifest, 0, AskedVariant(links={}))
    assert found.acknowledged_singly is singly
    assert found.service.mean == (0.002 if "brokers" in settings else 0.0)


def test_a_manifest_without_the_section_has_the_usual_brokers() -> None:
    manifest = Manifest(run_id="r", variants=[VariantRecord(name="base")])
    found = budgeted(manifest, 0, AskedVariant(links={}))
    assert not found.acknowledged_singly
    assert not found.service
