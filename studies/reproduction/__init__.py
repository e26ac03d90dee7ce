"""Reproduction of the papers' claims: planning the runs, executing them, and judging the claims by their results."""

from studies.reproduction.cell import CellWork
from studies.reproduction.plan import Cell, Experiment, cells, chosen_claims, measurable_on, plan_experiments
from studies.reproduction.results import CellResult, ResultStore
from studies.reproduction.run import emulated_cells, judgements, results, simulated_cells

__all__ = [
    "Cell",
    "CellResult",
    "CellWork",
    "Experiment",
    "ResultStore",
    "cells",
    "chosen_claims",
    "emulated_cells",
    "judgements",
    "measurable_on",
    "plan_experiments",
    "results",
    "simulated_cells",
]
