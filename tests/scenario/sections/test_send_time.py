"""`topology.link.send_time`, in each way and place it can be written."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from record.service_time import Distribution, ServiceTime
from scenario.loading import load
from scenario.model import Scenario
from scenario.yaml_files.errors import ScenarioError

SCENARIO = """\
name: remote-calls
topology:
  kind: explicit
  link: {delay: 1ms, send_time: 5.8ms}
  links:
    - [B1, B2]
    - {between: [B2, B3], send_time: {mean: 2ms, distribution: exponential}, backward: {delay: 2ms}}
    - {between: [B3, B4], backward: {send_time: 1ms}}
routing: {protocol: tid, publications: fixed}
workload: {operations: [{at: 1s, client: P1, broker: B1, id: a1, advertise: "[class,eq,'STOCK']"}]}
timeline: {join: 2s, run: 10s}
"""
EXPONENTIAL = ServiceTime(mean=0.002, distribution=Distribution.EXPONENTIAL)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "s.yaml"
    path.write_text(SCENARIO)
    return path


def sending(scenario: Scenario, a: str, b: str) -> tuple[ServiceTime, ServiceTime]:
    link = scenario.overlay().link(a, b)
    return link.forward.send_time, link.backward.send_time


def test_links_and_their_directions_have_send_times_of_their_own(file: Path) -> None:
    scenario = load(file)
    assert sending(scenario, "B1", "B2") == (ServiceTime(mean=0.0058), ServiceTime(mean=0.0058))
    assert sending(scenario, "B2", "B3") == (EXPONENTIAL, ServiceTime())
    assert sending(scenario, "B3", "B4") == (ServiceTime(mean=0.0058), ServiceTime(mean=0.001))


@pytest.mark.parametrize("text", ["5.8ms", "4ms..8ms", "{mean: 2ms, distribution: exponential}"])
def test_a_resolved_scenario_has_the_same_send_times(file: Path, text: str) -> None:
    scenario = load(file, {"topology": f"{{kind: ring, brokers: 3, link: {{send_time: {text}}}}}"})
    again = Scenario.model_validate(yaml.safe_load(yaml.safe_dump(scenario.resolved())))
    assert again.overlay() == scenario.overlay()
    assert sending(scenario, "B1", "B2")[0]


def test_each_link_draws_its_mean_from_a_range(file: Path) -> None:
    scenario = load(file, {"topology.link.send_time": "4ms..8ms"})
    forward, backward = sending(scenario, "B1", "B2")
    assert forward == backward and 0.004 < forward.mean < 0.008 and forward.distribution is Distribution.CONSTANT
    assert forward.mean != sending(scenario, "B3", "B4")[0].mean


def test_a_send_time_moves_no_other_draw_and_is_none_by_default(file: Path) -> None:
    file.write_text(SCENARIO.replace("delay: 1ms", "delay: 1ms..9ms, jitter: 1ms..2ms"))
    with_time = load(file).overlay().link("B1", "B2").forward
    file.write_text(file.read_text().replace(", send_time: 5.8ms", ""))
    without = load(file)
    assert "send_time" not in without.resolved()["topology"]["link"]
    assert not sending(without, "B1", "B2")[0]
    bare = without.overlay().link("B1", "B2").forward
    assert (bare.delay, bare.jitter) == (with_time.delay, with_time.jitter)


MISTAKES = {
    "5.8": "a unit is missing in 5.8: write a duration with one of s, ms, us, ns, min, h",
    "{mean: 2ms, distribution: uniform}": "deviation: a uniform time needs one above 0",
    "{mean: 2ms, distribution: normal}": "must be 'constant', 'uniform', 'exponential' or 'lognormal', not 'normal'",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_name_file_line_and_field(file: Path, text: str) -> None:
    file.write_text(SCENARIO.replace("send_time: 5.8ms", f"send_time: {text}"))
    with pytest.raises(ScenarioError) as raised:
        load(file)
    assert "s.yaml:4: topology.link.send_time" in str(raised.value)
    assert str(raised.value).endswith(MISTAKES[text])


def test_a_resolved_list_of_links_keeps_to_the_link_section(file: Path) -> None:
    scenario = load(file)
    again = Scenario.model_validate(yaml.safe_load(yaml.safe_dump(scenario.resolved())))
    assert again.overlay() == scenario.overlay()
