"""Speed and memory of the simulator: `python -m benchmarks.simulation [--quick] [TRIAL ...]`.

Trials, each in a process of its own, logs included and with the shipped calibration:

* *light*: `scenarios/cyclic-30.yaml` as it is, virtual time against real time.
* *relay*: publications that pass through a line of ten brokers, which do little but pass messages on.
* *busy*: the same overlay with ten times its publications and five times its subscriptions' selectivity, in
  which making, matching and delivering publications takes its share.
* *semi-probabilistic*: 300 brokers of degree 5 that route events with a horizon of 1 and of 3, at a threshold of 0.25.
* *flooding*: the same overlay with a threshold of 1, and logs of 5% of the publications, for a tenth of the events of
  the paper's run.
* *large*: 1,000 brokers and 100,000 publications, for the greatest resident memory.

An event is a record of a message in a broker's log: received, matched, sent or delivered. Rates count CPU seconds of
the one process, so that other work on the machine disturbs them less. `--quick` runs the first two trials, at one size.
The others are repeated at sizes up to a hundred times smaller or larger, in the same process and in ascending order, so
that the greatest memory is that of the latest.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.support.growth import Growth
from benchmarks.support.simulated_run import BUSY, CYCLIC_30
from benchmarks.support.trials import Trial, parse_trials, run_trials
from benchmarks.targets import Bound, Judgement, Target, conclude
from emulation.host.reference_loops import Reference
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from record.files import LOGS
from record.log import Event
from scenario.loading import load

COMPILED = "it was set for brokers that were compiled to C, which are not built any more"

SPEED = Target(
    "virtual time of thirty lightly loaded brokers in a second", Bound.AT_LEAST, 20, "s", Reference.INTERPRETER
)
RELAY_RATE = Target(
    "events of ten relaying brokers", Bound.AT_LEAST, 300_000, "events/CPU s", Reference.INTERPRETER, COMPILED
)
BUSY_RATE = Target(
    "events of thirty busy brokers", Bound.AT_LEAST, 250_000, "events/CPU s", Reference.INTERPRETER, COMPILED
)
LARGE_RATE = Target(
    "events of 1,000 simulated brokers", Bound.AT_LEAST, 150_000, "events/CPU s", Reference.INTERPRETER, COMPILED
)
NEAR_RATE = Target(
    "events of 300 brokers with a subscription horizon of 1",
    Bound.AT_LEAST,
    150_000,
    "events/CPU s",
    Reference.INTERPRETER,
    COMPILED,
)
FAR_RATE = Target(
    "events of 300 brokers with a subscription horizon of 3",
    Bound.AT_LEAST,
    100_000,
    "events/CPU s",
    Reference.INTERPRETER,
    COMPILED,
)
FLOOD_RATE = Target(
    "messages of 300 brokers that flood events",
    Bound.AT_LEAST,
    39_862,
    "messages/CPU s",
    Reference.INTERPRETER,
    COMPILED,
)
"""Rate of 11,958,600 messages (semi-probabilistic routing, section 4, "Static Network") in 5 minutes."""
FLOOD_MEMORY = Target("memory of 300 brokers that flood events", Bound.AT_MOST, 1536, "MB")
MEMORY = Target("memory of 1,000 simulated brokers with 100,000 publications", Bound.AT_MOST, 4096, "MB")

EVENTS = (Event.RECEIVED, Event.MATCHED, Event.SENT, Event.DELIVERED)
RATES = ("12/min", "120/min", "1200/min")
"""Publications of each publisher of `CYCLIC_30`; those of *busy* are the last."""
RELAY = """
name: relay
topology: {{kind: line, brokers: {brokers}, link: {{delay: 2ms}}}}
routing: {{protocol: tid, publications: fixed}}
workload:
  publications: {{source: stocks, publishers: 1, rate: 400/s, placement: [B1]}}
  subscriptions: {{subscribers: 1, selectivity: 100%, placement: [B{brokers}]}}
timeline: {{join: 5s, run: {run}s, drain: 4s}}
seed: 1
"""
RELAYING = {3: 60, 10: 60, 300: 2}
"""Seconds of the run by the number of relaying brokers, so that the longest line has no more events than the judged."""
SEMI_PROBABILISTIC = """
name: semi-probabilistic
topology: {{kind: random-regular, brokers: 300, degree: 5, link: {{delay: 1ms}}}}
routing: {{protocol: semi-probabilistic, horizon: {horizon}, threshold: 0.25}}
workload: {{kind: patterns, publications: {{rate: 5/s, receivers: 10%}}}}
timeline: {{join: 2s, run: 3s, drain: 1s}}
seed: 1
"""
FLOODING = """
name: flooding
topology: {kind: random-regular, brokers: 300, degree: 5, link: {delay: 1ms}}
routing: {protocol: semi-probabilistic, threshold: 1}
workload: {kind: patterns, publications: {rate: 5/s, receivers: 10%}}
logs: {publications: 5%}
timeline: {join: 2s, run: 664ms, drain: 1s}
seed: 1
"""
COPIES_OF_A_FLOOD = 300 * (5 - 1) + 1
"""Messages of one event: the publisher's broker uses all of its links, any other all but one."""
LARGE = """
name: large
topology: {{kind: cyclic, brokers: {brokers}, degree: 4, link: {{delay: 2ms..10ms, jitter: 5%, bandwidth: 10mbit}}}}
routing: {{protocol: tid, publications: dynamic}}
workload:
  publications: {{source: stocks, publishers: {publishers}, publishers_per_symbol: 2, rate: 10/s}}
  subscriptions: {{subscribers: {subscribers}, popularity: zipf, selectivity: 0.5%}}
timeline: {{join: 60s, run: 100s, drain: 10s}}
seed: 1
"""
SIZES = (20, 200, 1_000)
"""Brokers of *large*, with a publisher for every ten of them and a subscriber for every two."""

