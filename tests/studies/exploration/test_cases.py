"""Findings as conformance cases: the same steps with the same times between them, and what each client must get."""

from __future__ import annotations

from pathlib import Path

import pytest

from scenario.loading import load_text
from scenario.model import Scenario
from studies.conformance import Case, CaseVerdict, SimulatedCaseRunner, parse_cases, run_case
from studies.conformance.model import Arriving, ClientFault, Leaving
from studies.conformance.protocols import rows_of
from studies.exploration.cases import case_of, failing_case
from studies.exploration.judged_run import judging_room
from tests.studies.exploration.faulty import protocol_with

SCENARIO = """
name: pair
topology: {{kind: line, brokers: 3, link: {{delay: 5ms}}}}
routing: {{protocol: {protocol}}}
workload:
  operations:
    - {{at: 0s, client: P, broker: B1, id: a, advertise: "[class,eq,'A']"}}
    - {{at: 1s, client: S, broker: B3, id: s, subscribe: "[class,eq,'A']"}}
    - {{at: 4s, client: P, broker: B1, publish: "[class,'A']"}}
    - {{at: 12s, client: P, broker: B1, publish: "[class,'A']"}}
timeline: {{join: 3s, run: 10s, drain: 20s, withdraw: 20s}}
faults: [{{at: 5s, kill: B3, for: 500ms}}, {{at: run+3s, link_down: B1-B2, for: 1s}}]
"""


def case_that_shows(defect: str, scenario: Scenario) -> str:
    with judging_room() as room:
        return failing_case(scenario, "found", defect, room.expectations(scenario))


def test_a_case_has_the_operations_and_faults_in_order_of_time() -> None:
    case = case_of(load_text(SCENARIO.format(protocol="tid"), "pair"), "found")
    assert case is not None
    steps = [(step.op, step.wait) for step in case.steps]
    assert steps == [
        ("advertise", 1.0), ("subscribe", 3.0), ("publish", 1.0), ("kill", 0.5), ("restart", 0.5), ("link_down", 1.0),
        ("link_up", 5.0), ("publish", None),
    ]  # fmt: skip
    assert case.protocols == ("tid-fixed",)


def test_only_a_case_that_fails_is_written(tmp_path: Path) -> None:
    for defect, fails in (("notifies twice", True), ("none", False)):
        protocol = str(protocol_with(defect, tmp_path / defect))
        scenario = load_text(SCENARIO.format(protocol=protocol), "pair").model_copy(update={"faults": ()})
        text = case_that_shows("duplicated", scenario)
        assert bool(text) is fails
        if fails:
            (case,) = parse_cases(text, "found")
            assert isinstance(case, Case)
            assert case.expect == {"S": ("P:1", "P:2")}
            (row,) = rows_of(protocol)
            assert run_case(case, row, SimulatedCaseRunner()).verdict is CaseVerdict.FAILED


def test_what_no_case_can_state_makes_none() -> None:
    text = SCENARIO.format(protocol="tid")
    for part, other in (("link_down: B1-B2, for: 1s", "reset: B1-B2"), ("delay: 5ms", "delay: 5ms, loss: 1%")):
        assert case_of(load_text(text.replace(part, other), "pair"), "found") is None


SUBSCRIBED = """- {{at: 2s, client: T, broker: B1, id: t, subscribe: "[class,eq,'A']"}}"""
SITES = """
clients:
  sites:
    home: {{broker: B3, clients: [S], delay: 10ms}}
    other: {{broker: B1, clients: [T], delay: 20ms, jitter: 1ms}}
faults: [{fault}]
"""
MANY = SCENARIO[: SCENARIO.index("faults:")].replace("- {{at: 4s", f"{SUBSCRIBED}\n    - {{{{at: 4s") + SITES
BEFALLS = {
    "{at: 5s, move: home, to: B2}": [("leave", "unannounced"), ("arrive", "B2")],
    "{at: 5s, move: home, to: B2, handover: announced, away: 1s}": [("leave", "announced"), ("arrive", "B2")],
    "{at: 5s, move: S, to: other, handover: make before break}": [("arrive", "B1"), ("leave", "announced")],
    "{at: 5s, crash: home, for: 2s}": [("leave", "crash"), ("arrive", "B3")],
    "{at: 5s, vanish: home, for: 2s}": [("leave", "vanish"), ("arrive", "B3")],
    "{at: 5s, pause: S, for: 2s}": [("pause", None), ("continue", None)],
    "{at: 5s, link_down: home-B3, for: 2s}": [("access_down", None), ("access_up", None)],
}
"""Faults of clients on sites, and the steps of each with the way in which a client leaves or its broker."""


@pytest.mark.parametrize("fault", BEFALLS)
def test_clients_on_sites_do_in_a_case_what_they_do_in_the_scenario(fault: str, tmp_path: Path) -> None:
    protocol = str(protocol_with("notifies twice", tmp_path))
    scenario = load_text(MANY.format(protocol=protocol, fault=fault), "sites")
    text = case_that_shows("duplicated", scenario)
    (case,) = parse_cases(text, "found")
    assert isinstance(case, Case)
    befalls = [step for step in case.steps if isinstance(step, Leaving | Arriving | ClientFault)]
    ways = [getattr(step, "how", None) or getattr(step, "broker", None) for step in befalls]
    assert [(step.op, way) for step, way in zip(befalls, ways, strict=True)] == BEFALLS[fault]
    assert [(link.delay, link.jitter) for link in map(case.access.get, "ST") if link] == [(0.01, 0.0), (0.02, 0.001)]
    goal = next(step for step in befalls if isinstance(step, Arriving)) if "to: other" in fault else None
    assert goal is None or goal.access == case.access["T"]
    with judging_room() as room:
        came = {(row.client, row.publication) for row in room.expectations(scenario) if row.notifications}
    assert {(client, id) for client, ids in case.expect.items() for id in ids} == came


@pytest.mark.parametrize("how", ["away: 500ms", "handover: make before break, overlap: 500ms"])
def test_a_client_that_has_moved_can_crash(how: str) -> None:
    faults = f"{{at: 5s, move: home, to: B2, {how}}}, {{at: 8s, crash: home, for: 1s}}"
    case = case_of(load_text(MANY.format(protocol="tid", fault=faults), "sites"), "found")
    assert case is not None
    befalls = [step for step in case.steps if isinstance(step, Leaving | Arriving)]
    assert [step.op for step in befalls[2:]] == ["leave", "arrive"]
    assert befalls[-1].broker == "B2"


def test_publications_of_a_client_that_does_not_run_are_none(tmp_path: Path) -> None:
    text = MANY.format(protocol="tid", fault="{at: 11s, crash: P, for: 1500ms}")
    case = case_of(load_text(text.replace("clients: [T]", "clients: [T, P]"), "sites"), "found")
    assert case is not None
    assert case.published == ["P:1"]


@pytest.mark.parametrize("further", ["loss: 1%", "reads: 9/s", "to_clients: {delay: 1ms}"])
def test_sites_that_no_case_can_state_make_none(further: str) -> None:
    text = MANY.format(protocol="tid", fault="{at: 5s, move: home, to: B2}")
    assert case_of(load_text(text, "sites"), "found") is not None
    assert case_of(load_text(text.replace("delay: 10ms", f"delay: 10ms, {further}"), "sites"), "found") is None
