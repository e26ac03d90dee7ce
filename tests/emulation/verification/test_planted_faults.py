"""Faults that do not happen, or happen otherwise than planned: the verdict alone has to say so, and to name them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from broker_service.core.disturber import Disturber
from emulation.fidelity import thresholds
from emulation.planning.plan import make_plan
from emulation.simulation.fault_observer import SimulatedObserver
from emulation.simulation.links import Direction
from emulation.simulation.overlay_brokers import SimulatedBrokers
from emulation.simulation.overlay_links import SimulatedLinks
from emulation.simulation.run import simulate
from emulation.verification.seen import BrokerSeen
from record.fidelity import Check, FidelityVerdict
from scenario.loading import load

SCENARIO = """
name: planted
topology: {kind: ring, brokers: 6, link: {delay: 5ms, jitter: 0.5ms, bandwidth: 10mbit}}
routing: {protocol: tid, publications: dynamic}
workload:
  publications: {publishers: 3, rate: 20/s, placement: [B1, B4]}
  subscriptions: {subscribers: 6, selectivity: 50%}
timeline: {join: 1s, run: 6s, drain: 3s}
brokers: {limits: {heartbeat: 500ms}}
faults:
  - {at: run+500ms, kill: B2, for: 1s}
  - {at: run+2s, stop: B2, for: 1s}
  - {at: run+500ms, pause: B5, for: 1s}
  - {after: 30 publications, slow: B3, service_time: 20ms, for: 1500ms}
  - {at: run+2s, degrade: B3-B4, delay: 30ms, for: 1s}
  - {at: run+2s, degrade: B5-B6, loss: 10%, for: 1s}
  - {at: run+2s, degrade: B6-B1, bandwidth: 1mbit, for: 1s}
  - {at: run+2s, degrade: B4-B5, jitter: 5ms, for: 1s}
  - {at: run+3500ms, corrupt: B3-B4, share: 10%, for: 1s}
  - {at: run+4s, link_down: B6->B1, for: 800ms}
  - {at: run+4s, partition: [[B5], [B4]], for: 800ms}
  - {at: run+4s, reset: B2-B3}
  - {at: run+5s, link_down: B5-B6}
seed: 3
"""
DISTURBED = """
name: disturbed
topology: {kind: redundant-tree, tree: [[p1, a], [a, s1]], replicas: 2, link: {delay: 2ms}}
routing: {protocol: gryphon, paths: message}
workload:
  kind: topics
  publications: {topics: 4, rate: 20/s, placement: [p1]}
  subscriptions: [{subscribers: 4, topics_each: 4, placement: [s1]}]
timeline: {join: 2s, run: 4s, drain: 4s}
faults:
  - {at: run+500ms, disturb: links-between(node), lose: 20%, repeat: 20%, hold: 20% by 50ms, for: 2s}
