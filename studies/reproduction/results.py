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
    claims: dict[str, Claim] = {}
    measured: dict[str, list[Measurement]] = {}
    smaller: set[str] = set()
    for experiment, found in runs:
        for claim in experiment.claims:
            claims[claim.id] = claim
            measured.setdefault(claim.id, []).extend(run.result.measurements[claim.id] for run in found)
            if experiment.quick_form and found:
                smaller.add(claim.id)
    return [
        msgspec.structs.replace(judge(claim, measured[id]), from_quick_form=id in smaller)
        for id, claim in claims.items()
    ]
