"""Speed of simulated variants side by side over one after another: `python -m benchmarks.side_by_side`.

Four variants of `scenarios/cyclic-30.yaml` with more publications are simulated by one process, and by as many as this
host has processors, in turn, each time from the plan to the fidelity verdict. The fastest of three rounds counts. The
benchmark fails if logs differ. It needs an idle host.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.support.simulated_run import BUSY, CYCLIC_30
from benchmarks.targets import Bound, Judgement, Target, conclude
from emulation.host.room import Host, this_host
from emulation.planning.plan import Plan, make_plan
from emulation.simulation.memory import at_a_time
from emulation.simulation.run import simulate
from record.files import LOGS, log_files
from scenario.loading import load

ROUNDS = 3
VARIANTS = "[5%, 8%, 10%, 12%]"
GAIN = Target("speed of four variants on two processors or more, over that on one", Bound.AT_LEAST, 1.7, "times")


def run(arguments: Sequence[str]) -> list[Judgement]:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args(
        arguments
    )
    varied = {"vary": f"{{workload.subscriptions.selectivity: {VARIANTS}}}", "timeline.run": "30s"}
    plan = make_plan(load(CYCLIC_30, {**BUSY, **varied}))
    host = this_host()
    processors = at_a_time(plan.variants, host)
    seconds: dict[int, list[float]] = {1: [], processors: []}
    for number in range(ROUNDS):
        with tempfile.TemporaryDirectory(prefix="brokerlab-benchmark-") as temporary:
            logs = []
            for together, found in seconds.items():
                begin = time.perf_counter()
                named = replace(plan, run_id=f"round-{number}-{together}")
                logs.append(_simulated(named, Path(temporary), replace(host, processors=together)))
                found.append(time.perf_counter() - begin)
                print(f"{len(plan.variants)} variants, {together} at a time: {found[-1]:.1f} s", flush=True)
            if any(one != logs[0] for one in logs):
                raise SystemExit("wrong: the logs differ")
    return [GAIN.judge(min(seconds[1]) / min(seconds[processors]))]


def _simulated(plan: Plan, parent: Path, host: Host) -> list[bytes]:
    run = simulate(plan, parent, host=host).directory
    return [file.read_bytes() for file in log_files(run / LOGS)]


if __name__ == "__main__":
    sys.exit(conclude(run(sys.argv[1:])))
