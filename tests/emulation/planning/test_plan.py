"""From a scenario to the inputs of each process."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from emulation.faults import capabilities
from emulation.planning.plan import (
    PUBLISHERS,
    SUBSCRIBERS,
    Plan,
    make_plan,
    make_run_id,
    write_driver_inputs,
)
from record.errors import BadInputError, HostError
from record.service_time import ServiceTime
from scenario.loading import load, load_text
from scenario.workload.operations import OperationKind, read_operations
from topology.files import save
from topology.link_properties import Link, LinkProperties
from topology.model import Broker, Overlay

SCENARIO = """
name: two-ways
topology: {kind: ring, brokers: 4, link: {delay: 2ms}}
routing: {protocol: tid, publications: fixed}
workload:
  publications: {source: stocks, publishers: 3, rate: 10/s}
  subscriptions: {subscribers: 6, selectivity: 5%}
brokers: {cpu: 0.5, memory: 100MB, service_time: 1ms}
timeline: {join: 2s, run: 3s, drain: 1s}
vary: {routing.publications: [fixed, dynamic]}
seed: 11
"""


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    path = tmp_path_factory.mktemp("scenario") / "two.yaml"
    path.write_text(SCENARIO)
    return make_plan(load(path))


def test_variants_differ_in_what_is_varied_and_in_nothing_else(plan: Plan, tmp_path: Path) -> None:
    fixed, dynamic = plan.variants
    assert [dict(variant.settings) for variant in plan.variants] == [
        {"routing.publications": "fixed"},
        {"routing.publications": "dynamic"},
    ]
    assert fixed.overlay == dynamic.overlay
    operations = []
    for variant in plan.variants:
        (directory := tmp_path / variant.name).mkdir()
        operations.append([driver.path.read_bytes() for driver in write_driver_inputs(variant.workload, directory)])
    assert operations[0] == operations[1]
    assert fixed.broker_settings.options == {"publications": "fixed"}
    assert dynamic.broker_settings.options == {"publications": "dynamic"}


def test_what_the_scenario_says_of_brokers_reaches_them(plan: Plan) -> None:
    settings = plan.variants[1].broker_settings
    assert (settings.protocol, settings.seed, settings.variant) == ("tid", 11, plan.variants[1].name)
    assert settings.service_time == ServiceTime(mean=0.001)
    assert settings.limits == plan.variants[1].scenario.brokers.limits.limits()
    resources = plan.variants[1].resources
    assert (resources.cpu, resources.memory) == (0.5, 100_000_000)


def test_publishers_and_subscribers_have_drivers_of_their_own(plan: Plan, tmp_path: Path) -> None:
    inputs = {driver.name: driver for driver in write_driver_inputs(plan.variants[0].workload, tmp_path)}
    assert set(inputs) == {PUBLISHERS, SUBSCRIBERS}
    written = {name: list(read_operations(driver.path)) for name, driver in inputs.items()}
    kinds = {name: {operation.operation for operation in operations} for name, operations in written.items()}
    assert kinds == {
        PUBLISHERS: {OperationKind.ADVERTISE, OperationKind.PUBLISH},
        SUBSCRIBERS: {OperationKind.SUBSCRIBE},
    }
    assert inputs[PUBLISHERS].publications == sum(
        operation.operation is OperationKind.PUBLISH for operation in written[PUBLISHERS]
    )
    for name, operations in written.items():
        assert [operation.at for operation in operations] == sorted(operation.at for operation in operations)
        assert inputs[name].clients == {operation.client: operation.broker for operation in operations}


def test_a_client_that_does_both_stays_in_one_driver(tmp_path: Path) -> None:
    path = tmp_path / "both.yaml"
    path.write_text("""
name: both
topology: {kind: line, brokers: 2}
routing: {protocol: tid, publications: fixed}
workload:
  operations:
    - {at: 0s, client: C1, broker: B1, id: a1, advertise: "[class,eq,'STOCK']"}
    - {at: 0s, client: C1, broker: B1, id: s1, subscribe: "[class,eq,'STOCK']"}
    - {at: 1s, client: C1, broker: B1, publish: "[class,'STOCK']"}
timeline: {join: 1s, run: 1s}
""")
    (only,) = write_driver_inputs(make_plan(load(path)).variants[0].workload, tmp_path)
    assert only.name == PUBLISHERS
    assert only.operations == 3


def test_a_run_id_sorts_by_time_and_can_be_a_path_and_a_containers_name() -> None:
    moment = datetime(2026, 1, 31, 23, 59, 58, tzinfo=UTC)
    assert make_run_id("Cyclic / 30 brokers!", moment, "1a2b") == "20260131T235958Z-cyclic-30-brokers-1a2b"
    assert make_run_id("…", moment, "1a2b") == "20260131T235958Z-run-1a2b"


@pytest.mark.parametrize("runtime", ["process", "simulated"])
def test_a_cpu_quota_takes_containers(plan: Plan, runtime: str) -> None:
    plan.require_possible("container")
    with pytest.raises(HostError, match=f"brokers.cpu: a CPU quota needs containers, and the runtime is {runtime}"):
        plan.require_possible(runtime)


def test_a_broker_does_not_share_its_log_with_a_driver(tmp_path: Path) -> None:
    overlay = Overlay("named", (Broker("publishers"), Broker("B2")), (Link("publishers", "B2"),))
    save(overlay, tmp_path / "named.json")
    path = tmp_path / "named.yaml"
    path.write_text(re.sub("topology: .*", f"topology: {{kind: file, path: {tmp_path / 'named.json'}}}", SCENARIO))
    with pytest.raises(BadInputError, match="topology: broker publishers: the name is that of a log"):
        make_plan(load(path))


MOVES = """
name: moves
topology: {kind: line, brokers: 3, link: {delay: 1ms}}
routing: {protocol: tid}
workload:
  publications: {source: stocks, publishers: 1, rate: 1/s, placement: [B1]}
  subscriptions: {subscribers: 2, selectivity: 50%, placement: [B2]}
clients:
  sites: {berlin: {broker: B2, clients: S1, delay: 5ms, to_clients: {delay: 9ms}}, oslo: {broker: B3, clients: S2}}
faults:
  - {at: 1s, move: berlin, to: B3}
  - {at: 2s, move: berlin, to: B1, handover: make before break}
  - {at: 4s, move: berlin, to: B2}
  - {at: 5s, move: berlin, to: B3}
  - {at: 6s, move: S1, to: oslo}
timeline: {join: 1s, run: 8s, drain: 1s}
"""


def test_access_links_of_planned_moves_are_wired_from_the_start() -> None:
    (plan,) = make_plan(load_text(MOVES, "moves")).variants
    up, down = LinkProperties(delay=0.005), LinkProperties(delay=0.009)
    assert plan.later_access == (Link("berlin", "B3", up, down), Link("berlin", "B1", up, down))
    assert [(link.a, link.b) for link in plan.networked.links[2:]] == [
        ("berlin", "B2"), ("oslo", "B3"), ("berlin", "B3"), ("berlin", "B1"),
    ]  # fmt: skip


def test_more_access_links_than_a_host_makes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = make_plan(load_text(MOVES, "moves"))
    plan.require_possible("process")
    monkeypatch.setattr(capabilities, "MOST_LATER_ACCESS_LINKS", 1)
    plan.require_possible("simulated")
    with pytest.raises(HostError, match=r"lead over 2 further access links, .* 1 is the most: name fewer"):
        plan.require_possible("process")
