"""Clients of real brokers that move: a run is correct, and a client that does not subscribe again has its losses."""

from __future__ import annotations

import io
import os
import shutil
from pathlib import Path

import pytest
from rich.console import Console

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.summary import VariantSummary
from emulation.fidelity import thresholds
from emulation.planning.plan import make_plan
from emulation.run import emulate
from emulation.run.drivers import DriverProcess
from emulation.runtimes.ladder import Rungs
from record.callbacks import do_nothing
from record.fidelity import FidelityVerdict
from record.manifest import RungChoice
from scenario.loading import load_text

pytestmark = [
    pytest.mark.container,
    pytest.mark.skipif(os.geteuid() != 0 or shutil.which("mnexec") is None, reason="needs root and Mininet"),
]

SCENARIO = """
name: roaming
topology: {kind: line, brokers: 3, link: {delay: 2ms}}
routing: {protocol: tid, publications: fixed}
workload:
  publications: {source: stocks, publishers: 1, rate: 10/s, placement: [B1]}
  subscriptions: {subscribers: 3, selectivity: 100%, placement: [B2]}
clients:
  sites:
    berlin: {broker: B2, clients: [S1, S2], delay: 5ms}
    oslo: {broker: B3, clients: [S3], delay: 8ms}
brokers: {limits: {heartbeat: 200ms}}
timeline: {join: 1s, run: 6s, drain: 1500ms}
seed: 4
faults:
"""
ONE_MOVE = "  - {at: run+1s, move: berlin, to: B3}\n"
MOVES = """
  - {at: run+1s, move: berlin, to: B3, away: 300ms}
  - {at: run+2s, move: S3, to: berlin}
  - {at: run+3s, move: S2, to: oslo, handover: announced}
  - {at: run+4s, move: berlin, to: B1, handover: make before break, overlap: 500ms}
"""


def run(out: Path, faults: str) -> VariantSummary:
    plan = make_plan(load_text(SCENARIO + faults, "roaming"))
    rungs = Rungs(RungChoice("process", "asked for"), RungChoice("userspace", "asked for"), None)
    outcome = emulate(plan, rungs, out, Console(file=io.StringIO()), do_nothing)
    (judged,) = outcome.fidelity.variants
    (found,) = [check for check in judged.checks if check.name == thresholds.PLANNED_FAULTS.name]
    assert found.verdict is FidelityVerdict.VALID, found.detail
    (summary,) = analyze(outcome.directory, PlainEngine()).variants
    return summary


@pytest.mark.proof
def test_clients_that_move_in_every_way_are_served_as_promised(tmp_path: Path) -> None:
    summary = run(tmp_path, MOVES)
    assert summary.delivery.verdicts == ["correct"], summary.delivery
    assert not [check.detail for check in summary.audit if "berlin" in check.detail or "oslo" in check.detail]


@pytest.mark.proof
def test_a_client_that_does_not_subscribe_again_loses_what_the_others_get(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    defaults = ("tests.emulation.drivers.forgetful_driver",)
    monkeypatch.setattr(DriverProcess.__init__, "__defaults__", defaults)
    delivery = run(tmp_path, ONE_MOVE).delivery
    assert "lost" in delivery.verdicts and set(delivery.verdicts) <= {"lost", "not renewed"}, delivery
    assert {example.client for example in delivery.examples} == {"S2"}
