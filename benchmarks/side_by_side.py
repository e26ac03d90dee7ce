"""Speed of variants side by side: `python -m benchmarks.side_by_side`.

Four variants of `scenarios/cyclic-30.yaml` with more publications are simulated, analysed in plain Python and reported,
by one process and by two in turn. The target compares two processes for one run with two runs of one process each at
the same time, because two processors of many a host do less than twice the work of one. Each counts by its fastest
round. The benchmark fails if any file of the run directories differs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.report import build_report
from analysis.tables.event_choice import EventTable
from benchmarks.support.simulated_run import BUSY, CYCLIC_30
from benchmarks.targets import Bound, Judgement, Target, conclude
from emulation.host.room import Host, this_host
from emulation.planning.plan import Plan, make_plan
from emulation.run.context import EMULATOR_LOG
from emulation.simulation.run import simulate
from record.forked_calls import results_of
from scenario.loading import load

ROUNDS = 3
TOGETHER = 2
VARIANTS = "[5%, 8%, 10%, 12%]"
SHARE = Target(
    "speed of four variants by two processes, simulated, analysed and reported, of that of two separate runs at once",
    Bound.AT_LEAST,
    85.0,
    "%",
)
"""1.7 times the speed of one process, where two separate runs at once are twice as fast as one after another."""
Files = Mapping[str, bytes]


def run(arguments: Sequence[str]) -> list[Judgement]:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args(
        arguments
    )
    varied = {"vary": f"{{workload.subscriptions.selectivity: {VARIANTS}}}", "timeline.run": "15s"}
    plan = make_plan(load(CYCLIC_30, {**BUSY, **varied}))
    ways: dict[str, Callable[[], list[Files]]] = {
        "by one process": lambda: [_files(plan, 1)],
        f"by {TOGETHER} processes": lambda: [_files(plan, TOGETHER)],
        f"{TOGETHER} times at once": lambda: results_of([partial(_files, plan, 1)] * TOGETHER, "run", TOGETHER),
    }
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    expected: Files = {}
    for _ in range(ROUNDS):
        for way, make in ways.items():
            begin = time.perf_counter()
            found = make()
            seconds[way].append(time.perf_counter() - begin)
            expected = expected or found[0]
            for files in found:
                _require_same(files, expected)
            print(f"{len(plan.variants)} variants {way}: {seconds[way][-1]:.1f} s", flush=True)
    alone, beside, apart = (min(taken) for taken in seconds.values())
    print(f"{alone / beside:.2f} times as fast as one process; separate runs are {TOGETHER * alone / apart:.2f} times")
    return [SHARE.judge(100 * apart / (TOGETHER * beside))]


def _files(plan: Plan, processes: int) -> Files:
    """The files of a run by so many processes."""
    with tempfile.TemporaryDirectory(prefix="brokerlab-benchmark-") as parent:
        run = simulate(plan, Path(parent), host=Host(processes, this_host().memory)).directory
        analyze(run, PlainEngine(processes), events=EventTable.ALL)
        build_report(run, processes)
        files = {str(file.relative_to(run)): file.read_bytes() for file in run.rglob("*") if file.is_file()}
        del files[EMULATOR_LOG]  # it has the time of day
        return files


def _require_same(files: Files, expected: Files) -> None:
    differ = sorted(name for name in files.keys() | expected.keys() if files.get(name) != expected.get(name))
    if differ:
        raise SystemExit(f"wrong: these files differ: {', '.join(differ)}")


if __name__ == "__main__":
    sys.exit(conclude(run(sys.argv[1:])))
