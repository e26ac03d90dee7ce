"""`brokers.service_time`, in each way it can be written."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from record.service_time import Distribution, ServiceTime
from scenario.loading import load
from scenario.model import Scenario
from scenario.yaml_files.errors import ScenarioError

SCENARIO = """\
name: slow
topology: {kind: line, brokers: 2, link: {delay: 5ms}}
routing: {protocol: tid, publications: fixed}
workload: {operations: [{at: 1s, client: P1, broker: B1, id: a1, advertise: "[class,eq,'STOCK']"}]}
timeline: {join: 2s, run: 10s}
brokers:
  service_time: 2ms
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "s.yaml"
    path.write_text(SCENARIO)
    return path


WRITTEN = {
    "0": ServiceTime(),
    "2ms": ServiceTime(mean=0.002),
    "2ms..4ms": ServiceTime(mean=0.003, distribution=Distribution.UNIFORM, deviation=0.001),
    "3ms..3ms": ServiceTime(mean=0.003),
    "{mean: 2ms}": ServiceTime(mean=0.002),
    "{mean: 2ms, distribution: exponential}": ServiceTime(mean=0.002, distribution=Distribution.EXPONENTIAL),
    "{mean: 2ms, distribution: lognormal, deviation: 5ms}": ServiceTime(
        mean=0.002, distribution=Distribution.LOGNORMAL, deviation=0.005
    ),
}


@pytest.mark.parametrize("text", WRITTEN)
def test_written_service_times(file: Path, text: str) -> None:
    scenario = load(file, {"brokers.service_time": text})
    assert scenario.brokers.work() == WRITTEN[text]
    again = Scenario.model_validate(yaml.safe_load(yaml.safe_dump(scenario.resolved())))
    assert again.brokers.work() == WRITTEN[text]
    assert again.resolved() == scenario.resolved()


def test_none_by_default(file: Path) -> None:
    file.write_text(SCENARIO[: SCENARIO.index("brokers:\n")])
    scenario = load(file)
    assert not scenario.brokers.work()
    assert scenario.resolved()["brokers"]["service_time"] == "0s"


MISTAKES = {
    "2": "a unit is missing in 2: write a duration with one of s, ms, us, ns, min, h",
    "4ms..2ms": "the range '4ms..2ms' has its ends swapped",
    "[2ms, 4ms]": "expected a duration such as 5ms, got ['2ms', '4ms']",
    "{mean: 2ms, shape: exponential}": "unknown field 'shape'; there are deviation, distribution, mean",
    "{distribution: exponential}": "this field is required",
    "{mean: 2ms, distribution: normal}": ("must be 'constant', 'uniform', 'exponential' or 'lognormal', not 'normal'"),
    "{mean: 2ms, distribution: uniform}": "deviation: a uniform time needs one above 0",
    "{mean: 2ms, distribution: uniform, deviation: 3ms}": (
        "deviation: above the mean, so that times could be negative"
    ),
    "{mean: 2ms, distribution: exponential, deviation: 3ms}": ("deviation: exponential times have none of their own"),
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_name_file_line_and_field(file: Path, text: str) -> None:
    file.write_text(SCENARIO.replace("service_time: 2ms", f"service_time: {text}"))
    with pytest.raises(ScenarioError) as raised:
        load(file)
    assert "s.yaml:7: brokers.service_time" in str(raised.value)
    assert str(raised.value).endswith(MISTAKES[text])
    assert str(raised.value).count("\n") == 0


def test_a_service_time_varies(file: Path) -> None:
    file.write_text(f"{SCENARIO}vary: {{brokers.service_time: [1ms, 1ms..3ms, {{mean: 2ms}}]}}\n")
    variants = load(file).variants()
    assert [variant.scenario.brokers.work().mean for variant in variants] == [0.001, 0.002, 0.002]
