"""The processor time of a reproduction: fewer seeds, or fewer scenarios, where all would take too long.

1. A *whole* reproduction takes at most `WHOLE_SECONDS`. Where its seeds would take more, the scenario that takes most
   gives up a seed, again and again, but no scenario gets fewer than `LEAST_SEEDS`.
2. A *quick* one runs one seed of each scenario, the cheapest first, until `QUICK_SECONDS` are spent. Scenarios that
   claims name besides another one come last. Those beyond the time are left out and named.
3. A number of seeds that the user asks for stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from analysis.claims import Claim
from studies.reproduction.plan import Cell, Experiment
from studies.reproduction.recorded import Recorded

WHOLE_SECONDS = 2.75 * 3600
"""Below three hours, because costs differ by some percent from run to run."""
QUICK_SECONDS = 2 * 17 * 60
"""17 minutes of two processors, which leaves some for the last run and the page."""
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
class CostedCell:
    """One run and what it costs."""

    cell: Cell
    seconds: float
    """Processor time."""


@dataclass(frozen=True, slots=True)
class ReproductionPlan:
    """The experiments of a reproduction, and those that it leaves out."""

    chosen: tuple[CostedExperiment, ...]
    left_out: tuple[CostedExperiment, ...] = ()

    @property
    def experiments(self) -> tuple[Experiment, ...]:
        return tuple(costed.experiment for costed in self.chosen)

    @property
    def seconds(self) -> float:
        """Processor time of all runs."""
        return sum(costed.seconds for costed in self.chosen)

    @property
    def claims_left_out(self) -> tuple[Claim, ...]:
        """Claims of which no scenario is run."""
        measured = {claim.id for experiment in self.experiments for claim in experiment.claims}
        found = {claim.id: claim for costed in self.left_out for claim in costed.experiment.claims}
        return tuple(claim for id, claim in found.items() if id not in measured)


def cells(chosen: Iterable[CostedExperiment]) -> tuple[CostedCell, ...]:
    """All runs, the longest first, so that no long run is still in progress when all others have ended."""
    every = [
        CostedCell(Cell(entry.experiment, seed), entry.seed_seconds)
        for entry in chosen
        for seed in entry.experiment.seeds
    ]
    return tuple(sorted(every, key=lambda costed: -costed.seconds))


def costed(experiments: Iterable[Experiment], recorded: Recorded) -> tuple[CostedExperiment, ...]:
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


def quick(experiments: Sequence[CostedExperiment], seconds: float = QUICK_SECONDS) -> ReproductionPlan:
    """The cheapest experiments that fit into `seconds` together, in the order given; the others are left out."""
    chosen: set[str] = set()
    spent = 0.0
    for entry in sorted(experiments, key=lambda entry: (entry.experiment.supplementary, entry.seconds)):
        spent += entry.seconds
        if spent > seconds:
            break
        chosen.add(entry.experiment.scenario)
    return ReproductionPlan(
        tuple(entry for entry in experiments if entry.experiment.scenario in chosen),
        tuple(entry for entry in experiments if entry.experiment.scenario not in chosen),
    )
