"""Deployed systems in a scenario: what they cannot do is refused, with the field and the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker_service.routing.systems import ActivemqOptions
from emulation.planning.plan import make_plan
from emulation.planning.variant_record import new_variant
from emulation.runtimes.interface import Resources
from record.contract import CONTRACT, ForeignBrokers
from record.errors import HostError
from scenario.loading import load
from scenario.yaml_files.errors import ScenarioError

_SCENARIO = """\
name: deployed
topology: {{kind: {kind}, brokers: 4}}
routing: {routing}
workload:
  operations: [{{at: 0s, client: P1, broker: B1, id: a1, advertise: "[class,eq,'A']"}}]
timeline: {{join: 1s, run: 4s, drain: 1s}}
{rest}
"""


def _written(folder: Path, routing: str, kind: str = "line", rest: str = "") -> Path:
    file = folder / "deployed.yaml"
    file.write_text(_SCENARIO.format(routing=routing, kind=kind, rest=rest))
    return file


def test_a_system_that_needs_many_threads_may_have_them(tmp_path: Path) -> None:
    plan = make_plan(load(_written(tmp_path, "{system: activemq}")))
    assert plan.variants[0].resources.processes == ActivemqOptions.processes > Resources().processes
    plan = make_plan(load(_written(tmp_path, "{system: activemq}", rest="brokers: {processes: 99}")))
    assert plan.variants[0].resources.processes == 99


@pytest.mark.parametrize(
    ("name", "kind"), [("mosquitto", "line"), ("zenoh", "line"), ("zenoh", "ring"), ("activemq", "line")]
)
def test_a_system_is_planned_as_brokers_of_level_0(tmp_path: Path, name: str, kind: str) -> None:
    plan = make_plan(load(_written(tmp_path, f"{{system: {name}}}", kind)))
    (variant,) = plan.variants
    foreign = variant.resources.foreign
    assert foreign is not None
    assert (foreign.level, foreign.system) == (0, name)
    record = new_variant("base", {}, variant.scenario)
    assert record.foreign == ForeignBrokers(contract=CONTRACT, level=0, system=name)
    assert not record.brokers_log
    with pytest.raises(HostError, match="real time"):
        plan.require_possible("simulated")
    plan.require_possible("container")


@pytest.mark.parametrize(
    ("routing", "kind", "rest", "message"),
    [
        ("{system: mosquitto}", "ring", "", r"topology: mosquitto runs on trees, and this overlay has 1 links more"),
        (
            "{system: activemq}",
            "ring",
            "",
            r"topology: activemq runs on trees.* keeps subscriptions to one link in a mesh",
        ),
        ("{system: rabbit}", "line", "", r"system: there is no system 'rabbit'; there are mosquitto, zenoh, activemq"),
        ("{system: activemq, conduit: 1}", "line", "", r"routing.conduit"),
        ("{system: zenoh, protocol: tid}", "line", "", r"system: a deployed system routes by itself"),
        ("{system: zenoh, quality: 1}", "line", "", r"routing.quality: the protocol zenoh has no option 'quality'"),
        ("{system: mosquitto, quality: 3}", "line", "", r"routing.quality: unknown value 3"),
        ("{system: mosquitto, topics: []}", "line", "", r"routing.topics"),
        ("{system: zenoh}", "line", "brokers: {level: 2, image: a}", r"brokers.image: brokerlab knows the servers"),
        ("{system: zenoh}", "line", "brokers: {level: 0}", r"write `routing: {system: mosquitto}`"),
        ("{system: zenoh}", "line", "faults: [{at: 2s, slow: B1, service_time: 1ms}]", r"slow: asks the brokers"),
        ("{system: zenoh}", "line", "time_dilation: auto", r"time_dilation: brokers of others cannot be rehearsed"),
    ],
)
def test_what_a_system_cannot_do_is_refused(tmp_path: Path, routing: str, kind: str, rest: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        load(_written(tmp_path, routing, kind, rest))
