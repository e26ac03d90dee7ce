"""Faults and operations by hand are planned, logged and judged; each defect planted here is named by a verdict.

The overlay is simulated, so that the hands' script takes no time; hands on real brokers are tested by the tutorial.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.summary import Summary
from broker_service.messages import Operation
from command_line.commands.save import as_text
from emulation.drivers.driver_operations import ready
from emulation.held.hold import Asked, Hold
from emulation.held.requests import (
    Answer,
    Done,
    FaultRequest,
    HealRequest,
    PublishRequest,
    Refused,
    Request,
    StepRequest,
    SubscribeRequest,
    UntilRequest,
)
from emulation.planning.plan import PUBLISHERS, make_plan
from emulation.run.directory import RunOutcome
from emulation.simulation import held_deployment
from emulation.simulation.hands import SimulatedHands
from emulation.simulation.overlay_brokers import SimulatedBrokers
from emulation.simulation.run import simulate
from record import manifest
from record.fidelity import Check, FidelityVerdict, VariantFidelity
from record.files import LOGS, log_files
from record.time_units import SECOND
from scenario.loading import load_text
from scenario.workload.operations import OperationKind, PlannedOperation
from tests.emulation.held.scenarios import LINE

ROOT = Path(__file__).resolve().parents[3]


def step(seconds: float) -> StepRequest:
    return StepRequest(round(seconds * SECOND))


SCRIPT: list[Request] = [
    step(1),
    FaultRequest({"kill": ["B9"]}),
    step(1),
    SubscribeRequest("B3", "[class,eq,'DEMO']"),
    UntilRequest("B3 receives subscribe from by-hand-B3-1", SECOND),
    step(1),
    PublishRequest("B1", "[class,'DEMO'],[level,1]"),
    step(3),
    FaultRequest({"kill": ["B2"]}),
    step(1),
    PublishRequest("B1", "[class,'DEMO'],[level,2]"),
    step(2),
    HealRequest(["B2"]),
    UntilRequest("B9 sends subscribe", SECOND),
    UntilRequest("B3 sends compose", SECOND),
    step(1),
]
"""Requests, each made when the one before it has been answered."""


class ScriptedHold(Hold):
    """A hold whose requests come one after another, and at last the one for its end."""

    def __init__(self, script: Sequence[Request] = SCRIPT) -> None:
        super().__init__(60, 1 << 30)
        self.asked: list[Asked] = []
        self._script = iter(script)

    def take(self) -> Iterator[Asked]:
        while not self.asked or self.asked[-1].answer.done():
            request = next(self._script, None)
            if request is None:
                self.end_asked.set()
                return
            self.asked.append(Asked(request))
            yield self.asked[-1]

    @property
    def answers(self) -> list[Answer]:
        return [asked.answer.result(0) for asked in self.asked]


Held = tuple[RunOutcome, ScriptedHold, Summary]


class UnloggedHands(SimulatedHands):
    """Hands that have publications made without a record, as by a client that is not of the run."""

    def issue(self, operation: PlannedOperation) -> None:
        if operation.operation is not OperationKind.PUBLISH:
            super().issue(operation)
            return
        inside: Any = self._issue.__self__  # type: ignore[attr-defined]  # the deployment
        session = inside._clients._opened[PUBLISHERS].sessions[operation.broker]
        body = ready(operation).body
        inside._events.after(1.0, lambda: session.submit(operation.client, Operation.PUBLISH, operation.id, body, 0))


class DroppingHands(SimulatedHands):
    """Hands that have nothing published."""

    def issue(self, operation: PlannedOperation) -> None:
        if operation.operation is not OperationKind.PUBLISH:
            super().issue(operation)


def held(directory: Path, scenario: str = LINE, script: Sequence[Request] = SCRIPT) -> Held:
    hold = ScriptedHold(script)
    outcome = simulate(make_plan(load_text(scenario, "held")), directory, hold=hold, speed=0.0)
    return outcome, hold, analyze(outcome.directory, PlainEngine())


def again(outcome: RunOutcome, directory: Path) -> RunOutcome:
    """The run of the scenario that is saved from a held one."""
    saved = as_text(load_text(yaml.safe_dump(manifest.read(outcome.directory).scenario), "saved"))
    return simulate(make_plan(load_text(saved, "again")), directory)


def logs(outcome: RunOutcome) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in log_files(outcome.directory / LOGS)}


def check(fidelity: VariantFidelity, name: str) -> Check:
    (found,) = [each for each in fidelity.checks if each.name == name]
    return found


@pytest.fixture(scope="module")
def standard(tmp_path_factory: pytest.TempPathFactory) -> Held:
    return held(tmp_path_factory.mktemp("held"))


def test_what_is_done_by_hand_is_judged_as_what_was_planned(standard: Held) -> None:
    outcome, hold, summary = standard
    refused = [answer.reason for answer in hold.answers if isinstance(answer, Refused)]
    told = ["no broker 'B9'", "B9 has no log", "no 'B3 sends compose' has come"]
    assert [words for words, reason in zip(told, refused, strict=True) if words not in reason] == []
    (variant,) = summary.variants
    assert variant.delivery.verdicts == ["correct"]
    assert (variant.delivery.excused, variant.delivery.published) == (1, 3), "level 2 met a broker that was down"
    (judged,) = outcome.fidelity.variants
    faults = check(judged, "planned faults that did not happen")
    assert (faults.verdict, faults.detail) == (FidelityVerdict.VALID, "2 of 2 changes verified")


def test_time_stands_still_at_the_very_record(standard: Held) -> None:
    outcome, hold, _ = standard
    (until,) = (asked.answer.result(0) for asked in hold.asked[4:5])
    lines = map(msgspec.json.decode, logs(outcome)["B3.jsonl"].splitlines())
    received = [line["time"] for line in lines if line["event"] == "received" and line.get("client") == "by-hand-B3-1"]
    (record,) = manifest.read(outcome.directory).variants
    join = record.phase(manifest.PhaseName.JOIN)
    assert join is not None
    assert isinstance(until, Done)
    assert until.text == f"{(received[0] - join.start) / SECOND:.9g} s after clients began to join: time stands still"


QUOTES = """
name: held-quotes
topology: {kind: ring, brokers: 4, link: {delay: 2ms..5ms, jitter: 10%, bandwidth: 10mbit}}
routing: {protocol: tid, publications: dynamic}
workload:
  publications: {source: stocks, publishers: 2, rate: 5/s}
  subscriptions: {subscribers: 2, selectivity: 20%}
  operations:
    - {at: 6s, client: P9, broker: B2, id: a1, advertise: "[class,eq,'X']"}
    - {at: 6s, client: S9, broker: B4, id: s1, subscribe: "[class,eq,'X']"}
    - {at: 12s, client: P9, broker: B2, publish: "[class,'X']"}
