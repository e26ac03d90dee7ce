"""`python -m studies.fitting.bursts`: OctopiA's burst under other costs of a message, with what the paper states of it.

The paper does not say where a message costs its time. A *setting* is one answer: times of a message and of each copy,
of a subscription stored, and of a look at the output queues. Two stated numbers that no claim is judged by tell how
near a setting is (`STATED`); its *loss* is the sum of their squared logarithms of given over stated. The numbers that
claims are judged by stand beside it in the table and do not enter.

The burst is that of figure 17 at a hundredth: 500 publications, 1,000 subscribers.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from rich.console import Console

from analysis.claims.measured_run import MeasuredRun, open_measured
from analysis.claims.model import Recipe
from analysis.claims.papers.octopia import bursts
from analysis.claims.papers.octopia.bursts import MeasuredBurst
from analysis.judging.deliveries.burst_recovery import largest_delays
from analysis.tables.summary import Summary
from emulation.planning.calibration import Calibration
from emulation.planning.plan import Plan
from emulation.run.directory import RunOutcome
from emulation.simulation.run import simulate
from record.time_units import SECOND
from scenario.loading import load
from scenario.yaml_files.source import as_yaml
from studies.cells import Cell, CellResult
from studies.cells.executors.interface import ExecutorOptions
from studies.cells.scheduler import require_results
from studies.cells.store import CellStore
from studies.fitting.search import add_options, carry_out
from studies.fitting.stated import Stated
from studies.reproduction.plan import SCENARIOS

STATED = (
    Stated("turned", "highest delay, s", 157.0),
    Stated("stable", "OctopiA stable, s", 217.0),
)
"""OctopiA paper, section 10: no tendency toward stability in the first 157 s with either of its routings, and the
system "did not converge to normal" until queues had shrunk for another 60 s on average. Claims are about differences
between the routings, not about these times."""
JUDGED = ("IDR before SPR", "OctopiA before PADRES", "delay, OctopiA vs PADRES", "delay, TID-D vs TID-S", "queues")
"""Numbers of `oct-stable`, `oct-burst-delay`, `oct-tidd` and `oct-burst-queue`."""
PUBLISHED = ("35", "200", "-54%", "+18%", "-32%")

BURST = 50_000
"""Publications of the paper's burst."""
CLUSTER_ROWS, PADRES_ROWS = 2500, 1411
"""Subscriptions stored at a broker with 10,000 subscribers: those of a cluster, and those on the paths of 7.9 brokers
that `oct-prt` measures."""
_SMALL = {
    "workload.publications.individually.P101.bursts.0.publications": "500",
    "workload.publications.individually.P101.bursts.0.at": "1s",
    "workload.subscriptions.subscribers": "1000",
    "timeline.join": "20s",
    "timeline.run": "5s",
    "timeline.drain": "5s",
}
_STATUS = "congestion_threshold: 10, status_interval: 0.05"
_ROUTINGS = {
    "SPR": "{protocol: octopia, publications: static}",
    "IDR": f"{{protocol: octopia, publications: inter-cluster-dynamic, {_STATUS}}}",
    "TID-S": "{protocol: tid, publications: fixed}",
    "TID-D": f"{{protocol: tid, publications: dynamic, load: congestion, {_STATUS}}}",
}


