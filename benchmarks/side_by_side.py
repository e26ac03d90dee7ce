"""Speed of variants side by side over one after another: `python -m benchmarks.side_by_side`.

Four variants of `scenarios/cyclic-30.yaml` with more publications are simulated and analysed in plain Python, by one
process and by as many as this host has processors, in turn: from the plan to the verdict on deliveries. The fastest of
three rounds counts. The benchmark fails if any file of the run directories differs. It needs an idle host.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.event_choice import EventTable
from benchmarks.support.simulated_run import BUSY, CYCLIC_30
from benchmarks.targets import Bound, Judgement, Target, conclude
from emulation.host.room import Host, this_host
from emulation.planning.plan import Plan, make_plan
from emulation.run.context import EMULATOR_LOG
from emulation.simulation.memory import at_a_time
from emulation.simulation.run import simulate
from scenario.loading import load

ROUNDS = 3
VARIANTS = "[5%, 8%, 10%, 12%]"
GAIN = Target(
    "speed of four variants on two processors or more, simulated and analysed, over that on one",
    Bound.AT_LEAST,
    1.7,
    "times",
)


@dataclass(frozen=True, slots=True)
class Round:
    """A run and its analysis, by so many processes."""

    simulated: float
    analysed: float
    """Seconds, as `simulated`."""
    files: dict[str, bytes]

    @property
    def seconds(self) -> float:
        return self.simulated + self.analysed


def run(arguments: Sequence[str]) -> list[Judgement]:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args(
        arguments
    )
    varied = {"vary": f"{{workload.subscriptions.selectivity: {VARIANTS}}}", "timeline.run": "15s"}
    plan = make_plan(load(CYCLIC_30, {**BUSY, **varied}))
    host = this_host()
    processors = at_a_time(plan.variants, host)
    rounds: dict[int, list[Round]] = {1: [], processors: []}
    for _ in range(ROUNDS):
        for together, found in rounds.items():
            found.append(measured := _measured(plan, replace(host, processors=together)))
            if measured.files != rounds[1][0].files:
                raise SystemExit("wrong: the run directories differ")
            print(
                f"{len(plan.variants)} variants, {together} at a time: {measured.simulated:.1f} s simulated, "
                f"{measured.analysed:.1f} s analysed",
                flush=True,
            )
    alone, beside = (min(round.seconds for round in rounds[together]) for together in (1, processors))
    return [GAIN.judge(alone / beside)]


def _measured(plan: Plan, host: Host) -> Round:
    with tempfile.TemporaryDirectory(prefix="brokerlab-benchmark-") as parent:
        begin = time.perf_counter()
        run = simulate(plan, Path(parent), host=host).directory
        simulated = time.perf_counter()
        analyze(run, PlainEngine(host.processors), events=EventTable.ALL)
        analysed = time.perf_counter()
        files = {str(file.relative_to(run)): file.read_bytes() for file in run.rglob("*") if file.is_file()}
        del files[EMULATOR_LOG]  # it has the time of day
        return Round(simulated - begin, analysed - simulated, files)


if __name__ == "__main__":
    sys.exit(conclude(run(sys.argv[1:])))