timeline: {join: 4s, run: 60s, held: 60s, drain: 2s}
faults: [{at: run+3s, kill: B3, for: 1s}]
seed: 3
"""


PARKING = """
name: held-file
topology: {kind: tree, brokers: 3}
routing: {protocol: tid}
workload:
  kind: file
  operations: %s/scenarios/workloads/parking.csv
  columns: {time: ts, client: who, operation: verb, id: key, content: body}
  words: {report: publish, watch: subscribe, leave: unsubscribe, guard: composite}
  attributes: {zone: zone, free: free}
  constants: {class: PARKING}
timeline: {join: 4s, run: 60s, held: 60s, drain: 2s}
"""


def test_a_table_of_operations_is_held_and_repeated(tmp_path: Path) -> None:
    script = [
        step(2), PublishRequest("B2", "[class,'X']"), PublishRequest("B2", "[class,'X']"),
        SubscribeRequest("B3", "[class,eq,'X']"), step(3),
    ]  # fmt: skip
    outcome, _, summary = held(tmp_path / "held", PARKING % ROOT, script)
    assert logs(again(outcome, tmp_path / "again")) == logs(outcome)
    assert b"by-hand-B2:2" in logs(outcome)["subscribers.jsonl"]
    assert summary.variants[0].delivery.verdicts == ["correct"]


@pytest.mark.parametrize(
    "script",
    [
        [],
        [
            step(2), PublishRequest("B4", "[class,'X']"), SubscribeRequest("B1", "[class,eq,'X']"),
            FaultRequest({"pause": ["busiest"]}), step(1), FaultRequest({"degrade": ["B1-B2"], "delay": "30ms"}),
            UntilRequest("B4 sends publish", 4 * SECOND), FaultRequest({"kill": ["B4"], "for": "500ms"}), step(3),
            SubscribeRequest("B2", "[class,eq,'X']"), HealRequest(), step(1.0000001),
        ],
    ],
    ids=["nothing", "much"],
)  # fmt: skip
def test_the_saved_scenario_repeats_it_byte_for_byte(script: list[Request], tmp_path: Path) -> None:
    outcome, hold, summary = held(tmp_path / "held", QUOTES, script)
    assert all(isinstance(answer, Done) for answer in hold.answers), hold.answers
    repeated = again(outcome, tmp_path / "again")
    assert logs(repeated) == logs(outcome)
    assert "emulator.jsonl" in logs(outcome)
    (first,), (second,) = summary.variants, analyze(repeated.directory, PlainEngine()).variants
    assert (first.delivery, first.audit) == (second.delivery, second.audit)


ROAMING = """
name: held-sites
topology: {kind: ring, brokers: 4, link: {delay: 2ms}}
routing: {protocol: tid, publications: fixed}
workload:
  publications: {publishers: 1, rate: 5/s, placement: [B1]}
  subscriptions: {subscribers: 3, selectivity: 100%, placement: [B2]}
