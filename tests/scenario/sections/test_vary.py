"""The `vary` field: what differs between the variants of a scenario."""

from __future__ import annotations

from pathlib import Path

import pytest

from scenario.loading import load, load_text
from scenario.model import Scenario
from scenario.yaml_files.errors import ScenarioError

BASE = """\
name: paired
topology: {kind: cyclic, brokers: 6, degree: 3}
routing: {protocol: tid}
workload: {publications: {publishers: 2, rate: 1/s}}
timeline: {join: 1s, run: 1s}
"""

SCHEMES = """\
vary:
  seed: [1, 2]
  scheme:
    plain: {routing.publications: fixed, topology: {kind: line, brokers: 6}}
    rich: {routing.publications: dynamic}
"""


def error(text: str) -> str:
    with pytest.raises(ScenarioError) as raised:
        load_text(BASE + text, "s.yaml")
    return str(raised.value)


def links(scenario: Scenario) -> int:
    return len(scenario.overlay().links)


def test_fields_vary_together() -> None:
    variants = load_text(BASE + SCHEMES, "s.yaml").variants()
    assert [variant.name for variant in variants] == ["1+plain", "1+rich", "2+plain", "2+rich"]
    plain, rich = variants[:2]
    assert (links(plain.scenario), links(rich.scenario)) == (5, 9)
    assert plain.scenario.routing.options == {"publications": "fixed"}
    assert rich.scenario.routing.options == {"publications": "dynamic"}
    assert plain.settings == {"seed": 1, "routing.publications": "fixed", "topology": {"kind": "line", "brokers": 6}}
    assert rich.settings == {"seed": 1, "routing.publications": "dynamic"}
    assert plain.scenario.workload == rich.scenario.workload


def test_a_setting_of_nothing_is_the_scenario_itself() -> None:
    text = "vary: {scheme: {base: {}, line: {topology: {kind: line, brokers: 6}}}}\n"
    base = load_text(BASE + text, "s.yaml").variants()[0]
    assert (base.name, base.settings, links(base.scenario)) == ("base", {}, 9)


def test_the_resolved_scenario_varies_alike() -> None:
    scenario = load_text(BASE + SCHEMES, "s.yaml")
    assert Scenario.model_validate(scenario.resolved()).variants() == scenario.variants()


def test_a_field_that_is_set_does_not_vary_with_others(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(BASE + SCHEMES)
    line = load(file, {"routing.publications": "fixed"}).variants()
    assert [(variant.name, links(variant.scenario)) for variant in line[:2]] == [("1+plain", 5), ("1+rich", 9)]
    assert {variant.scenario.routing.options["publications"] for variant in line} == {"fixed"}
    neither = load(file, {"routing": "{protocol: tid}", "topology": "{kind: ring, brokers: 6}"}).variants()
    assert [variant.name for variant in neither] == ["1", "2"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "vary:\n  scheme:\n    one: {routing.publications: fixed}\n    two: {routing.publications: fixes}\n",
            "s.yaml:9: vary.scheme.two.routing.publications: variant two: unknown value 'fixes'; did you mean 'fixed'?",
        ),
        (
            "vary:\n  scheme:\n    one: {}\n    two:\n      timeline.run: 5\n",
            "s.yaml:10: vary.scheme.two.timeline.run: variant two: timeline.run: a unit is missing in 5: "
            "write a duration with one of s, ms, us, ns, min, h",
        ),
        (
            "vary: {scheme: {one: {protocol: tid}}}\n",
            "s.yaml:6: vary: scheme.one: 'protocol' is not a field of a scenario: write dotted paths such as "
            "routing.protocol, or correct the name of the varied field",
        ),
        (
            "vary: {seed: [1, 2], scheme: {one: {seed: 3}}}\n",
            "s.yaml:6: vary: seed varies in both seed and scheme; leave one of them out",
        ),
        ("vary: {scheme: {one: {name: x}}}\n", "s.yaml:6: vary: name cannot vary; leave it out of `vary`"),
        (
            "vary: {scheme: [1, 2]}\n",
            "s.yaml:6: vary.scheme: variant 1: scheme: unknown field 'scheme'; did you mean 'seed'?",
        ),
    ],
)
def test_mistakes(text: str, message: str) -> None:
    assert error(text) == message
