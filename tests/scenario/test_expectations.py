"""The delivery ratio that a scenario expects, and the promises of the routing that it goes with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import UNSET

from emulation.planning.variant_record import new_variant
from record.promises import Completeness, Promises
from scenario.model import Scenario
from scenario.yaml_files.errors import ScenarioError

Load = Callable[[str], Scenario]


@pytest.fixture
def best_effort(promise: Callable[[Promises], None]) -> None:
    promise(Promises(delivery=Completeness.BEST_EFFORT))


@pytest.mark.usefixtures("best_effort")
@pytest.mark.parametrize(("written", "share"), [("85%", 0.85), ("0.85", 0.85), ("100%", 1.0)])
def test_an_expectation_reaches_the_manifest(load_with: Load, written: str, share: float) -> None:
    record = new_variant("base", {}, load_with(f"expect: {{delivery: {written}}}"))
    assert (record.expected_delivery, record.promises.delivery) == (share, Completeness.BEST_EFFORT)


@pytest.mark.usefixtures("best_effort")
def test_without_an_expectation_the_manifest_has_none(load_with: Load) -> None:
    assert new_variant("base", {}, load_with("")).expected_delivery is UNSET


def test_a_protocol_that_promises_every_delivery_is_not_held_to_a_ratio(load_with: Load, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError) as refused:
        load_with("expect: {delivery: 85%}")
    assert str(refused.value) == (
        f"{tmp_path}/scenario.yaml:7: expect.delivery: tid promises every delivery, and a ratio is expected of best "
        "effort only; remove it"
    )


@pytest.mark.usefixtures("best_effort")
@pytest.mark.parametrize(
    ("expect", "message"),
    [
        ("expect: {delivery: 120%}", r"scenario.yaml:7: expect.delivery: a share is at most 1, got '120%'"),
        ("expect: {delivery: most}", r"scenario.yaml:7: expect.delivery: expected a share such as 2%, got 'most'"),
        ("expect: {}", r"scenario.yaml:7: expect.delivery: "),
        ("expect: {deliver: 1}", r"scenario.yaml:7: .*unknown field 'deliver'; did you mean 'delivery'\?"),
    ],
)
def test_a_mistake_names_the_line_and_the_field(load_with: Load, expect: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        load_with(expect)
