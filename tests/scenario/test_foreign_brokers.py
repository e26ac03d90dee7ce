"""Brokers of one's own in a scenario: contradictions are named with their fields; what is left reaches the brokers."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker_service.routing import read_options
from emulation.live_overlay.configuration import BrokerConfigs
from emulation.planning.plan import Plan, make_plan
from emulation.planning.variant_record import new_variant
from emulation.runtimes.interface import ForeignProgram
from record.contract import CONTRACT, ForeignBrokers
from record.errors import HostError
from record.promises import Loss, Order
from scenario.loading import load
from scenario.yaml_files.errors import ScenarioError

_SCENARIO = """\
name: mine
topology: {{kind: line, brokers: 3}}
routing: {{protocol: {protocol}}}
workload:
  operations: [{{at: 0s, client: P1, broker: B1, id: a1, advertise: "[class,eq,'A']"}}]
timeline: {{join: 1s, run: 4s, drain: 1s{timeline}}}
brokers: {{{brokers}}}
{rest}
"""

_AMONG_NATIVE = "level: 3, environment: {A: x}, individually: {B3: {command: [a], wire: cbf}}"


def _written(folder: Path, brokers: str, protocol: str = "foreign", timeline: str = "", rest: str = "") -> Path:
    file = folder / "mine.yaml"
    file.write_text(_SCENARIO.format(brokers=brokers, protocol=protocol, timeline=timeline, rest=rest))
    return file


def _plan(folder: Path, brokers: str, protocol: str = "foreign") -> Plan:
    return make_plan(load(_written(folder, brokers, protocol)))


@pytest.mark.parametrize(
    ("brokers", "field", "problem"),
    [
        ("level: 4, image: a", "brokers.level", "1"),
        ("level: 0, image: a", "brokers.level", "behind an adapter"),
        ("level: 2", "brokers", "level: is of brokers of your own; give their `image`, or their `command`"),
        ("command: [a]", "brokers", "command: is for brokers of your own; give their `level`"),
        ("level: 1, command: []", "brokers.command", "1"),
        ("level: 1, command: [a], environment: {A-B: c}", "brokers.environment.A-B", "'A-B' is not a variable's name"),
        (
            "level: 1, command: [a], environment: {A: 20}",
            "brokers.environment.A",
            'quotes round it in the file, as in `LIMIT: "20"`',
        ),
        (
            "level: 1, command: [a], environment: {A: true}",
            "brokers.environment.A",
            "must be text, not True: put quotes",
        ),
        ("level: 1, command: [a], environment: {A: [b]}", "brokers.environment.A", "must be a valid string, not ['b']"),
        ("level: 1, command: [a], individually: {B9: {command: [b]}}", "brokers.individually.B9", "no broker 'B9'"),
        ("level: 1, command: [a], individually: {B3: {image: b}}", "brokers", "B3 has an image"),
        ("level: 1, command: [a], individually: {B3: {level: 2}}", "brokers.individually.B3.level", "unknown field"),
        ("level: 3, individually: {B3: {image: a}}", "brokers", "B3 are brokerlab's brokers, and it does not declare"),
        ("level: 3, individually: {B3: {wire: cbf}}", "brokers", "B3 has neither an `image` nor a `command`"),
        (
            "level: 2, individually: {B3: {image: a, wire: cbf}}",
            "brokers",
            "brokers among brokerlab's own keep level 3",
        ),
        ("level: 3, image: a, individually: {B3: {wire: cbf}}", "brokers", "B3 has no neighbour that is brokerlab's"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_field(tmp_path: Path, brokers: str, field: str, problem: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        load(_written(tmp_path, brokers))
    assert field in str(raised.value)
    assert problem in str(raised.value)


@pytest.mark.parametrize(
    ("protocol", "brokers", "problem"),
    [
        ("foreign", "", "routing.protocol: foreign is the routing of brokers of your own: give `brokers.level`"),
        ("tid", "level: 1, command: [a]", "routing.protocol: brokers of your own route by themselves"),
        ("foreign, survives: {flood: nothing}", "level: 1, command: [a]", "there is no kind of fault 'flood'"),
        ("foreign, cache: 3", "level: 1, command: [a]", "has no option 'cache'"),
        ("foreign", _AMONG_NATIVE, "routing.protocol: brokerlab's own brokers are among these, and have no router"),
        ("tid", _AMONG_NATIVE, "B3.wire: B3 speaks the messages of cbf, and its neighbours route by tid"),
    ],
)
def test_routing_and_brokers_must_agree(tmp_path: Path, protocol: str, brokers: str, problem: str) -> None:
    with pytest.raises(ScenarioError, match="mine") as raised:
        load(_written(tmp_path, brokers, protocol))
    assert problem in str(raised.value)


@pytest.mark.parametrize(
    ("rest", "timeline", "field"),
    [
        ("faults: [{at: 2s, slow: B1, service_time: 1ms, for: 1s}]", "", "faults[0].slow"),
        ("faults: [{at: 2s, reset: B1-B2}]", "", "faults[0].reset"),
        ("faults: [{at: 2s, degrade: B1-B2, send_time: 1ms, for: 1s}]", "", "faults[0].degrade"),
        ("logs: {publications: 5%}", "", "logs"),
        ("time_dilation: auto", "", "time_dilation"),
        ("", ", withdraw: 5s", "timeline.withdraw"),
    ],
)
def test_a_level_is_not_asked_for_more_than_it_offers(tmp_path: Path, rest: str, timeline: str, field: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        load(_written(tmp_path, "level: 1, command: [a]", timeline=timeline, rest=rest))
    assert f"{field}:" in str(raised.value)


def test_each_broker_gets_what_is_its_own(tmp_path: Path) -> None:
    brokers = (
        "level: 2, image: my/broker, environment: {A: x}, processes: 512, scratch: 64MiB, "
        "individually: {B3: {image: other/broker, environment: {B: y}, memory: 1GiB}}"
    )
    (variant,) = _plan(tmp_path, brokers).variants
    of_all, of_third = variant.resources, variant.individual_resources["B3"]
    assert of_all.foreign is not None
    assert of_third.foreign is not None
    assert (of_all.processes, of_all.foreign.image, of_all.foreign.scratch) == (512, "my/broker", 64 << 20)
    assert (of_third.memory, of_third.foreign.image, of_third.foreign.level) == (1 << 30, "other/broker", 2)
    assert of_third.foreign.environment == {"A": "x", "B": "y"}
    assert of_all.image is None, "it is not one that is built on brokerlab's"


def test_a_program_of_this_host_is_found_beside_the_scenario(tmp_path: Path) -> None:
    (variant,) = _plan(tmp_path, "level: 1, command: [./broker, --fast, ../x]").variants
    assert variant.resources.foreign is not None
    assert variant.resources.foreign.command == (str(tmp_path / "broker"), "--fast", str(tmp_path.parent / "x"))


def test_brokers_find_their_own_options_and_the_judge_their_promises(tmp_path: Path) -> None:
    routing = "foreign, order: publisher, survives: {kill: nothing}, options: {cache: 3}"
    (variant,) = _plan(tmp_path, "level: 3, command: [a]", routing).variants
    configuration = BrokerConfigs(variant.overlay, variant.broker_settings).of("B1")
    assert (configuration.contract, configuration.protocol, configuration.options) == (
        CONTRACT,
        "foreign",
        {"cache": 3},
    )
    promises = new_variant("base", {}, variant.scenario).promises
    assert (promises.order, promises.loss("kill"), promises.loss("stop")) == (
        Order.PUBLISHER,
        Loss.NOTHING,
        Loss.IN_FLIGHT,
    )
    assert promises == read_options("foreign", variant.scenario.routing.options).promises
    assert new_variant("base", {}, variant.scenario).foreign == ForeignBrokers(contract=CONTRACT, level=3)


@pytest.mark.parametrize(
    ("brokers", "runtime", "problem"),
    [
        ("level: 1, command: [a]", "simulated", "the simulator has none for them"),
        ("level: 1, command: [a]", "container", "it is a program on this host, and the runtime is container"),
        ("level: 1, image: a", "process", "only containers have an image"),
        (_AMONG_NATIVE, "simulated", "the simulator has none for them"),
        (_AMONG_NATIVE, "container", "it is a program on this host, and the runtime is container"),
        (_AMONG_NATIVE.replace("command: [a]", "image: a"), "process", "only containers have an image"),
    ],
)
def test_a_runtime_that_cannot_start_them_says_so(tmp_path: Path, brokers: str, runtime: str, problem: str) -> None:
    with pytest.raises(HostError, match=problem):
        _plan(tmp_path, brokers, "cbf" if "wire" in brokers else "foreign").require_possible(runtime)


def test_a_broker_that_speaks_the_wire_is_among_native_ones(tmp_path: Path) -> None:
    (variant,) = _plan(tmp_path, _AMONG_NATIVE, "cbf").variants
    assert variant.resources.foreign is None
    third = variant.individual_resources["B3"].foreign
    assert third == variant.foreign == ForeignProgram(level=3, command=("a",), environment={"A": "x"})
    assert BrokerConfigs(variant.overlay, variant.broker_settings).of("B3").protocol == "cbf"
    recorded = new_variant("base", {}, variant.scenario)
    assert recorded.foreign == ForeignBrokers(contract=CONTRACT, level=3, among_native=["B3"])
    assert recorded.promises == read_options("cbf", {}).promises, "they are judged by the promises of the protocol"
