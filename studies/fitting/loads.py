"""`python -m studies.fitting.loads`: how busy links are in the TID scenarios, and the rates that follow from it.

The paper states two rates. One rule gives all others: with fixed routing the busiest link is in use for `USE` of the
time, in the mean over seeds. A link has a queue for each direction, so the busier direction counts. No delay and no
difference between routings enters.

A message counts whenever it leaves, so that a rate at which queues grow is measured as well as any other. A publisher
that leaves does not count, because the rule is about the load that remains.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

from analysis.claims.measured_run import MeasuredRun, open_measured
from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from broker_service.messages import Kind
from emulation.planning.calibration import Calibration
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from record.log import Event
from scenario.loading import load
from scenario.model import Scenario
from scenario.sections.workload.quotes import QuotePublications, QuotesWorkload
from studies.reproduction.plan import SCENARIOS

USE = 0.837
"""Share of the time in which the busiest link is in use: the highest load that the paper states, of its busiest broker
("Overhead"). Here it is the link on which a message takes its time."""
SCENARIOS_OF_FIGURES = ("tid-5a", "tid-5b", "tid-5c", "tid-5d", "tid-5e", "tid-5f", "tid-full")
"""Scenarios whose loads are shown. All but Fig. 5(c), whose rate the paper states, have the rate of the rule."""
SEEDS = 12

Sent = Mapping[tuple[str, str, str], int]
"""Publication messages that left: by broker, by the neighbour they were for, and by the publisher they came from."""


@dataclass(frozen=True, slots=True)
class Load:
    """The load of the busiest link over several seeds."""

    scenario: str
    uses: tuple[float, ...]
    """The share of the time in which it is in use, for each seed; above 1 its queue grows."""

    @property
    def factor(self) -> float:
        """Factor of the scenario's rates with which the rule would hold."""
        return USE / fmean(self.uses)

    def __str__(self) -> str:
        uses = ", ".join(f"{use:.2f}" for use in self.uses)
        return f"{self.scenario:<9} {fmean(self.uses):.3f}  x {self.factor:.3f}  ({uses})"


def remaining(scenario: Scenario, publications: QuotePublications) -> Mapping[str, float]:
    """Seconds of the phase `run` in which each publisher publishes, except for those that leave."""
    seconds = {f"P{number}": scenario.timeline.run for number in range(1, publications.publishers + 1)}
    for name, own in publications.individually.items():
        seconds[name] -= own.joins or 0.0
        if own.leaves is not None:
            del seconds[name]
    return seconds


def busiest(sent: Sent, seconds: Mapping[str, float]) -> float:
    """Messages a second that the busiest direction of a link has to carry for these publishers."""
    loads: dict[tuple[str, str], float] = {}
    for (broker, neighbour, publisher), count in sent.items():
        if publisher in seconds:
            loads[broker, neighbour] = loads.get((broker, neighbour), 0.0) + count / seconds[publisher]
    return max(loads.values(), default=0.0)


def sent_messages(run: MeasuredRun) -> Sent:
    """The publication messages of a run of one variant."""
    sent: Counter[tuple[str, str, str]] = Counter()
    for broker in run.brokers:
        for record in run.message_records(broker, f'"kind":"{Kind.PUBLISH.word}"'.encode()):
            if record.event is Event.SENT and record.peer is not None:
                publisher, _, _ = record.id.rpartition(":")  # of an id such as P3:17
                sent[broker, record.peer, publisher] += 1
    return sent


def use_of_busiest(name: str, seed: int) -> float:
    """Share of the time in which a scenario's busiest link would be in use with fixed routing."""
    settings = {"seed": str(seed), "vary.routing.publications": "[fixed]"}
    scenario = load(SCENARIOS / "tid" / f"{name}.yaml", settings)
    assert isinstance(scenario.workload, QuotesWorkload)
    publications = scenario.workload.publications
    assert publications is not None
    with TemporaryDirectory(prefix="loads-") as directory:
        outcome = simulate(make_plan(scenario), Path(directory), calibration=Calibration.free())
        analyze(outcome.directory, PlainEngine())
        run = open_measured(outcome.directory)
        send_time = run.of("fixed").overlay.links[0].forward.send_time.mean
        return send_time * busiest(sent_messages(run), remaining(scenario, publications))


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m studies.fitting.loads",
        description="Shows how busy the busiest link is in the TID scenarios, and the factor of their rates with which "
        f"it would be in use for {USE:.1%} of the time.",
    )
    parser.add_argument("scenarios", nargs="*", default=SCENARIOS_OF_FIGURES, help="such as tid-5a; all by default")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="number of seeds, from 1")
    parser.add_argument("--jobs", type=int, help="simulations side by side; as many as CPUs by default")
    asked = parser.parse_args()
    with ProcessPoolExecutor(asked.jobs) as pool:
        for name in asked.scenarios:
            uses = pool.map(partial(use_of_busiest, name), range(1, asked.seeds + 1))
            print(Load(name, tuple(uses)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
