"""The `faults` section: what it takes, what it means, and what is said of what cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from record.faults import FaultKind
from record.service_time import Distribution, ServiceTime
from scenario.faults import Counter, CountReached, FaultSchedule, Moment, Phase, plan
from scenario.faults.conditions import (
    Condition,
    Corrupted,
    Cut,
    Degraded,
    Down,
    LinkChange,
    Paused,
    Reset,
    Slowed,
    Throttled,
)
from scenario.faults.programs import Hold, Lift, Program, Repeat, Sequence, Wait
from scenario.loading import load
from scenario.model import Scenario
from scenario.yaml_files.errors import ScenarioError
from topology.link_properties import LinkDirection

HEAD = """\
name: small
topology: {kind: explicit, links: [[B1, B2], [B2, B3], [B3, B1], [B3, B4]]}
routing: {protocol: tid}
workload:
  publications: {publishers: 2, rate: 60/min}
timeline: {join: 10s, run: 60s}
faults:
"""
AB, BA = LinkDirection("B1", "B2"), LinkDirection("B2", "B1")


def scenario(tmp_path: Path, *entries: str) -> Scenario:
    path = tmp_path / "s.yaml"
    path.write_text(HEAD + "".join(f"  - {{{entry}}}\n" for entry in entries))
    return load(path)


def schedule(loaded: Scenario) -> FaultSchedule:
    return plan(loaded.faults, loaded.overlay(), join=10, run=60, seed=loaded.seed)


def first(tmp_path: Path, *entries: str) -> Program:
    return schedule(scenario(tmp_path, *entries)).entries[0].program


def hold(*conditions: Condition, seconds: float | None = None) -> Hold:
    return Hold(conditions, seconds)


PROGRAMS: dict[str, Program] = {
    "kill: B1": hold(Down("B1", FaultKind.KILL)),
    "kill: [B1, B3], for: 20s": hold(Down("B1", FaultKind.KILL), Down("B3", FaultKind.KILL), seconds=20),
    "stop: hub": hold(Down("B3", FaultKind.STOP)),
    "pause: cut-vertex, for: 1.5s": hold(Paused("B3"), seconds=1.5),
    "slow: B1, cpu: 0.2": hold(Throttled("B1", 0.2)),
    "slow: B1, service_time: 5ms": hold(Slowed("B1", ServiceTime(mean=0.005))),
    "slow: B1, service_time: {mean: 5ms, distribution: exponential}": hold(
        Slowed("B1", ServiceTime(mean=0.005, distribution=Distribution.EXPONENTIAL))
    ),
    "link_down: B1-B2, for: 5s": hold(Cut(AB), Cut(BA), seconds=5),
    "link_down: B1->B2": hold(Cut(AB)),
    "link_down: bridge": hold(Cut(LinkDirection("B3", "B4")), Cut(LinkDirection("B4", "B3"))),
    "partition: [B4, rest], for: 9s": hold(Cut(LinkDirection("B3", "B4")), Cut(LinkDirection("B4", "B3")), seconds=9),
    "partition: {from: [B1, B4], to: [B2]}": hold(Cut(AB)),
    "degrade: B1->B2, delay: 50ms, loss: 5%": hold(Degraded(AB, LinkChange(delay=0.05, loss=0.05))),
    "degrade: B1->B2, jitter: 5ms, bandwidth: 1mbit": hold(Degraded(AB, LinkChange(jitter=0.005, rate=1e6))),
    "degrade: B1->B2, send_time: 20ms": hold(Degraded(AB, LinkChange(send_time=ServiceTime(mean=0.02)))),
    "degrade: B1->B2, send_time: {mean: 20ms, distribution: exponential}": hold(
        Degraded(AB, LinkChange(send_time=ServiceTime(mean=0.02, distribution=Distribution.EXPONENTIAL)))
    ),
    "corrupt: B1->B2, share: 1%, for: 1s": hold(Corrupted(AB, 0.01), seconds=1),
    "reset: B1-B2": hold(Reset(AB), Reset(BA), seconds=0),
    "flap: B1->B2, down: 1s, up: 2s": Repeat(Sequence((hold(Cut(AB), seconds=1), Wait(2.0)))),
    "flap: B1->B2, down: 1s, up: 2s, times: 4": Repeat(Sequence((hold(Cut(AB), seconds=1), Wait(2.0))), 4),
    "flap: B1->B2, down: 1s, up: 2s, for: 10s": Repeat(Sequence((hold(Cut(AB), seconds=1), Wait(2.0))), 4),
}


@pytest.mark.parametrize("entry", PROGRAMS)
def test_what_entries_mean(tmp_path: Path, entry: str) -> None:
    assert first(tmp_path, f"at: 20s, {entry}") == PROGRAMS[entry]


LIFTS: dict[str, tuple[Program, str]] = {
    "restart: B1": (Lift(Down, frozenset({"B1"})), "kill: B1"),
    "resume: [B1, B2]": (Lift(Paused, frozenset({"B1", "B2"})), "pause: [B1, B2]"),
    "link_up: B1-B2": (Lift(Cut, frozenset({AB, BA})), "partition: [B1, rest]"),
    "heal: all": (Lift(), "kill: B1"),
}


@pytest.mark.parametrize("entry", LIFTS)
def test_what_ends_others(tmp_path: Path, entry: str) -> None:
    program, fault = LIFTS[entry]
    assert first(tmp_path, f"at: 30s, {entry}", f"at: 20s, {fault}") == program


TIMES = {
    "at: 60s": Moment(60.0),
    "at: 0": Moment(0.0),
    "at: join+2s": Moment(2.0),
    "at: run": Moment(0.0, Phase.RUN),
    "at: run+500ms": Moment(0.5, Phase.RUN),
    "at: run + 10s": Moment(10.0, Phase.RUN),
    "after: 1000 notifications": CountReached(1000, Counter.NOTIFICATIONS),
    "after: 5 publications": CountReached(5, Counter.PUBLICATIONS),
}


@pytest.mark.parametrize("time", TIMES)
def test_times(tmp_path: Path, time: str) -> None:
    assert scenario(tmp_path, f"{time}, kill: B1").faults[0].when == TIMES[time]


@pytest.mark.parametrize("entry", [*(f"at: 20s, {entry}" for entry in PROGRAMS), *(f"{t}, kill: B1" for t in TIMES)])
def test_a_resolved_scenario_means_the_same(tmp_path: Path, entry: str) -> None:
    given = scenario(tmp_path, entry)
    again = tmp_path / "again.yaml"
    again.write_text(yaml.safe_dump(given.resolved()))
    assert load(again).faults == given.faults
    assert schedule(load(again)) == schedule(given)


def test_faults_may_vary(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(HEAD.replace("faults:\n", "vary: {faults: [[], [{at: 20s, kill: B1, for: 5s}]]}\n"))
    calm, stormy = load(path).variants()
    assert calm.scenario.faults == ()
    assert schedule(stormy.scenario).entries[0].program == hold(Down("B1", FaultKind.KILL), seconds=5)


# ruff: noqa: E501 - a message stands on one line
MISTAKES = {
    "at: 60s": "faults[0]: needs exactly one of kill, stop, restart, pause, resume, slow, partition, link_down, "
               "link_up, flap, degrade, corrupt, reset, disturb, crash, vanish, move, heal; got none",
    "at: 60s, kill: B1, stop: B2": "faults[0]: needs exactly one of kill, stop, restart, pause, resume, slow, "
               "partition, link_down, link_up, flap, degrade, corrupt, reset, disturb, crash, vanish, move, heal; got kill, stop",
    "at: 60s, kil: B1": "faults[0].kil: unknown field 'kil'; did you mean 'kill'?",
    "kill: B1": "faults[0]: needs `at` or `after`, and not both",
    "at: 1s, after: 1 publications, kill: B1": "faults[0]: needs `at` or `after`, and not both",
    "at: 60, kill: B1": "faults[0].at: a unit is missing in 60: write a duration with one of s, ms, us, ns, min, h",
    "at: drain+1s, kill: B1": "faults[0].at: there is no phase 'drain': write 60s, join+5s or run+10s",
    "at: run+1, kill: B1": "faults[0].at: a unit is missing in '1': write a duration with one of s, ms, us, ns, min, h",
    "at: 70s, kill: B1": "faults[0].at: 70 s after the start, but all faults end with the run phase, at 70 s",
    "after: 10 messages, kill: B1": "faults[0].after: expected a count of notifications or publications, such as 1000 "
               "notifications; got '10 messages'",
    "after: 0 publications, kill: B1": "faults[0].after: expected a count of notifications or publications, such as 1000 "
               "notifications; got '0 publications'",
    "at: 60s, kill: B9": "faults[0].kill: the overlay has no broker 'B9'; write a broker, random(n), or one of cut-vertex, "
               "hub, edge-broker, busiest",
    "at: 60s, kill: []": "faults[0].kill: needs at least 1, got []",
    "at: 60s, kill: 7": "faults[0].kill: must be a list, not 7",
    "at: 60s, link_down: B1-B4": "faults[0].link_down: B1 and B4 are not linked",
    "at: 60s, link_down: links-between(cluster)": "faults[0].link_down: the overlay has no links whose ends differ in the attribute 'cluster'",
    "at: 60s, restart: B1": "faults[0].restart: nothing to heal: no fault of this scenario is to hit B1 so",
    "at: 60s, restart: B1, for: 1s": "faults[0]: `for` does not belong to restart",
    "at: 60s, kill: B1, cpu: 0.5": "faults[0]: `cpu` does not belong to kill",
    "at: 60s, slow: B1": "faults[0]: slow needs exactly one of cpu, service_time",
    "at: 60s, slow: B1, cpu: 0.5, service_time: 1ms": "faults[0]: slow needs exactly one of cpu, service_time",
    "at: 60s, degrade: B1-B2": "faults[0]: degrade needs at least one of delay, jitter, loss, bandwidth, send_time",
    "at: 60s, degrade: B1-B2, send_time: 1ms..2ms": "faults[0].send_time: unknown unit 'ms..2ms' in '1ms..2ms': write a duration with one of s, ms, us, ns, min, h",
    "at: 60s, degrade: B1-B2, send_time: {mean: 1s, distribution: uniform}": "faults[0].send_time.distribution: deviation: a uniform time needs one above 0",
    "at: 60s, flap: B1-B2, down: 1s": "faults[0]: flap needs `up`",
    "at: 60s, flap: B1-B2, down: 1s, up: 0": "faults[0]: `down` and `up` must be more than 0",
    "at: 60s, flap: B1-B2, down: 1s, up: 1s, for: 9s, times: 2": "faults[0]: give `for` or `times`, and not both",
    "at: 60s, partition: [[B1, B2]]": "faults[0].partition: needs at least 2, got [['B1', 'B2']]",
    "at: 60s, partition: {from: B1}": "faults[0].partition.to: this field is required",
    "at: 60s, partition: {form: B1, to: B2}": "faults[0].partition.form: unknown field 'form'; did you mean 'from'?",
    "at: 60s, partition: [B1, B4]": "faults[0].partition: no link leads from one group to another",
    "at: 60s, reset: B1-B2, for: 1s": "faults[0]: `for` does not belong to reset",
    "at: 60s, disturb: B1-B2": "faults[0]: disturb needs at least one of lose, repeat, hold",
    "at: 60s, disturb: B1-B2, hold: 2%": "faults[0].hold: expected a share by a duration, such as 2% by 50ms; got '2%'",
    "at: 60s, disturb: B1-B2, hold: 2% by 0s": "faults[0].hold: messages are held back for a time above 0",
    "at: 60s, disturb: B1-B2, lose: 60%, repeat: 50%": "faults[0]: lose, repeat and hold are shares from 0 to 1, and 1 together at most",
    "at: 60s, disturb: B1-B2, lose: 1%": "faults[0].disturb: tid does not promise to survive messages that are lost, repeated or held back; remove it",
    "at: 60s, heal: B1": "faults[0].heal: must be 'all', not 'B1'",
}  # fmt: skip


@pytest.mark.parametrize("entry", MISTAKES)
def test_mistakes_are_told_with_file_line_and_field(tmp_path: Path, entry: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        scenario(tmp_path, entry)
    assert str(raised.value).replace(f"{tmp_path}/", "") == f"s.yaml:8: {MISTAKES[entry]}"