@dataclass(frozen=True, slots=True)
class Setting:
    """Costs of a message at a broker. Times are means of exponential distributions, in milliseconds."""

    service: float
    """Time of a message that comes in."""
    copy: float = 0.0
    """Time of each copy that goes out, one after the other; 0 for none."""
    row: float = 0.0
    """Nanoseconds of a subscription stored, at every message. TID-D looks through its rows twice: for those that match,
    and for their trees."""
    look: float = 0.0
    """Time of a look at the output queues, which IDR and TID-D take at every message."""
    window: int = 1
    """Messages in flight on a link."""

    def services(self) -> Mapping[str, float]:
        """The time of a message that comes in, under each routing."""
        octopia = self.service + self.row * CLUSTER_ROWS * 1e-6
        padres = self.row * PADRES_ROWS * 1e-6
        return {
            "SPR": octopia,
            "IDR": octopia + self.look,
            "TID-S": self.service + padres,
            "TID-D": self.service + 2 * padres + self.look,
        }

    def overrides(self) -> dict[str, str]:
        """The setting as overrides of the scenario's fields."""
        variants = ", ".join(
            f"{name}: {{routing: {_ROUTINGS[name]}, brokers.service_time: {_exponential(time)}}}"
            for name, time in self.services().items()
        )
        fields = {"vary": f"{{router: {{{variants}}}}}", "brokers.limits.window": str(self.window)}
        if self.copy:
            fields |= {"topology.link.send_time": _exponential(self.copy), "brokers.sending": "in-turn"}
        return fields

    def __str__(self) -> str:
        return f"{self.service:g} | {self.copy:g} | {self.row:g} | {self.look:g} | {self.window}"


def _exponential(milliseconds: float) -> str:
    return f"{{mean: {milliseconds:.6g}ms, distribution: exponential}}"


IN_USE = Setting(0.5, 0.5)
"""The costs of the scenarios."""
GRID = (
    IN_USE,
    Setting(3.0),
    Setting(1.0),
    Setting(3.0, 0.25),
    Setting(1.0, 0.25),
    Setting(0.5, 0.25),
    Setting(0.5, 0.5, window=128),
    Setting(0.5, 0.5, row=200.0),
    Setting(0.5, 0.5, look=0.1),
)
"""A message against a copy, then the other costs. By the TID paper a row costs 22 ns (4.5 ms for 200,000 of them); with
200 ns, OctopiA's 2,500 rows cost 0.5 ms."""


class BurstResult(CellResult, frozen=True, kw_only=True):
    """The numbers of one setting with one seed."""

    turned: float
    stable: float
    judged: tuple[float | None, ...]
    """Values of `JUDGED`, in its order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BurstCell(Cell[BurstResult]):
    """The small burst of one setting with one seed, under all four routings."""

    study = "burst fitting"

    @classmethod
    def of(cls, setting: Setting, seed: int) -> BurstCell:
        fields = {**_SMALL, **setting.overrides(), "seed": str(seed)}
        scenario = as_yaml(load(SCENARIOS / "octopia" / "oct-burst-100k.yaml", fields).resolved())
        numbers = (setting.service, setting.copy, setting.row, setting.look, setting.window)
        return cls(key="-".join(f"{number:g}" for number in (*numbers, seed)), scenario=scenario)

    def simulate(self, plan: Plan, directory: Path) -> RunOutcome:
        """Runs the plan in virtual time, in which brokers' work takes the times of the setting alone."""
        return simulate(plan, directory, calibration=Calibration.free())

    def read(self, outcome: RunOutcome, summary: Summary, runtime: str) -> BurstResult:
        """The numbers of the run, the judged ones by the measures of their claims."""
        run = open_measured(outcome.directory)
        octopia = [MeasuredBurst(run.of(name), BURST) for name in ("SPR", "IDR")]
        return BurstResult(
            fingerprint=self.fingerprint,
            runtime=runtime,
            delivery=summary.delivery,
            fidelity=summary.fidelity,
            turned=fmean(_turned(burst) for burst in octopia),
            stable=fmean(burst.stable_after or 0.0 for burst in octopia),
            judged=_judged(run),
        )


def _judged(run: MeasuredRun) -> tuple[float | None, ...]:
    recipe = Recipe(scenario="", measure="", arguments=(BURST,))
    seconds = bursts.stabilisation(run, recipe).values[:2]
    measures = (bursts.delay, bursts.dynamic_delay, bursts.queue_length)
    values = (*seconds, *(measure(run, recipe).values[0] for measure in measures))
    return tuple(None if value is None else float(value) for value in values)


