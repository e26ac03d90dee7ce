"""Plans of overlays that change."""

from __future__ import annotations

from pathlib import Path

from emulation.planning.plan import Plan, make_plan
from scenario.loading import load
from tests.contracts.protocols import registered

SCENARIO = """
name: moving
topology: %s
motion: %s
routing: {protocol: gossip}
workload:
  publications: {source: stocks, publishers: 2, rate: 5/s, placement: [B1]}
  subscriptions: {subscribers: 4, selectivity: 100%%}
timeline: {join: 2s, run: 6s, drain: 2s}
%s
seed: 4
"""
REGULAR = "{kind: random-regular, brokers: 20, degree: 4, link: {delay: 1ms}}"
REWIRE = "{kind: rewire, every: %s, repaired_after: 100ms, degree: 4}"
RING = "{kind: ring, brokers: 4, link: {delay: 2ms}}"
SCRIPT = (
    "{kind: script, changes: [{at: 1s, vanish: [B1, B2]}, {at: 2s, appear: [B1, B3]}, {at: 3s, vanish: [B3, B4]}, "
    "{at: 4s, appear: [B2, B1]}]}"
)


def planned(directory: Path, topology: str = REGULAR, motion: str = REWIRE % "50ms", more: str = "") -> Plan:
    path = directory / "moving.yaml"
    path.write_text(SCENARIO % (topology, motion, more))
    with registered():
        return make_plan(load(path))


def blinking(times: int) -> str:
    """A link that vanishes and appears so often in the second second of the run phase, in equal steps of time."""
    changes = (
        f"{{at: {1 + number / times:.9f}s, {'appear' if number % 2 else 'vanish'}: [B1, B2]}}"
        for number in range(times)
    )
    return f"{{kind: script, changes: [{', '.join(changes)}]}}"
