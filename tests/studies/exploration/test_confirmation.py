"""Confirmation: faults come at the records that they came at in the simulator, whenever these come on real brokers."""

from __future__ import annotations

from record.log import Event, TraceRecord
from record.time_units import MILLISECOND, SECOND
from scenario.loading import load_text
from scenario.model import Scenario
from studies.exploration.confirmation import LONGEST_REST, OFFSETS, Confirmation, confirm
from studies.exploration.findings import Cause, Finding
from studies.exploration.judged_run import Defect, JudgedRun
from tests.studies.exploration.test_cases import SCENARIO

FOUND = load_text(SCENARIO.format(protocol="tid").replace("drain: 20s", "drain: 10min"), "found")
"""A kill of B3 at 5 s, and a cut at 6 s."""
BEGIN = 70 * SECOND


def finding(scenario: Scenario) -> Finding:
    return Finding("finding-1", Cause("lost", ("kill",), ()), 7, scenario, scenario, (Defect("lost", ""),))


def run(at: float, *kinds: str) -> JudgedRun:
    """A run in which B1 sends its first publication so many seconds after the start of the join phase."""
    sent = TraceRecord(BEGIN + round(at * SECOND), "B1", "base", Event.SENT, kind="publish", peer="B2")
    return JudgedRun(records=(sent,), begin=BEGIN, defects=tuple(Defect(kind, "") for kind in kinds))


def kill_of(scenario: Scenario) -> float:
    kill = scenario.faults[0].at
    assert kill is not None
    return kill.seconds


def test_faults_are_told_by_records_and_tried_with_ten_offsets() -> None:
    tried: list[Scenario] = []

    def real(scenario: Scenario) -> JudgedRun:
        if not scenario.faults:
            return run(5.4)
        tried.append(scenario)
        return run(5.4, *(["lost"] if 5.49 < kill_of(scenario) < 5.505 else ["duplicated"]))

    *_, outcome = confirm(finding(FOUND), lambda calm: run(4.9), real)
    kills = [round((kill_of(scenario) - 5.5) * SECOND / MILLISECOND) for scenario in tried]
    assert kills == list(OFFSETS)
    assert outcome == Confirmation(confirmed=5, tried=10)
    assert outcome.in_words() == "confirmed 5 of 10 on real brokers"
    assert {scenario.timeline.drain for scenario in tried} == {LONGEST_REST}


def test_a_record_that_did_not_come_is_taken_to_have_come_at_its_time() -> None:
    tried: list[Scenario] = []

    def real(scenario: Scenario) -> JudgedRun:
        tried.append(scenario)
        return JudgedRun()

    list(confirm(finding(FOUND), lambda calm: run(4.9), real))
    assert kill_of(tried[1]) == 5.0


def test_runs_that_prove_nothing_are_not_counted() -> None:
    refused = JudgedRun(refused="the host did not keep up")
    (outcome,) = confirm(finding(FOUND), lambda calm: run(4.9), lambda scenario: refused)
    assert outcome.in_words() == "confirmed 0 of 0 on real brokers; others could not be tried: the host did not keep up"
