"""Findings as conformance cases: the same steps with the same times between them, and what each client must get."""

from __future__ import annotations

from pathlib import Path

from scenario.loading import load_text
from studies.conformance import CaseVerdict, SimulatedCaseRunner, parse_cases, run_case
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


def test_a_case_has_the_operations_and_faults_in_order_of_time() -> None:
    scenario = load_text(SCENARIO.format(protocol="tid"), "pair")
    with judging_room() as room:
        rightful = room.rightful(scenario)
    assert rightful == {"S": ("P:1", "P:2")}
    case = case_of(scenario, "found", rightful)
    assert case is not None
    steps = [(step.op, step.wait) for step in case.steps]
    assert steps == [
        ("advertise", 1.0), ("subscribe", 3.0), ("publish", 1.0), ("kill", 0.5), ("restart", 0.5), ("link_down", 1.0),
        ("link_up", 5.0), ("publish", None),
    ]  # fmt: skip
    assert case.expect == {"S": ("P:1", "P:2")}
    assert case.protocols == ("tid-fixed",)


def test_only_a_case_that_fails_is_written(tmp_path: Path) -> None:
    for defect, fails in (("notifies twice", True), ("none", False)):
        protocol = str(protocol_with(defect, tmp_path / defect))
        scenario = load_text(SCENARIO.format(protocol=protocol), "pair").model_copy(update={"faults": ()})
        text = failing_case(scenario, "found", {"S": ("P:1", "P:2")})
        assert bool(text) is fails
        if fails:
            (case,) = parse_cases(text, "found")
            (row,) = rows_of(protocol)
            assert run_case(case, row, SimulatedCaseRunner()).verdict is CaseVerdict.FAILED  # type: ignore[arg-type]


def test_what_no_case_can_state_makes_none() -> None:
    text = SCENARIO.format(protocol="tid")
    for part, other in (("link_down: B1-B2, for: 1s", "reset: B1-B2"), ("delay: 5ms", "delay: 5ms, loss: 1%")):
        assert case_of(load_text(text.replace(part, other), "pair"), "found", {}) is None
