"""The processor time of a reproduction: fewer seeds where all would take too long.

A *whole* reproduction takes at most `WHOLE_SECONDS`. Where its seeds would take more, the scenario that takes most
gives up a seed, again and again, but no scenario gets fewer than `LEAST_SEEDS`. A number of seeds that the user asks
for stays. A *quick* reproduction runs one seed of every scenario, in the scenario's smaller form where there is one
(`analysis.claims.quick_forms`). Its time is a promise about these forms, which a test holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from studies.reproduction.cell import ReproductionCell
from studies.reproduction.plan import Experiment
from studies.reproduction.recorded import Recorded

WHOLE_SECONDS = 2.75 * 3600
"""Processor time of a reproduction at most; below three hours, because costs differ by some percent from run to run."""
QUICK_SECONDS = 2 * 17 * 60
"""Processor time of a quick reproduction at most: 17 minutes of two processors, which leaves some for the
last run and the page."""
LEAST_SEEDS = 2
"""The least number of seeds that gives an interval."""


@dataclass(frozen=True, slots=True)
class CostedExperiment:
    """An experiment and what it costs."""

    experiment: Experiment
    seed_seconds: float
    """Processor time of one seed."""
    measured: bool
    """False where the cost is a guess from the size of the scenario."""

    @property
    def seconds(self) -> float:
        """Processor time of all seeds."""
        return self.seed_seconds * len(self.experiment.seeds)


@dataclass(frozen=True, slots=True)
class ReproductionPlan:
    """The experiments of a reproduction."""

    chosen: tuple[CostedExperiment, ...]

    @property
    def experiments(self) -> tuple[Experiment, ...]:
        return tuple(costed.experiment for costed in self.chosen)

    @property
    def seconds(self) -> float:
        """Processor time of all runs."""
        return sum(costed.seconds for costed in self.chosen)


def cells(plan: ReproductionPlan, runtime: str) -> tuple[ReproductionCell, ...]:
    """All runs of a plan, the longest first, so that no long run is still in progress when all others have ended."""
    every = [
        replace(ReproductionCell.of(entry.experiment, seed, runtime), cost=entry.seed_seconds)
        for entry in plan.chosen
        for seed in entry.experiment.seeds
    ]
    return tuple(sorted(every, key=lambda cell: -cell.cost))


def costed(experiments: Iterable[Experiment], recorded: Recorded) -> tuple[CostedExperiment, ...]:
    """Experiments with their costs."""
    return tuple(
        CostedExperiment(experiment, recorded.cpu_seconds(experiment), recorded.measured(experiment))
        for experiment in experiments
    )


def whole(experiments: Sequence[CostedExperiment], seconds: float = WHOLE_SECONDS) -> ReproductionPlan:
    """All experiments, with fewer seeds of the dearest where they would take longer than `seconds`."""
    fitted = list(experiments)
    while sum(entry.seconds for entry in fitted) > seconds:
        reducible = [number for number, entry in enumerate(fitted) if len(entry.experiment.seeds) > LEAST_SEEDS]
        if not reducible:
            break
        dearest = max(reducible, key=lambda number: fitted[number].seconds)
        experiment = fitted[dearest].experiment
        fitted[dearest] = replace(fitted[dearest], experiment=replace(experiment, seeds=experiment.seeds[:-1]))
    return ReproductionPlan(tuple(fitted))
