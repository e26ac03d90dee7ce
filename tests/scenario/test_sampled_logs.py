"""The section `logs` of a scenario, and its way to brokers and to the manifest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import UNSET

from emulation.live_overlay.configuration import BrokerConfigs
from emulation.planning.plan import make_plan
from emulation.planning.variant_record import new_variant
from record.sample import PublicationSample
from scenario.model import Scenario
from scenario.yaml_files.errors import ScenarioError

Load = Callable[[str], Scenario]


@pytest.mark.parametrize(("written", "share"), [("5%", 0.05), ("0.05", 0.05), ("0.1%", 0.001)])
def test_a_share_reaches_every_broker_and_the_manifest(load_with: Load, written: str, share: float) -> None:
    found = load_with(f"logs: {{publications: {written}}}")
    (variant,) = make_plan(found).variants
    configs = BrokerConfigs(variant.overlay, variant.broker_settings)
    sample = PublicationSample(share, 11)
    assert [configs.of(broker).sample for broker in ("B1", "B2")] == [sample, sample]
    assert new_variant("base", {}, found).sample == sample


@pytest.mark.parametrize("logs", ["", "logs: {}", "logs: {publications: 100%}"])
def test_all_publications_are_logged_by_default(load_with: Load, logs: str) -> None:
    found = load_with(logs)
    (variant,) = make_plan(found).variants
    assert BrokerConfigs(variant.overlay, variant.broker_settings).of("B1").sample is None
    assert new_variant("base", {}, found).sample is UNSET


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("0%", "must be more than 0%"),
        ("0", "write a small share such as 1%"),
        ("101%", "a share is at most 1, got '101%'"),
        ("-5%", "a share cannot be negative"),
        ("some", "expected a share such as 2%"),
        ("[5%]", "expected a share such as 2%"),
    ],
)
def test_a_share_that_makes_no_sense_is_refused_with_its_place(
    load_with: Load, tmp_path: Path, written: str, problem: str
) -> None:
    with pytest.raises(ScenarioError) as refused:
        load_with(f"logs: {{publications: {written}}}")
    (line,) = str(refused.value).splitlines()
    assert line.startswith(f"{tmp_path}/scenario.yaml:7: logs.publications: ")
    assert problem in line


def test_a_share_may_vary(load_with: Load) -> None:
    found = load_with("vary: {logs.publications: [100%, 5%]}")
    samples = [variant.scenario.sample for variant in make_plan(found).variants]
    assert samples == [None, PublicationSample(0.05, 11)]
