"""Clients on sites of real brokers: their delays are split by access links, and a wrong access link is named."""

from __future__ import annotations

import io
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.summary import VariantSummary
from emulation.network.network import EmulatedNetwork
from emulation.planning.plan import make_plan
from emulation.run import emulate
from emulation.runtimes.ladder import Rungs
from record.fidelity import VariantFidelity
from record.manifest import RungChoice
from scenario.loading import load_text

pytestmark = [
    pytest.mark.container,
    pytest.mark.proof,
    pytest.mark.skipif(os.geteuid() != 0 or shutil.which("mnexec") is None, reason="needs root and Mininet"),
]

SCENARIO = """
name: sites
topology: {kind: line, brokers: 2, link: {delay: 4ms}}
routing: {protocol: tid, publications: fixed}
workload:
  publications: {source: stocks, publishers: 2, rate: 8/s, placement: [B1]}
  subscriptions: {subscribers: 3, selectivity: 50%, placement: [B2]}
clients:
  sites:
    market: {broker: B1, clients: P1, delay: 15ms}
    berlin: {broker: B2, clients: [S1, S2], delay: 5ms, to_clients: {delay: 25ms}}
timeline: {join: 1s, run: 4s, drain: 1s}
seed: 4
"""
RUNGS = Rungs(RungChoice("process", "asked for"), RungChoice("userspace", "asked for"), None)


class WronglyWired(EmulatedNetwork):
    """Behind the plan's back, what B2 sends to Berlin takes 10 ms longer."""

    def start(self) -> None:
        super().start()
        link, side = self._parts.direction("B2", "berlin")
        link.change(side, replace(link.names.link.backward, delay=link.names.link.backward.delay + 0.01))


def run(out: Path) -> tuple[VariantFidelity, VariantSummary]:
    plan = make_plan(load_text(SCENARIO, "sites"))
    outcome = emulate(plan, RUNGS, out, Console(file=io.StringIO()), lambda: None)
    (judged,) = outcome.fidelity.variants
    (summary,) = analyze(outcome.directory, PlainEngine()).variants
    return judged, summary


def test_delays_are_split_by_access_links_of_real_brokers(tmp_path: Path) -> None:
    judged, summary = run(tmp_path)
    assert {(link.a, link.b) for link in judged.links} >= {("market", "B1"), ("B2", "berlin")}
    assert all(link.ok for link in judged.links if link.phase == "before")
    assert summary.delivery.lost == summary.delivery.spurious == 0
    budget = summary.delay.budget
    assert budget and budget.access_ms
    assert 7.0 < budget.access_ms < 40.0
    assert not [check.detail for check in summary.audit if "berlin" in check.detail]


def test_an_access_link_that_is_not_as_asked_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emulation.run.host_start.EmulatedNetwork", WronglyWired)
    judged, summary = run(tmp_path)
    assert {(link.a, link.b) for link in judged.links if link.phase == "before" and not link.ok} == {("B2", "berlin")}
    assert [check.detail for check in summary.audit if "B2 to berlin: " in check.detail]


FAULTS = """
brokers: {limits: {heartbeat: 300ms}}
faults:
  - {at: 2s, vanish: berlin, for: 5s}
  - {at: 9s, crash: S1, for: 1s}
"""


def test_clients_of_real_brokers_vanish_and_crash(tmp_path: Path) -> None:
    plan = make_plan(load_text(SCENARIO.replace("run: 4s", "run: 12s") + FAULTS, "sites"))
    outcome = emulate(plan, RUNGS, tmp_path, Console(file=io.StringIO()), lambda: None)
    (judged,) = outcome.fidelity.variants
    (summary,) = analyze(outcome.directory, PlainEngine()).variants
    assert summary.delivery.verdicts == ["correct"]
    assert summary.delivery.excused
    assert not [
        check.detail
        for check in judged.checks
        if check.name == "planned faults that did not happen" and check.verdict != "VALID"
    ]
