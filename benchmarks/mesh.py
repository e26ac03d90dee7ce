"""Time and memory until a large full mesh is up in the simulator: `python -m benchmarks.mesh`.

Brokers are the servers of MEDYM's transit-stub network, with a link between every two: 499,500 links for 1,000 brokers,
each made when it is first used. Times are from the scenario's file until the overlay has settled; the drawing of the
network of routers and its shortest paths are part of them. Each mesh is made in a process of its own. Growth is that
from 20 to 2,000 brokers.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.support.growth import Growth
from benchmarks.support.trials import in_own_process
from benchmarks.targets import Bound, Judgement, Target, conclude
from broker_service.tracing.trace import NullTrace
from emulation.host.reference_loops import Reference
from emulation.planning.plan import make_plan
from emulation.simulation import SimulatedOverlay
from scenario.loading import load

UP = Target("start of 1,000 fully meshed brokers", Bound.AT_MOST, 10, "s", Reference.INTERPRETER)
MEMORY = Target("memory of 1,000 fully meshed brokers", Bound.AT_MOST, 1536, "MB")
MEMORY_OF_TWICE = Target("memory of 2,000 fully meshed brokers", Bound.AT_MOST, 4096, "MB")

SIZES = (20, 200, 1_000, 2_000)
UP_BOUND = "a search for shortest paths through all routers from the router of each server"
MEMORY_BOUND = "a latency of 8 bytes for every two servers, above what a process without brokers has"

SCENARIO = """
name: mesh
topology: {{kind: transit-stub, brokers: {brokers}, router_links: 4469, overlay: full}}
routing: {{protocol: tid}}
workload:
  operations:
    - {{at: 1s, client: S, broker: B1, id: s, subscribe: "[class,eq,'STOCK']"}}
timeline: {{join: 2s, run: 1s, drain: 1s}}
seed: 1
"""


@dataclass(frozen=True, slots=True)
class Start:
    """The start of one mesh."""

    brokers: int
    links: int
    planned: float
    """Seconds from the scenario's file until the overlay is drawn and the run planned."""
    up: float
    """Seconds until all brokers run and nothing moves."""
    memory: float
    """Greatest resident memory, MB."""

    def __str__(self) -> str:
        return (
            f"{self.brokers:,} brokers, {self.links:,} links: planned after {self.planned:.2f} s, "
            f"up after {self.up:.2f} s, {self.memory:,.0f} MB"
        )


def start(brokers: int) -> Start:
    """Starts a mesh in this process."""
    with tempfile.TemporaryDirectory(prefix="brokerlab-benchmark-") as temporary:
        file = Path(temporary, "mesh.yaml")
        file.write_text(SCENARIO.format(brokers=brokers))
        begin = time.perf_counter()
        variant = make_plan(load(file)).variants[0]
    planned = time.perf_counter() - begin
    overlay = SimulatedOverlay(variant.overlay, variant.broker_settings, lambda broker: NullTrace(broker, variant.name))
    overlay.start()
    overlay.settle()
    up = time.perf_counter() - begin
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Start(brokers, len(variant.overlay.links), planned, up, memory)


def run(_arguments: Sequence[str]) -> list[Judgement]:
    starts = []
    for brokers in SIZES:
        starts.append(in_own_process(start, brokers))
        print(starts[-1], flush=True)
    return judge(starts)


def judge(starts: Sequence[Start]) -> list[Judgement]:
    """Sets the starts of 1,000 and of 2,000 brokers against the targets, with the growth over all of them."""
    of = {start.brokers: start for start in starts}
    up = Growth("brokers", {start.brokers: start.up for start in starts}, UP_BOUND)
    memory = Growth("brokers", {start.brokers: start.memory for start in starts}, MEMORY_BOUND)
    return [UP.judge(of[1_000].up, up), MEMORY.judge(of[1_000].memory, memory), MEMORY_OF_TWICE.judge(of[2_000].memory)]


if __name__ == "__main__":
    sys.exit(conclude(run(sys.argv[1:])))
