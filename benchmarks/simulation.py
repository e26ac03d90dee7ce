"""How fast the simulator is, and how much memory a large overlay takes: `python -m benchmarks.simulation`.

Trials, each in a process of its own, logs included and with the shipped calibration:

* *quickstart*: the scenario as it is: virtual time against real time.
* *relay*: publications that pass through a line of ten brokers, nearly all of whose work is to pass messages on.
* *busy*: the quickstart's overlay with ten times its publications and five times its subscriptions' selectivity, where
  making, matching and delivering publications takes its share.
* *large*: 1,000 brokers and 100,000 publications: the greatest resident memory.

An event is something that happened to a message at a broker, as its log tells: received, matched, sent or delivered.
Rates are for CPU seconds of the one process, so that what else the machine does counts for less.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from emulation.planning.plan import make_plan
from emulation.scenario import load
from emulation.simulation.run import simulate
from record.files import LOGS
from record.log import Event

QUICKSTART = Path(__file__).resolve().parents[1] / "scenarios" / "quickstart.yaml"
TARGET_SPEED = 20.0
"""Virtual seconds in a real one."""
TARGET_EVENTS = 100_000
"""In a second."""
TARGET_MEMORY = 4096
"""MB."""

EVENTS = (Event.RECEIVED, Event.MATCHED, Event.SENT, Event.DELIVERED)
BUSY = {"workload.publications.rate": "1200/min", "workload.subscriptions.selectivity": "10%"}
RELAY = """
name: relay
topology: {kind: line, brokers: 10, link: {delay: 2ms}}
routing: {protocol: tid, publications: fixed}
workload:
  publications: {source: stocks, publishers: 1, rate: 400/s, placement: [B1]}
  subscriptions: {subscribers: 1, selectivity: 100%, placement: [B10]}
timeline: {join: 1s, run: 60s, drain: 4s}
seed: 1
"""
LARGE = """
name: large
topology: {kind: cyclic, brokers: 1000, degree: 4, link: {delay: 2ms..10ms, jitter: 5%, bandwidth: 10mbit}}
routing: {protocol: tid, publications: dynamic}
workload:
  publications: {source: stocks, publishers: 100, publishers_per_symbol: 2, rate: 10/s}
  subscriptions: {subscribers: 500, popularity: zipf, selectivity: 0.5%}
timeline: {join: 60s, run: 100s, drain: 10s}
seed: 1
"""


@dataclass(frozen=True, slots=True)
class Trial:
    """One simulated run."""

    virtual: float
    """Seconds."""
    wall: float
    cpu: float
    """Seconds, from the plan to the fidelity verdict."""
    published: int
    events: int
    state: int
    """Events of advertisements, subscriptions and their withdrawals among them."""
    records: int
    memory: float
    """MB, the greatest."""


def run_trial(scenario: Path, overrides: Mapping[str, str]) -> Trial:
    """Simulates a scenario in this process and counts what its logs say."""
    plan = make_plan(load(scenario, overrides))
    with tempfile.TemporaryDirectory(prefix="brokerlab-benchmark-") as temporary:
        wall, cpu = time.perf_counter(), time.process_time()
        outcome = simulate(plan, Path(temporary))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        found = _count(outcome.directory / LOGS)
    return Trial(
        virtual=sum(variant.scenario.timeline.duration for variant in plan.variants),
        wall=wall,
        cpu=cpu,
        published=found["publish"],
        events=sum(found[event] for event in EVENTS),
        state=sum(found[event] - found[f"{event} publish"] for event in (Event.RECEIVED, Event.SENT)),
        records=found.total() - sum(found[f"{event} publish"] for event in EVENTS),
        memory=memory,
    )


def _count(logs: Path) -> Counter[str]:
    """Records by event, and those of broker events that concern publications once more under `<event> publish`."""
    found: Counter[str] = Counter()
    for log in logs.iterdir():
        with log.open("rb") as lines:
            for line in lines:
                event = line.partition(b'"event":"')[2].partition(b'"')[0].decode()
                found[event] += 1
                if event in EVENTS and b'"kind":"publish"' in line:
                    found[f"{event} publish"] += 1
    return found


def quickstart(_directory: Path) -> None:
    trial = run_trial(QUICKSTART, {})
    speed = trial.virtual / trial.wall
    print(f"quickstart: {trial.virtual:.0f} s of virtual time in {trial.wall:.2f} s, {trial.records:,} log records")
    _judged("  times as fast as real time", speed, TARGET_SPEED, speed >= TARGET_SPEED)


def relay(directory: Path) -> None:
    scenario = directory / "relay.yaml"
    scenario.write_text(RELAY)
    _event_rate("relay", run_trial(scenario, {}))


def busy(_directory: Path) -> None:
    _event_rate("busy", run_trial(QUICKSTART, BUSY))


def _event_rate(name: str, trial: Trial) -> None:
    rate = trial.events / trial.cpu
    print(f"{name}: {trial.published:,} publications, {trial.events:,} events in {trial.cpu:.2f} CPU s")
    _judged("  events a CPU second", rate, TARGET_EVENTS, rate >= TARGET_EVENTS)


def large(directory: Path) -> None:
    scenario = directory / "large.yaml"
    scenario.write_text(LARGE)
    trial = run_trial(scenario, {})
    print(
        f"large: 1,000 brokers, {trial.published:,} publications: {trial.virtual:.0f} s of virtual time in "
        f"{trial.wall:.0f} s ({trial.cpu:.0f} CPU s), {trial.events:,} events ({trial.events / trial.cpu:,.0f} a CPU "
        f"second), {trial.state:,} of them of advertisements and subscriptions"
    )
    _judged("  MB at most", trial.memory, TARGET_MEMORY, trial.memory <= TARGET_MEMORY)


def _judged(what: str, value: float, target: float, met: bool) -> None:
    print(f"{what}: {value:,.0f} (target: {target:,.0f}){'' if met else '  MISSED'}", flush=True)


TRIALS: Mapping[str, Callable[[Path], None]] = {"quickstart": quickstart, "relay": relay, "busy": busy, "large": large}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trials", nargs="*", metavar="TRIAL", help=f"of {', '.join(TRIALS)}; all by default")
    options = parser.parse_args()
    if unknown := set(options.trials) - set(TRIALS):
        parser.error(f"there is no trial {', '.join(sorted(unknown))}; choose from {', '.join(TRIALS)}")
    processes = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="brokerlab-benchmark-") as temporary:
        for name in options.trials or TRIALS:
            with processes.Pool(1) as pool:
                pool.apply(TRIALS[name], (Path(temporary),))


if __name__ == "__main__":
    main()
