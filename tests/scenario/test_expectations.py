"""The delivery ratio and the power of the verdict that a scenario expects, and the promises of the routing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import UNSET

from emulation.planning.variant_record import new_variant
from record.figures import Figure
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


def test_the_share_to_be_judged_may_be_expected_of_every_protocol(load_with: Load) -> None:
    record = new_variant("base", {}, load_with("expect: {judged: 95%}"))
    assert (record.expected_judged, record.expected_delivery) == (0.95, UNSET)
    assert new_variant("base", {}, load_with("")).expected_judged is UNSET


def test_figures_may_be_expected_to_hold(load_with: Load) -> None:
    scenario = load_with("expect: {valid: [mean, p99]}")
    assert new_variant("base", {}, scenario).expected_valid == [Figure.MEAN, Figure.P99]
    assert scenario.resolved()["expect"] == {"valid": ["mean", "p99"]}
    assert new_variant("base", {}, load_with("")).expected_valid is UNSET


@pytest.mark.usefixtures("best_effort")
def test_both_may_be_expected(load_with: Load) -> None:
    record = new_variant("base", {}, load_with("expect: {delivery: 85%, judged: 0.9}"))
    assert (record.expected_delivery, record.expected_judged) == (0.85, 0.9)


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
        ("expect: {}", r"scenario.yaml:7: expect: expects nothing; give it a field, such as `judged: 95%`, or remove"),
        ("expect: {judged: 120%}", r"scenario.yaml:7: expect.judged: a share is at most 1, got '120%'"),
        ("expect: {judged: most}", r"scenario.yaml:7: expect.judged: expected a share such as 2%, got 'most'"),
        (
            "expect: {valid: [mean, p90]}",
            r"scenario.yaml:7: expect.valid.*must be 'mean', 'p50', 'p95' or 'p99', not 'p90'",
        ),
        ("expect: {valid: p99}", r"scenario.yaml:7: expect.valid: must be a list, not 'p99'"),
        ("expect: {valid: []}", r"scenario.yaml:7: expect.valid: needs at least 1"),
        ("expect: {judge: 95%}", r"scenario.yaml:7: .*unknown field 'judge'; did you mean 'judged'\?"),
        ("expect: {deliver: 1}", r"scenario.yaml:7: .*unknown field 'deliver'; did you mean 'delivery'\?"),
    ],
)
def test_a_mistake_names_the_line_and_the_field(load_with: Load, expect: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        load_with(expect)
