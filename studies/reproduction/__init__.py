"""Reproduction of the papers' claims: planning the runs, executing them, and judging the claims by their results."""

from studies.reproduction.budget import (
    CostedCell,
    CostedExperiment,
    ReproductionPlan,
    cells,
    costed,
    whole,
)
from studies.reproduction.cell import CellWork
from studies.reproduction.plan import Cell, Experiment, chosen_claims, measurable_on, plan_experiments
from studies.reproduction.recorded import Recorded, load_recorded
from studies.reproduction.results import CellFailure, CellResult, ResultStore
from studies.reproduction.run import (
    RunCells,
    emulated_cells,
    judgements,
    results,
    simulated_cells,
    spark_cells,
)

__all__ = [
    "Cell",
    "CellFailure",
    "CellResult",
    "CellWork",
    "CostedCell",
    "CostedExperiment",
    "Experiment",
    "Recorded",
    "ReproductionPlan",
    "ResultStore",
    "RunCells",
    "cells",
    "chosen_claims",
    "costed",
    "emulated_cells",
    "judgements",
    "load_recorded",
    "measurable_on",
    "plan_experiments",
    "results",
    "simulated_cells",
    "spark_cells",
    "whole",
]
