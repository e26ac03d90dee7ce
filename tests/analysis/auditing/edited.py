"""Finished runs whose logs were changed afterwards: the audit has to notice."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from record.fidelity import Check, FidelityVerdict
from scenario.loading import load

Line = dict[str, Any]
Edit = Callable[[list[Line]], list[Line]]
"""Changes the records of one log."""

CALM = """
name: calm
topology: {kind: line, brokers: 3, link: {delay: 3ms, bandwidth: 10mbit}}
routing: {protocol: tid, publications: fixed}
workload:
  publications: {source: stocks, publishers: 3, rate: 20/s}
  subscriptions: {subscribers: 6, selectivity: 20%}
timeline: {join: 2s, run: 6s, drain: 2s}
seed: 4
"""
COMPOSED = """
name: composed
topology: {kind: line, brokers: 2, link: {delay: 3ms}}
routing: {protocol: tid}
workload:
  operations:
    - {at: 0s, client: P, broker: B1, id: a, advertise: "[class,eq,'A'],[x,>,0]"}
    - {at: 0s, client: S, broker: B2, id: c, composite: "{[class,eq,'A']} & {[class,eq,'A'],[x,>,5]}", within: 1s}
timeline: {join: 1s, run: 1s, drain: 1s}
"""
KILLED = CALM.replace("run: 6s", "run: 20s") + "faults: [{at: run+8s, kill: B2, for: 2s}]\n"


def run_of(scenario: str, directory: Path) -> Path:
    """A finished simulated run of a scenario."""
    file = directory / "scenario.yaml"
    file.write_text(scenario)
    return simulate(make_plan(load(file)), directory / "runs").directory


def edited(run: Path, copy: Path, edits: Mapping[str, Edit]) -> Path:
    """A copy of a run in which the logs of some nodes are changed."""
    shutil.copytree(run, copy)
    for node, edit in edits.items():
        log = copy / "logs" / f"{node}.jsonl"
        records = edit([json.loads(line) for line in log.read_text().splitlines()])
        log.write_text("".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records))
    return copy


def recounted(records: list[Line]) -> list[Line]:
    """Records whose ends state the number of records that there are now, so that other checks can be seen."""
    begin = 0
    for number, record in enumerate(records):
        if record["event"] == "started":
            begin = number
        if record["event"] == "stopped":
            record["records"] = number - begin + 1
    return records


def findings(run: Path) -> dict[str, str]:
    """The checks of the audit that fail, by name, with what they found; all of them make the run INVALID."""
    (variant,) = analyze(run, PlainEngine()).variants
    wrong: list[Check] = [check for check in variant.audit if check.verdict is not FidelityVerdict.VALID]
    assert all(check.verdict is FidelityVerdict.INVALID for check in wrong)
    return {check.name: check.detail for check in wrong}
