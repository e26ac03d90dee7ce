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
        "effort only; write `correct`"
    )


def test_correct_deliveries_may_be_expected_in_the_word_of_a_search(load_with: Load) -> None:
    scenario = load_with("expect: {delivery: correct, p95: 1s}")
    assert new_variant("base", {}, scenario).expected_delivery is UNSET
    assert scenario.resolved()["expect"] == {"delivery": "correct", "p95": "1s"}


@pytest.mark.usefixtures("best_effort")
def test_correct_deliveries_may_be_expected_of_some_variants_and_a_ratio_of_others(load_with: Load) -> None:
    scenario = load_with(VARIED + "expect: {delivery: {fixed: correct, dynamic: 85%}}")
    records = [new_variant(variant.name, {}, variant.scenario) for variant in scenario.variants()]
    assert [record.expected_delivery for record in records] == [UNSET, 0.85]


def limits_of(scenario: Scenario) -> dict[str, dict[str, float]]:
    """Limits of each variant by figure, relative ones with the name of the other variant."""
    found = {}
    for variant in scenario.variants():
        record = new_variant(variant.name, variant.settings, variant.scenario)
        relative = {f"{limit.figure} {limit.than}": limit.most for limit in record.relative_limits or ()}
        found[variant.name] = {limit.figure.value: limit.most for limit in record.limits or ()} | relative
    return found


VARIED = "vary: {routing.publications: [fixed, dynamic]}\n"


def test_limits_reach_the_manifest_in_the_units_of_its_figures(load_with: Load) -> None:
    scenario = load_with("expect: {p95: 200ms, recovery: 2s, messages: 12_000, excused: 50, memory: 60MB}")
    limits = {"p95": 200.0, "recovery": 2.0, "messages": 12_000, "excused": 50, "memory": 60e6}
    assert limits_of(scenario) == {"base": limits}
    resolved = {"p95": "0.2s", "recovery": "2s", "messages": 12_000, "excused": 50, "memory": "60MB"}
    assert scenario.resolved()["expect"] == resolved


def test_limits_may_be_by_name_and_relative(load_with: Load) -> None:
    faster, fewer = "{dynamic: {than: fixed, by: 25%}}", "{dynamic: {than: fixed, within: 50%}}"
    text = f"expect: {{p95: {{fixed: 2s}}, mean: 1s, faster: {faster}, fewer: {fewer}}}"
    assert limits_of(load_with(VARIED + text)) == {
        "fixed": {"p95": 2000.0, "mean": 1000.0},
        "dynamic": {"mean": 1000.0, "mean fixed": 0.75, "messages fixed": 1.5},
    }


def test_a_variant_that_nothing_is_expected_of_has_no_expectation(load_with: Load) -> None:
    fixed, dynamic = load_with(VARIED + "expect: {p95: {fixed: 2s}}").variants()
    assert fixed.scenario.expect is not None
    assert dynamic.scenario.expect is None


@pytest.mark.usefixtures("best_effort")
def test_shares_may_be_by_name(load_with: Load) -> None:
    records = [
        new_variant(variant.name, {}, variant.scenario)
        for variant in load_with(VARIED + "expect: {delivery: {fixed: 85%}, judged: {dynamic: 90%}}").variants()
    ]
    assert [record.expected_delivery for record in records] == [0.85, UNSET]
    assert [record.expected_judged for record in records] == [UNSET, 0.9]


@pytest.mark.parametrize(
    ("expect", "message"),
    [
        ("{p95: {dynamic: 1s}}", r":8: expect.p95.dynamic: there is no such variant; there are base"),
        ("{p95: {}}", r":8: expect.p95: names no variant; give a value for all of them"),
        ("{p95: {base: 5}}", r":8: expect.p95: base: a unit is missing in 5"),
        ("{messages: many}", r":8: expect.messages: expected a whole number such as 12_000, got 'many'"),
        ("{messages: -1}", r":8: expect.messages: expected a whole number such as 12_000, got -1"),
        ("{faster: {base: {than: fixed, by: 5%}}}", r":8: expect.faster.base.than: there is no variant 'fixed'"),
        ("{faster: {base: {than: base, by: 5%}}}", r":8: expect.faster.base.than: is the variant itself"),
        ("{faster: {base: {than: fixed}}}", r":8: expect.faster.base: give either `by`, .* or `within`"),
        ("{fewer: {base: {than: b, by: 1%, within: 1%}}}", r":8: expect.fewer.base: give either `by`, .* or `within`"),
        ("{fewer: {base: {than: b, by: 1%, figure: p95}}}", r":8: expect.fewer.base.figure: unknown field 'figure'"),
    ],
)
def test_a_mistake_in_a_limit_names_the_line_and_the_field(load_with: Load, expect: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        load_with(f"description: about limits\nexpect: {expect}")


@pytest.mark.usefixtures("best_effort")
@pytest.mark.parametrize(
    ("expect", "message"),
    [
        ("expect: {delivery: 120%}", r"scenario.yaml:7: expect.delivery: a share is at most 1, got '120%'"),
        (
            "expect: {delivery: most}",
            r"scenario.yaml:7: expect.delivery: expected a share such as 2%, got 'most'; or write `correct`",
        ),
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
