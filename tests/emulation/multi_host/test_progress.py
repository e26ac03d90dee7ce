from __future__ import annotations

from unittest.mock import MagicMock

from emulation.ansible import TaskResult
from emulation.multi_host.progress import HostsProgress
from emulation.planning.plan import make_plan
from emulation.run.progress import RunDisplay, Snapshot
from record.manifest import PhaseName
from scenario.loading import load_text

SCENARIO = """
name: twice
topology: {kind: line, brokers: 2}
routing: {protocol: tid}
vary: {topology.brokers: [2, 3]}
workload:
  operations:
    - {at: 0s, client: P, broker: B1, id: a, advertise: "[class,eq,'STOCK']"}
timeline: {join: 100s, run: 1s, drain: 1s}
"""


def test_variants_and_their_phases_follow_the_tasks() -> None:
    plan = make_plan(load_text(SCENARIO, "twice.yaml"))
    snapshot = Snapshot(variants=2)
    progress = HostsProgress(plan, snapshot, MagicMock(RunDisplay))
    shown = []
    stages = ("0 await begun", "0 await drained", "0 await ended", "1 await begun", "1 await ended")
    for task in ("examine", "require the agent", *stages):
        for host in ("h1", "h2"):
            progress.note(TaskResult(host, task, {}))
            if task.endswith("begun"):
                assert progress._ahead[0][1] == PhaseName.JOIN
        shown.append((snapshot.variant_number, snapshot.phase))
    assert shown == [(0, ""), (1, "start"), (1, "start"), (1, PhaseName.STOP), (2, "start"), (2, "start"), (2, "start")]
