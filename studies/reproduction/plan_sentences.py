"""The plan of a reproduction as a table for people, and in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from emulation.run.progress import duration
from record.wording import count_of
from studies.reproduction.budget import CostedExperiment, ReproductionPlan
from studies.reproduction.cell import ReproductionCell


def plan_table(plan: ReproductionPlan) -> Table:
    """A row for each scenario; `*` marks a smaller form of it."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    made.add_column("scenario", no_wrap=True)
    made.add_column("claims", max_width=60)
    made.add_column("seeds", justify="right", no_wrap=True)
    made.add_column("a seed", justify="right", no_wrap=True)
    made.add_column("processor time", justify="right", no_wrap=True)
    for entry in plan.chosen:
        made.add_row(*_row(entry))
    return made


def announcement(plan: ReproductionPlan, needed: Sequence[ReproductionCell]) -> Iterator[str]:
    """The extent of a reproduction, of which `needed` are the runs that are still to be made."""
    claims = {claim.id for experiment in plan.experiments for claim in experiment.claims}
    runs = sum(len(experiment.seeds) for experiment in plan.experiments)
    again = f", {runs - len(needed)} of them done before" if len(needed) < runs else ""
    seconds = sum(cell.cost for cell in needed)
    cost = f"; about {duration(seconds)} of processor time" if needed else ""
    scenarios = count_of(len(plan.chosen), "scenario")
    yield f"{count_of(len(claims), 'claim')} from {count_of(runs, 'run')}{again}; {scenarios}{cost}"
    if smaller := [entry.experiment.scenario for entry in plan.chosen if entry.experiment.quick_form]:
        yield f"{len(smaller)} of the scenarios run in a smaller form (*), so verdicts from them are provisional"
    if guessed := [entry.experiment.name for entry in plan.chosen if not entry.measured]:
        yield f"never measured, so the time is a guess: {', '.join(guessed)}"


def _row(entry: CostedExperiment) -> tuple[Text, ...]:
    experiment = entry.experiment
    guess = "" if entry.measured else "?"
    return (
        Text(f"{experiment.scenario}{'*' if experiment.quick_form else ''}"),
        Text(", ".join(claim.id for claim in experiment.claims)),
        Text(str(len(experiment.seeds))),
        Text(f"{duration(entry.seed_seconds)}{guess}"),
        Text(duration(entry.seconds)),
    )