MEMORY_BOUND = "the log buffer, the links and the tables of each broker"
AT_HIGH_RATES = "Python calls for each event: a receipt, a decision, a departure and a line of the log"


@dataclass(frozen=True, slots=True)
class SimulatedRun:
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
    """Greatest resident memory, MB."""


def run_trial(scenario: Path, overrides: Mapping[str, str]) -> SimulatedRun:
    """Simulates a scenario in this process and counts what its logs say."""
    plan = make_plan(load(scenario, overrides))
    with tempfile.TemporaryDirectory(prefix="benchmark-") as temporary:
        wall, cpu = time.perf_counter(), time.process_time()
        outcome = simulate(plan, Path(temporary))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        found = _count(outcome.directory / LOGS)
    return SimulatedRun(
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


def light(_directory: Path) -> list[Judgement]:
    trial = run_trial(CYCLIC_30, {})
    print(f"light: {trial.virtual:.0f} s of virtual time in {trial.wall:.2f} s, {trial.records:,} log records")
    return [SPEED.judge(trial.virtual / trial.wall)]


def light_growth(_directory: Path) -> list[Judgement]:
    speeds = {}
    for rate in RATES:
        trial = run_trial(CYCLIC_30, {"workload.publications.rate": rate})
        speeds[trial.published] = trial.virtual / trial.wall
    return [SPEED.judge(list(speeds.values())[1], Growth("publications", speeds, AT_HIGH_RATES))]


def relay(directory: Path) -> list[Judgement]:
    return [RELAY_RATE.judge(_relayed(directory, 10))]


def relay_growth(directory: Path) -> list[Judgement]:
    rates = {brokers: _relayed(directory, brokers) for brokers in RELAYING}
    return [RELAY_RATE.judge(rates[10], Growth("brokers", rates, AT_HIGH_RATES))]


def _relayed(directory: Path, brokers: int) -> float:
    scenario = directory / "relay.yaml"
    scenario.write_text(RELAY.format(brokers=brokers, run=RELAYING[brokers]))
    return _event_rate(f"relay of {brokers}", run_trial(scenario, {}))


def busy(_directory: Path) -> list[Judgement]:
    rates = {}
    for rate in RATES:
        trial = run_trial(CYCLIC_30, {**BUSY, "workload.publications.rate": rate})
        rates[trial.published] = _event_rate(f"busy at {rate}", trial)
    return [BUSY_RATE.judge(list(rates.values())[-1], Growth("publications", rates, AT_HIGH_RATES))]


def _event_rate(name: str, trial: SimulatedRun) -> float:
    print(f"{name}: {trial.published:,} publications, {trial.events:,} events in {trial.cpu:.2f} CPU s")
    return trial.events / trial.cpu


def semi_probabilistic(directory: Path) -> list[Judgement]:
    judgements = []
    for horizon, target in ((1, NEAR_RATE), (3, FAR_RATE)):
        scenario = directory / "semi-probabilistic.yaml"
        scenario.write_text(SEMI_PROBABILISTIC.format(horizon=horizon))
        judgements.append(target.judge(_event_rate(f"a horizon of {horizon}", run_trial(scenario, {}))))
    return judgements


def flooding(directory: Path) -> list[Judgement]:
    scenario = directory / "flooding.yaml"
    scenario.write_text(FLOODING)
    trial = run_trial(scenario, {})
    messages = trial.published * COPIES_OF_A_FLOOD
    print(f"flooding: {trial.published:,} events, {messages:,} messages in {trial.cpu:.2f} CPU s")
    return [FLOOD_RATE.judge(messages / trial.cpu), FLOOD_MEMORY.judge(trial.memory)]


def large(directory: Path) -> list[Judgement]:
    memory, rates = {}, {}
    for brokers in SIZES:
        scenario = directory / "large.yaml"
        scenario.write_text(LARGE.format(brokers=brokers, publishers=brokers // 10, subscribers=brokers // 2))
        trial = run_trial(scenario, {})
        memory[brokers], rates[brokers] = trial.memory, trial.events / trial.cpu
        print(
            f"large: {brokers:,} brokers, {trial.published:,} publications: {trial.virtual:.0f} s of virtual time in "
            f"{trial.wall:.0f} s ({trial.cpu:.0f} CPU s), {trial.events:,} events ({rates[brokers]:,.0f} a CPU "
            f"second), {trial.state:,} of them of advertisements and subscriptions"
        )
    return [
        MEMORY.judge(trial.memory, Growth("brokers", memory, MEMORY_BOUND)),
        LARGE_RATE.judge(rates[brokers], Growth("brokers", rates, AT_HIGH_RATES)),
    ]


TRIALS: Mapping[str, Trial] = {
    "light": light_growth,
    "relay": relay_growth,
    "busy": busy,
    "semi-probabilistic": semi_probabilistic,
    "flooding": flooding,
    "large": large,
}
QUICK_TRIALS: Mapping[str, Trial] = {"light": light, "relay": relay}


def run(arguments: Sequence[str]) -> list[Judgement]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"{' and '.join(QUICK_TRIALS)}, at one size")
    options = parse_trials(parser, arguments, TRIALS)
    trials = QUICK_TRIALS if options.quick else TRIALS
    return run_trials(trials.get(name, TRIALS[name]) for name in options.trials or trials)


if __name__ == "__main__":
    sys.exit(conclude(run(sys.argv[1:])))
