"""Faults of a simulated broker that did not come back make a run INVALID, and do not end it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from emulation.faults import execution
from emulation.faults.injector import Action
from emulation.live_overlay import LiveBrokers
from emulation.simulation.overlay_brokers import SimulatedBrokers
from record import fidelity
from record.faults import HealKind
from tests.emulation.simulation.test_run_faults import simulated
from topology.link_properties import BrokerId


@pytest.mark.parametrize("second", ["kill", "pause", "stop"])
def test_the_broker_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, second: str) -> None:
    original = execution._to_broker

    def without_restarts(action: Action, broker: BrokerId, brokers: LiveBrokers) -> None:
        if action.kind is not HealKind.RESTART:
            original(action, broker, brokers)

    monkeypatch.setattr(execution, "_to_broker", without_restarts)
    run = simulated(tmp_path, "at: run+1s, kill: B2, for: 2s", f"at: run+8s, {second}: B2, for: 2s")
    (judged,) = fidelity.read(run).variants
    assert judged.verdict == "INVALID"
    assert any("restart of B2 at 5 s: no process of it exists" in reason for reason in judged.reasons)


def test_neighbours_refuse_a_restart_that_nobody_planned_and_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    restart = SimulatedBrokers.restart

    def twice(brokers: SimulatedBrokers, broker: BrokerId) -> None:
        restart(brokers, broker)
        brokers._events.after(1.0, lambda: restart(brokers, broker))

    monkeypatch.setattr(SimulatedBrokers, "restart", twice)
    run = simulated(tmp_path, "at: run+1s, kill: B2, for: 2s")
    records = [json.loads(line) for line in (run / "logs" / "B1.jsonl").read_text().splitlines()]
    links = [
        record["event"] for record in records if record.get("peer") == "B2" and record["event"].startswith("link_")
    ]
    assert links == ["link_up", "link_down", "link_up", "link_down"]