clients: {sites: {berlin: {broker: B2, clients: [S1, S2], delay: 5ms}, oslo: {broker: B3, clients: S3, delay: 8ms}}}
brokers: {limits: {heartbeat: 100ms}}
timeline: {join: 2s, run: 60s, held: 60s, drain: 2s}
seed: 3
"""


def test_moves_by_hand_are_judged_and_repeated(tmp_path: Path) -> None:
    script: list[Request] = [
        step(3), FaultRequest({"move": ["berlin"], "to": "B4", "away": "200ms"}), step(3),
        FaultRequest({"move": ["S2"], "to": "oslo", "handover": "announced"}), step(3),
        FaultRequest({"move": ["oslo"], "to": "B1", "handover": "make before break", "overlap": "500ms"}), step(3),
    ]  # fmt: skip
    outcome, hold, summary = held(tmp_path / "held", ROAMING, script)
    assert all(isinstance(answer, Done) for answer in hold.answers), hold.answers
    assert summary.variants[0].delivery.verdicts == ["correct"]
    faults = check(outcome.fidelity.variants[0], "planned faults that did not happen")
    assert faults.verdict is FidelityVerdict.VALID, faults.detail
    assert logs(again(outcome, tmp_path / "again")) == logs(outcome)


def test_a_publication_that_nobody_logged_is_spurious(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_deployment, "SimulatedHands", UnloggedHands)
    _, _, summary = held(tmp_path)
    (variant,) = summary.variants
    assert "spurious" in str(variant.delivery.verdicts), variant.delivery


def test_a_publication_that_was_not_made_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_deployment, "SimulatedHands", DroppingHands)
    _, _, summary = held(tmp_path)
    assert "by-hand-B1 was to publish 2 times and published 0 times" in str(summary.variants[0].audit)


def test_a_fault_that_did_not_happen_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SimulatedBrokers, "kill", lambda *_: None)
    outcome, _, _ = held(tmp_path)
    faults = check(outcome.fidelity.variants[0], "planned faults that did not happen")
    assert faults.verdict is FidelityVerdict.INVALID
    assert "kill of B2 at" in faults.detail


def test_workload_beyond_the_end_of_the_hold_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients that go on after the end of the run do more than what became of the plan."""
    monkeypatch.setattr(SimulatedHands, "end_workload", lambda *_: None)
    _, _, summary = held(tmp_path, QUOTES, [step(1)])
    assert "issued as planned" in str([each for each in summary.variants[0].audit if each.value])