seed: 3
"""
Wrap = Callable[[Any], Any]


def verdict(directory: Path, scenario: str) -> Check:
    file = directory / "planted.yaml"
    file.write_text(scenario, encoding="utf-8")
    (variant,) = simulate(make_plan(load(file)), directory / "runs").fidelity.variants
    (found,) = [check for check in variant.checks if check.name == thresholds.PLANNED_FAULTS.name]
    return found


def nothing(_: Any) -> Any:
    return lambda *_: None


def one_direction(cut: Any) -> Any:
    return lambda links, direction: cut(links, direction) if direction.source < direction.target else None


def too_fast(change: Any) -> Any:
    return lambda links, direction, given: change(links, direction, replace(given, delay=given.delay * 0.8))


def lossless(change: Any) -> Any:
    return lambda direction, given: change(direction, replace(given, loss=0.0))


def resumes_early(pause: Any) -> Any:
    def paused(brokers: Any, broker: str) -> None:
        pause(brokers, broker)
        brokers._events.after(0.4, lambda: brokers.resume(broker))

    return paused


def test_faults_that_happen_as_planned_are_verified_one_and_all(tmp_path: Path) -> None:
    found = verdict(tmp_path, SCENARIO)
    assert found.verdict is FidelityVerdict.VALID, found.detail
    assert "not verified" not in found.detail, found.detail


@pytest.mark.parametrize(
    ("owner", "method", "wrap", "named"),
    [
        (SimulatedBrokers, "kill", nothing, "kill of B2 at 1.5 s: it runs on, as incarnation 1"),
        (SimulatedBrokers, "stop", nothing, "stop of B2 at 3 s: it runs on"),
        (SimulatedBrokers, "pause", nothing, "pause of B5 at 1.5 s: it goes on working"),
        (SimulatedBrokers, "pause", resumes_early, "pause of B5 at 1.5 s"),
        (SimulatedBrokers, "resume", nothing, "resume of B5 at 2.5 s: it does nothing"),
        (SimulatedBrokers, "slow", nothing, "slow of B3"),
        (SimulatedLinks, "cut", nothing, "link_down of B6->B1 at 5 s"),
        (SimulatedLinks, "cut", one_direction, "link_down of B5->B4 at 5 s"),
        (SimulatedLinks, "restore", nothing, "link_up of B6->B1 at 5.8 s: none of"),
        (SimulatedLinks, "change", nothing, "degrade of B3->B4 at 3 s: a delay of 5."),
        (SimulatedLinks, "change", too_fast, "degrade of B3->B4 at 3 s: a delay of 24."),
        (Direction, "change", lossless, "degrade of B5->B6 at 3 s: 0 of"),
        (SimulatedLinks, "corrupt", nothing, "corrupt of B3->B4 at 4.5 s: 0 of"),
        (SimulatedBrokers, "reset", nothing, "reset of B2->B3 at 5 s: the stream of B2 to B3 stayed open"),
    ],
)
def test_faults_that_do_not_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: Any, method: str, wrap: Wrap, named: str
) -> None:
    monkeypatch.setattr("emulation.fidelity.planned_faults._SHOWN", 100)
    monkeypatch.setattr(owner, method, wrap(getattr(owner, method)))
    found = verdict(tmp_path, SCENARIO)
    assert found.verdict is FidelityVerdict.INVALID
    assert named in found.detail


def test_what_is_not_healed_at_the_end_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emulation.faults.injector.FaultInjector.heal", lambda _: [])
    found = verdict(tmp_path, SCENARIO)
    assert found.verdict is FidelityVerdict.INVALID
    assert "link_up of B5->B6 at 7 s: none of" in found.detail


@pytest.mark.parametrize(
    ("begun", "said"), [(2, "40 of 40 changes"), (10_000, "restart of B2 at 2.5 s: the broker was still starting")]
)
def test_a_broker_that_starts_slowly_is_no_fault_that_did_not_happen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begun: int, said: str
) -> None:
    """The broker of the second incarnation is seen to start at so many looks, and to answer afterwards."""
    looks = iter(range(10_000))
    see = SimulatedObserver.brokers

    def seen(observer: SimulatedObserver, brokers: Sequence[str]) -> Mapping[str, BrokerSeen]:
        found = dict(see(observer, brokers))
        if (second := found.get("B2")) is not None and second.incarnation == 2 and next(looks) < begun:
            found["B2"] = replace(second, works=False, incarnation=None, starting=True)
        return found

    monkeypatch.setattr(SimulatedObserver, "brokers", seen)
    found = verdict(tmp_path, SCENARIO)
    assert found.verdict is FidelityVerdict.VALID, found.detail
    assert said in found.detail


def test_disturbed_messages_are_verified_from_the_log(tmp_path: Path) -> None:
    found = verdict(tmp_path, DISTURBED)
    assert found.verdict is FidelityVerdict.VALID, found.detail


@pytest.mark.parametrize(
    ("owner", "method", "stub"),
    [
        (SimulatedBrokers, "disturb", lambda *_: None),
        (Disturber, "admitted", lambda disturber, neighbour, messages, *_: messages),
    ],
)
def test_messages_that_are_not_disturbed_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: Any, method: str, stub: Any
) -> None:
    monkeypatch.setattr(owner, method, stub)
    found = verdict(tmp_path, DISTURBED)
    assert found.verdict is FidelityVerdict.INVALID
    assert "disturb of" in found.detail
