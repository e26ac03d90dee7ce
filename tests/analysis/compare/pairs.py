"""Runs that pass for runs on real brokers, each with its twin. Both are simulated, and differ in what a test plants."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from emulation.planning.plan import Plan, make_plan
from emulation.simulation.run import simulate
from emulation.simulation.twin import simulate_twin, twin_plan
from record.files import MANIFEST, TOPOLOGY
from scenario.loading import load_text
from topology.files import save as save_overlay

SCENARIO = """
name: paired
topology: {{kind: line, brokers: 3, link: {{delay: {delay}}}}}
routing: {{protocol: tid}}
workload:
  publications: {{source: stocks, publishers: 2, rate: 20/s}}
  subscriptions: {{subscribers: 4, selectivity: 40%}}
timeline: {{join: 3s, run: {run}, drain: 2s}}
brokers: {{service_time: {service}}}
time_dilation: {dilation}
seed: 3
"""


def planned(*, delay: str = "10ms", run: str = "5s", service: str = "0s", dilation: int = 1) -> Plan:
    text = SCENARIO.format(delay=delay, run=run, service=service, dilation=dilation)
    return make_plan(load_text(text, "paired"))


def real_run(asked: Plan, out: Path, done: Plan | None = None) -> Path:
    """An analysed run that states that it was on real brokers, and that it was asked for one plan; another may have
    been done."""
    run = simulate(done or asked, out).directory
    manifest = json.loads((run / MANIFEST).read_bytes())
    manifest["at_rest"] = manifest.pop("calibration")
    manifest["runtime"]["name"] = "process"
    manifest["scenario"] = asked.scenario.resolved()
    (run / MANIFEST).write_text(json.dumps(manifest))
    save_overlay(asked.variants[0].overlay, run / TOPOLOGY)
    analyze(run, PlainEngine())
    return run


def add_twin(run: Path, asked: Plan) -> Path:
    """Gives a run the analysed twin of a plan."""
    twin = simulate_twin(twin_plan(replace(asked, run_id=run.name)), run.parent).directory
    analyze(twin, PlainEngine())
    return twin
