"""Faults and operations by hand are planned, logged and judged; each defect planted here is named by a verdict.

The overlay is simulated, so that the hands' script takes no time; hands on real brokers are tested by the tutorial.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.summary import Summary
from broker_service.messages import Operation
from emulation.drivers.driver_operations import ready
from emulation.held.hold import Asked, Hold
from emulation.held.requests import (
    Answer,
    BrokerPlace,
    Done,
    FaultRequest,
    HealRequest,
    PublishRequest,
    Refused,
    Request,
    SubscribeRequest,
)
from emulation.planning.plan import PUBLISHERS, SUBSCRIBERS, make_plan
from emulation.run.directory import RunOutcome
from emulation.run.hands import SUBSCRIBING
from emulation.simulation.deployment import SimulatedDeployment
from emulation.simulation.overlay_brokers import SimulatedBrokers
from emulation.simulation.run import simulate
from record import manifest
from record.fidelity import Check, FidelityVerdict, VariantFidelity
from record.time_units import SECOND
from scenario.faults.planning import FaultSchedule
from scenario.loading import load_text
from scenario.workload.operations import PlannedOperation
from tests.emulation.held.scenarios import LINE

SCRIPT: list[tuple[float, Request]] = [
    (3, FaultRequest({"kill": ["B9"]})),
    (4, SubscribeRequest("B3", "[class,eq,'DEMO']")),
    (5, PublishRequest("B1", "[class,'DEMO'],[level,1]")),
    (8, FaultRequest({"kill": ["B2"]})),
    (10, PublishRequest("B1", "[class,'DEMO'],[level,2]")),
    (12, HealRequest(["B2"])),
]
HEALED, END = 12.0, 13.0


class ScriptedHold(Hold):
    """A hold whose requests come at times of the deployment's clock, in seconds since the workload began."""

    def __init__(self, script: list[tuple[float, Request]], end: float) -> None:
        super().__init__(60, 1 << 30)
        self.script = [(time, Asked(request)) for time, request in script]
        self.asked = [asked for _, asked in self.script]
        self.end = end
        self.now: Callable[[], float] = lambda: 0.0

    def take(self) -> Iterator[Asked]:
        if self.now() >= self.end:
            self.end_asked.set()
        while self.script and self.now() >= self.script[0][0]:
            yield self.script.pop(0)[1]

    @property
    def answers(self) -> list[Answer]:
        return [asked.answer.result(0) for asked in self.asked]


Held = tuple[RunOutcome, ScriptedHold, Summary]


class SimulatedHands:
    """Hands on a deployment in virtual time."""

    def __init__(self, deployment: SimulatedDeployment, hold: ScriptedHold) -> None:
        self._deployment: Any = deployment
        self.hold: Hold = hold
        hold.now = lambda: (deployment.clock() - self._deployment._begin) / SECOND

    def issue(self, operation: PlannedOperation) -> None:
        inside = self._deployment
        intended = inside._begin + operation.at
        node = SUBSCRIBERS if operation.operation in SUBSCRIBING else PUBLISHERS
        inside._clients._node_of[operation.client] = node
        inside._events.after(
            (intended - inside.clock()) / SECOND, lambda: inside._clients.issue(ready(operation), intended)
        )

    def end_workload(self, at: int) -> None:
        """The scenario's own operations are long over."""

    def places(self) -> list[BrokerPlace]:
        return []

    def log_bytes(self) -> int:
        return 0


class UnloggedHands(SimulatedHands):
    """Hands that have publications made without a record, as by a client that is not of the run."""

    def issue(self, operation: PlannedOperation) -> None:
        inside = self._deployment
        if operation.operation.value != "publish":
            super().issue(operation)
            return
        made = ready(operation)
        session = inside._clients._clients[PUBLISHERS]._sessions[operation.broker]
        inside._events.after(
            1.0, lambda: session.submit(operation.client, Operation.PUBLISH, operation.id, made.body, 0)
        )


