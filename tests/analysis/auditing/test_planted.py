"""The audit of a run names links, service and send times that are not as they were asked for, and blames no others.

Each infidelity is planted into the simulator while it runs; only the verdict may show it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from broker_service.config import BrokerConfig
from emulation.planning.plan import make_plan
from emulation.simulation.links import Direction
from emulation.simulation.run import simulate
from record.service_time import ServiceTime
from scenario.loading import load_text
from topology.link_properties import LinkProperties

SCENARIO = """
name: audited
topology: {{kind: line, brokers: 3, link: {link}}}
routing: {{protocol: tid}}
workload:
  publications: {{source: stocks, publishers: 3, rate: {rate}}}
  subscriptions: {{subscribers: 6, selectivity: 40%}}
timeline: {{join: 4s, run: 10s, drain: 6s}}
brokers: {{service_time: {service}}}
seed: 3
"""

Plant = Callable[[pytest.MonkeyPatch], None]
DELAY, JITTER, LOSS, RATE = (f"{what} of links, by the messages" for what in ("delay", "jitter", "loss", "rate"))
SERVICE, SEND = "service times, by the messages", "send times of links, by the messages"


def wrong(directory: Path, *, link: str, service: str = "0s", rate: str = "20/s") -> dict[str, str]:
    """The checks that a run fails, with their details."""
    return wrong_in(SCENARIO.format(link=link, service=service, rate=rate), directory)


def wrong_in(scenario: str, directory: Path) -> dict[str, str]:
    """The checks that a run of this scenario fails, with their details."""
    plan = make_plan(load_text(scenario, "audited"))
    (variant,) = analyze(simulate(plan, directory).directory, PlainEngine()).variants
    assert (variant.fidelity == "INVALID") == any(check.verdict == "INVALID" for check in variant.audit)
    return {check.name: check.detail for check in variant.audit if check.verdict == "INVALID"}


def links_with(change: Callable[[LinkProperties], LinkProperties], patch: pytest.MonkeyPatch) -> None:
    """Has simulated links made of other properties than were asked for."""
    original = Direction.__init__

    def made(self: Direction, properties: LinkProperties, opposite: LinkProperties, seed: str) -> None:
        original(self, change(properties), opposite, seed)

    patch.setattr(Direction, "__init__", made)


def one_link_with(change: Callable[[LinkProperties], LinkProperties], patch: pytest.MonkeyPatch) -> None:
    """Has one direction of a simulated link, from B1 to B2, made of other properties than were asked for."""
    original = Direction.__init__

    def made(self: Direction, properties: LinkProperties, opposite: LinkProperties, seed: str) -> None:
        original(self, change(properties) if seed.endswith("B1-B2") else properties, opposite, seed)

    patch.setattr(Direction, "__init__", made)


def times_longer(method: str, patch: pytest.MonkeyPatch) -> None:
    """Draws times that are 1.3 times as long as asked."""
    original = getattr(BrokerConfig, method)

    def drawn(self: BrokerConfig, *arguments: object) -> Callable[[], int] | None:
        *others, time = arguments
        assert isinstance(time, ServiceTime)
        longer = ServiceTime(mean=1.3 * time.mean, distribution=time.distribution, deviation=1.3 * time.deviation)
        found: Callable[[], int] | None = original(self, *others, longer)
        return found

    patch.setattr(BrokerConfig, method, drawn)


def slower(properties: LinkProperties) -> LinkProperties:
    return replace(properties, delay=1.3 * properties.delay)


def lossless(properties: LinkProperties) -> LinkProperties:
    return replace(properties, loss=0.0)


def even(properties: LinkProperties) -> LinkProperties:
    return replace(properties, jitter=0.0)


def uneven(properties: LinkProperties) -> LinkProperties:
    return replace(properties, jitter=3 * properties.jitter)


def narrower(properties: LinkProperties) -> LinkProperties:
    return replace(properties, rate=None if properties.rate is None else properties.rate / 1.3)


PLAIN, UNEVEN, LOSSY = "{delay: 5ms}", "{delay: 10ms, jitter: 1ms}", "{delay: 5ms, loss: 8%}"
NARROW, SENDING = "{delay: 5ms, bandwidth: 60kbit}", "{delay: 2ms, send_time: 3ms}"


@pytest.mark.proof
@pytest.mark.parametrize(
    ("link", "others", "plant", "check", "named"),
    [
        (PLAIN, {}, partial(links_with, slower), DELAY, "B1 to B2: "),
        (PLAIN, {}, partial(one_link_with, slower), DELAY, "B1 to B2: "),
        (UNEVEN, {}, partial(links_with, even), JITTER, "B1 to B2: "),
        (UNEVEN, {}, partial(links_with, uneven), JITTER, "B1 to B2: "),
        (LOSSY, {}, partial(links_with, lossless), LOSS, "0 of "),
        (NARROW, {}, partial(links_with, narrower), RATE, " to "),
        (SENDING, {}, partial(times_longer, "send_times"), SEND, "B1 to B2: "),
        (PLAIN, {"service": "4ms"}, partial(times_longer, "service_times"), SERVICE, "B2: "),
    ],
)
def test_what_is_not_as_asked_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    link: str,
    others: dict[str, str],
    plant: Plant,
    check: str,
    named: str,
) -> None:
    assert wrong(tmp_path / "honest", link=link, **others) == {}
    plant(monkeypatch)
    found = wrong(tmp_path / "planted", link=link, **others)
    assert named in found[check]


def test_one_slow_direction_is_blamed_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one_link_with(slower, monkeypatch)
    found = wrong(tmp_path, link=PLAIN)
    assert found[DELAY].count(" to B") == 1


@pytest.mark.parametrize(
    ("link", "service"),
    [
        ("{delay: 3ms, jitter: 2ms, distribution: uniform}", "0s"),
        ("{delay: 9ms, jitter: 2ms, distribution: pareto}", "0s"),
        ("{delay: 1ms, bandwidth: 100kbit, loss: 2%}", "1ms..3ms"),
        ("{delay: 2ms, send_time: {mean: 3ms, distribution: exponential}}", "{mean: 2ms, distribution: exponential}"),
    ],
)
def test_an_honest_run_is_blamed_for_nothing(tmp_path: Path, link: str, service: str) -> None:
    assert wrong(tmp_path, link=link, service=service) == {}


def test_lost_frames_and_late_ones_are_counted_by_time(tmp_path: Path) -> None:
    assert wrong(tmp_path, link="{delay: 5ms, loss: 1%}", rate="60/s") == {}


def test_messages_that_a_fault_holds_back_are_no_slow_brokers(tmp_path: Path) -> None:
    scenario = """
name: held
topology: {kind: redundant-tree, tree: [[p, a], [a, s]], replicas: 2, link: {delay: 2ms}}
routing: {protocol: gryphon}
workload:
  publications: {source: stocks, publishers: 3, rate: 30/s, placement: [p]}
  subscriptions: {subscribers: 6, selectivity: 40%, placement: [s]}
timeline: {join: 4s, run: 10s, drain: 6s}
faults: [{at: run+1s, disturb: links-between(node), hold: 20% by 50ms, for: 8s}]
seed: 3
"""
    assert wrong_in(scenario, tmp_path) == {}
