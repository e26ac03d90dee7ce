"""The results of a reproduction: its directory, the runs of each experiment in it, and the judgements on claims."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec

from analysis.claims import Claim, JudgedClaim, Measurement, judge
from record.errors import BadInputError
from studies.cells.attempt import Attempt
from studies.cells.store import CellStore
from studies.reproduction.cell import ReproductionCell, ReproductionResult
from studies.reproduction.plan import Experiment

ResultStore: TypeAlias = CellStore[ReproductionResult]
MeasuredCell: TypeAlias = Attempt[ReproductionResult]
MeasuredExperiment: TypeAlias = tuple[Experiment, Sequence[MeasuredCell]]
"""An experiment with the runs that have a result."""


def open_store(directory: Path) -> ResultStore:
    """The store in this directory. Raises `BadInputError` for a directory in the format of earlier versions."""
    store = CellStore(directory, ReproductionResult)
    if old := next(store.cells.glob("*.json"), None):
        raise BadInputError(
            f"{old}: measured by an earlier version of brokerlab, which cannot be continued: choose another directory "
            "with --out, or remove this one"
        )
    return store


def unmeasured(store: ResultStore, cells: Iterable[ReproductionCell]) -> list[ReproductionCell]:
    """The cells that today's program has not measured."""
    results = ((cell, store.result(cell)) for cell in cells)
    return [cell for cell, result in results if result is None or result.program != cell.experiment.program]


def planned_runs(experiments: Iterable[Experiment], runtime: str, store: ResultStore) -> list[MeasuredExperiment]:
    """The runs of the planned seeds."""
    return [(experiment, _runs(experiment, experiment.seeds, runtime, store)) for experiment in experiments]


def stored_runs(experiments: Iterable[Experiment], runtime: str, store: ResultStore) -> list[MeasuredExperiment]:
    """The runs of all seeds in the store, by seed, also of those that are not planned."""
    return [
        (experiment, _runs(experiment, _stored_seeds(f"{experiment.name}-", store), runtime, store))
        for experiment in experiments
    ]


def _stored_seeds(prefix: str, store: ResultStore) -> list[int]:
    names = (cell.name.removeprefix(prefix) for cell in store.cells.glob(f"{prefix}*"))
    return sorted(int(name) for name in names if name.isdecimal())


def _runs(experiment: Experiment, seeds: Iterable[int], runtime: str, store: ResultStore) -> list[MeasuredCell]:
    found = (store.counted(ReproductionCell.of(experiment, seed, runtime)) for seed in seeds)
    return [attempt for attempt in found if attempt is not None]


def judgements(runs: Iterable[MeasuredExperiment]) -> list[JudgedClaim]:
    """Judgements on all claims, from the runs of every scenario in which a claim is measured."""
    found: dict[str, list[tuple[Claim, Experiment, list[Measurement]]]] = {}
    for experiment, cells in runs:
        for claim in experiment.claims:
            measured = [cell.result.measurements[claim.id] for cell in cells]
            found.setdefault(claim.id, []).append((claim, experiment, measured))
    return [_judged(in_each) for in_each in found.values()]


def _judged(in_each: Sequence[tuple[Claim, Experiment, list[Measurement]]]) -> JudgedClaim:
    """The judgement on a claim, from its measurements in each of its scenarios."""
    claim, first, _ = in_each[0]
    judgement = judge(claim, [measurement for _, _, measured in in_each for measurement in measured])
    if not judgement.seeds or claim.measured_by is None:
        return judgement
    return msgspec.structs.replace(
        judgement,
        from_quick_form=any(experiment.quick_form and measured for _, experiment, measured in in_each),
        size=str(first.size),
        smaller=first.size.beside_the_papers(claim.measured_by, first.resolved),
        changed=", ".join(f"{field}={value}" for field, value in first.changed.items()),
    )