def _turned(burst: MeasuredBurst) -> float:
    """Seconds from the start of the burst to the largest delay of all, at the paper's scale."""
    rows = burst.variant.notifications
    length = max(bursts.FEWEST_NOTIFICATIONS, round(bursts.NOTIFICATIONS / burst.scale))
    points = largest_delays([row.notified_ns for row in rows], [row.delay_ms or 0.0 for row in rows], length)
    return (max(points, key=lambda point: point.largest).came - burst.begin) / SECOND * burst.scale


def loss(results: Sequence[BurstResult]) -> float:
    """Distance of a setting's means over seeds from the stated numbers."""
    means = (fmean(getattr(result, stated.name) for result in results) for stated in STATED)
    return sum(math.log(max(mean, 1.0) / stated.value) ** 2 for mean, stated in zip(means, STATED, strict=True))


def row(setting: Setting, results: Sequence[BurstResult]) -> str:
    """A row of the table: the setting, the stated numbers, the loss, and the judged numbers of each seed."""
    given = [f"{fmean(getattr(result, stated.name) for result in results):.0f}" for stated in STATED]
    judged = [
        ", ".join(_shown(result.judged[number], seconds=number < 2) for result in results)
        for number in range(len(JUDGED))
    ]
    return f"| {' | '.join([str(setting), *given, f'{loss(results):.2f}', *judged])} |"


def _shown(value: float | None, *, seconds: bool) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if seconds else f"{100 * value:+.0f}%"


def _print_table(results: Mapping[Setting, Sequence[BurstResult]]) -> None:
    head = ["message, ms", "copy, ms", "row, ns", "look, ms", "window", *(stated.label for stated in STATED), "loss"]
    print(f"| {' | '.join([*head, *JUDGED])} |")
    print("|---" * (len(head) + len(JUDGED)) + "|")
    stated_numbers = " | ".join(f"{stated.value:.0f}" for stated in STATED)
    print(f"| *stated* | | | | | {stated_numbers} | 0 | {' | '.join(PUBLISHED)} |")
    for setting in sorted(results, key=lambda setting: loss(results[setting])):
        print(row(setting, results[setting]))


def _simulate(
    settings: Iterable[Setting], seeds: Sequence[int], store: CellStore[BurstResult], options: ExecutorOptions
) -> Mapping[Setting, Sequence[BurstResult]]:
    chosen = list(settings)
    cells = [BurstCell.of(setting, seed) for seed in seeds for setting in chosen]
    found = require_results(options, store, cells, Console(stderr=True, highlight=False))
    by_key = {cell.key: result for cell, result in zip(cells, found, strict=True)}
    return {setting: [by_key[BurstCell.of(setting, seed).key] for seed in seeds] for setting in chosen}


def main() -> int:
    asked = _options()
    settings = [replace(IN_USE, **dict(asked.setting))] if asked.setting else GRID

    def search(store: CellStore[BurstResult], options: ExecutorOptions) -> None:
        _print_table(_simulate(settings, range(1, asked.seeds + 1), store, options))

    return carry_out(search, BurstResult, asked)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m studies.fitting.bursts",
        description="Shows OctopiA's burst under other costs of a message, with what the paper states of it.",
    )
    parser.add_argument("--seeds", type=int, default=2, help="number of seeds, from 1")
    add_options(parser, "runs/fitting-bursts")
    parser.add_argument(
        "--setting", type=_field, action="append", default=[], help="one setting in place of the grid: copy=0.5"
    )
    asked = parser.parse_args()
    if asked.seeds < 1:
        parser.error(f"--seeds {asked.seeds}: at least one is needed")
    return asked


def _field(text: str) -> tuple[str, float]:
    name, _, number = text.partition("=")
    return name, int(number) if name == "window" else float(number)


if __name__ == "__main__":
    sys.exit(main())
