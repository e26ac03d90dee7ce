"""Costs of overlays that change while they run: `python -m benchmarks.motion [TRIAL ...]`.

Trials, each in a process of its own, over the gossip router of the tests, because no shipped protocol bears motion:

* *simulated*: 300 simulated brokers whose links change 300 times a second, against the same run without motion. The
  difference is the CPU time of a change, with the opening of the new link's stream.
* *processes*: twelve broker processes whose links change as often as is accepted. A change is late by the time from the
  moment at which it was due until it begins.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from unittest import mock

import msgspec
from rich.console import Console

from benchmarks.support.trials import Trial, parse_trials, run_trials
from benchmarks.targets import Bound, Judgement, Target, conclude
from emulation.host.reference_loops import Reference
from emulation.network.model import LinkDriver
from emulation.planning.carrying import MOST_CHANGES_A_SECOND
from emulation.planning.plan import make_plan
from emulation.run import emulate
from emulation.runtimes.ladder import Rungs, choose
from emulation.simulation.run import simulate
from record.files import LOGS
from record.log import LINK_CHANGES, TraceRecord
from record.time_units import MILLISECOND
from scenario.loading import load
from tests.contracts.on_hosts import brokers_know_the_protocols
from tests.contracts.protocols import registered

SIMULATED = Target("CPU time of a simulated change of a link", Bound.AT_MOST, 1, "ms", Reference.INTERPRETER)
LATE = Target("lateness of 99 of 100 changes of processes' links", Bound.AT_MOST, 50, "ms", Reference.LOOPBACK)

SCENARIO = """
name: moving
topology: {{kind: random-regular, brokers: {brokers}, degree: 5, link: {{delay: 1ms}}}}
{motion}
routing: {{protocol: gossip}}
workload:
  publications: {{source: stocks, publishers: 1, rate: 1/s}}
  subscriptions: {{subscribers: 12, selectivity: 10%}}
timeline: {{join: 3s, run: {run}s, drain: 3s}}
seed: 1
"""
MOTION = "motion: {{kind: rewire, every: {every:.6f}s, repaired_after: 100ms, degree: 5, partitions: allowed}}"


def simulated(directory: Path) -> list[Judgement]:
    still, _ = _simulated(directory, "")
    moving, changes = _simulated(directory, MOTION.format(every=2 / 300))
    print(
        f"simulated: 300 brokers for 30 s in {still:.1f} CPU s; with {changes:,} changes of links, 300 a second, in "
        f"{moving:.1f} CPU s"
    )
    return [SIMULATED.judge((moving - still) / changes * 1000)]


def _simulated(directory: Path, motion: str) -> tuple[float, int]:
    """CPU seconds of a simulated run, and the number of its changes."""
    scenario = directory / "simulated.yaml"
    scenario.write_text(SCENARIO.format(brokers=300, motion=motion, run=30))
    with registered():
        plan = make_plan(load(scenario))
        begin = time.process_time()
        run = simulate(plan, directory / "runs").directory
    return time.process_time() - begin, len(_changes(run)) if motion else 0


def processes(directory: Path) -> list[Judgement]:
    every = 2.1 / MOST_CHANGES_A_SECOND
    scenario = directory / "processes.yaml"
    scenario.write_text(SCENARIO.format(brokers=12, motion=MOTION.format(every=every), run=20))
    rungs = choose("process", LinkDriver.USERSPACE, print)
    assert isinstance(rungs, Rungs)
    with brokers_know_the_protocols():
        plan = make_plan(load(scenario))
        run = emulate(plan, rungs, directory / "runs", Console(file=StringIO()), mock.Mock()).directory
    changes = _changes(run)
    late = sorted((change.time - (change.intended or 0)) / MILLISECOND for change in changes)
    takes = sorted((change.duration or 0) / MILLISECOND for change in changes)
    print(
        f"processes: {len(changes):,} changes, each in {takes[len(takes) // 2]:.1f} ms (median), late by "
        f"{late[len(late) // 2]:.1f} ms (median), {late[-1]:.1f} ms at most"
    )
    return [LATE.judge(late[len(late) * 99 // 100])]


def _changes(run: Path) -> list[TraceRecord]:
    """The changes that were made, by the emulator's log."""
    content = (run / LOGS / "emulator.jsonl").read_bytes()
    records = msgspec.json.Decoder(TraceRecord).decode_lines(content)
    return [record for record in records if record.event in LINK_CHANGES]


TRIALS: Mapping[str, Trial] = {"simulated": simulated, "processes": processes}


def run(arguments: Sequence[str]) -> list[Judgement]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options = parse_trials(parser, arguments, TRIALS)
    return run_trials(TRIALS[name] for name in options.trials or TRIALS)


if __name__ == "__main__":
    sys.exit(conclude(run(sys.argv[1:])))
