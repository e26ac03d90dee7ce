"""Reproducing what the papers claim: which runs that takes, running them, and what came of it."""

from emulation.reproduction.cell import CellWork
from emulation.reproduction.plan import Cell, Experiment, cells, chosen_claims, plan_experiments
from emulation.reproduction.results import CellResult, Store
from emulation.reproduction.run import emulated_cells, judgements, results, simulated_cells

__all__ = [
    "Cell",
    "CellResult",
    "CellWork",
    "Experiment",
    "Store",
    "cells",
    "chosen_claims",
    "emulated_cells",
    "judgements",
    "plan_experiments",
    "results",
    "simulated_cells",
]