class DroppingHands(SimulatedHands):
    """Hands that have nothing published."""

    def issue(self, operation: PlannedOperation) -> None:
        if operation.operation.value != "publish":
            super().issue(operation)


def held(
    directory: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    hands: type[SimulatedHands] = SimulatedHands,
) -> Held:
    hold = ScriptedHold(SCRIPT, END)
    made: list[SimulatedHands] = []

    def of(deployment: SimulatedDeployment) -> SimulatedHands:
        if not made:
            made.append(hands(deployment, hold))
        return made[0]

    monkeypatch.setattr(SimulatedDeployment, "hands", property(of))
    monkeypatch.setattr(FaultSchedule, "starts", lambda *_: {"B2": 2})  # how often brokers start is up to the holder
    outcome = simulate(make_plan(load_text(LINE, "line")), directory)
    return outcome, hold, analyze(outcome.directory, PlainEngine())


def check(fidelity: VariantFidelity, name: str) -> Check:
    (found,) = [each for each in fidelity.checks if each.name == name]
    return found


@pytest.fixture(scope="module")
def standard(tmp_path_factory: pytest.TempPathFactory) -> Held:
    with pytest.MonkeyPatch.context() as patched:
        return held(tmp_path_factory.mktemp("held"), patched)


def test_what_is_done_by_hand_is_judged_as_what_was_planned(standard: Held) -> None:
    outcome, hold, summary = standard
    refused, *done = hold.answers
    assert isinstance(refused, Refused)
    assert "no broker 'B9'" in refused.reason
    assert not [answer for answer in done if not isinstance(answer, Done)]
    (variant,) = summary.variants
    assert variant.delivery.verdicts == ["correct"]
    assert (variant.delivery.excused, variant.delivery.published) == (1, 3), "level 2 met a broker that was down"
    (judged,) = outcome.fidelity.variants
    faults = check(judged, "planned faults that did not happen")
    assert (faults.verdict, faults.detail) == (FidelityVerdict.VALID, "2 of 2 changes verified")
    (record,) = manifest.read(outcome.directory).variants
    run = next(phase for phase in record.phases if phase.name == "run")
    lasted = (run.end - run.start) / SECOND
    assert HEALED + record.recovery <= lasted + 2 <= HEALED + record.recovery + 1, "it ends once all has recovered"


def test_the_manifest_has_the_scenario_that_repeats_it(tmp_path: Path, standard: Held) -> None:
    outcome, _, summary = standard
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(FaultSchedule, "starts", lambda *_: {"B2": 2})
        plan = make_plan(load_text(yaml.safe_dump(manifest.read(outcome.directory).scenario), "again"))
        again = simulate(plan, tmp_path)
    (first,), (second,) = summary.variants, analyze(again.directory, PlainEngine()).variants
    assert second.delivery.verdicts == ["correct"]
    assert (second.delivery.published, second.delivery.excused) == (first.delivery.published, first.delivery.excused)
    assert second.delivery.delivered == first.delivery.delivered


def test_a_publication_that_nobody_logged_is_spurious(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, summary = held(tmp_path, monkeypatch, hands=UnloggedHands)
    (variant,) = summary.variants
    assert "spurious" in str(variant.delivery.verdicts), variant.delivery


def test_a_publication_that_was_not_made_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, summary = held(tmp_path, monkeypatch, hands=DroppingHands)
    assert "by-hand-B1 was to publish 2 times and published 0 times" in str(summary.variants[0].audit)


def test_a_fault_that_did_not_happen_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SimulatedBrokers, "kill", lambda *_: None)
    outcome, _, _ = held(tmp_path, monkeypatch)
    faults = check(outcome.fidelity.variants[0], "planned faults that did not happen")
    assert faults.verdict is FidelityVerdict.INVALID
    assert "kill of B2 at 8" in faults.detail
