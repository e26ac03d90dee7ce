"""Reproduction of the papers' claims: planning the runs, executing them, and judging the claims by their results."""

from studies.reproduction.budget import ReproductionPlan, cells, costed, whole
from studies.reproduction.cell import ReproductionCell, ReproductionResult
from studies.reproduction.plan import Experiment, chosen_claims, measurable_on, plan_experiments
from studies.reproduction.recorded import Recorded, load_recorded
from studies.reproduction.results import (
    MeasuredExperiment,
    ResultStore,
    judgements,
    open_store,
    planned_runs,
    unmeasured,
)

__all__ = [
    "Experiment",
    "MeasuredExperiment",
    "Recorded",
    "ReproductionCell",
    "ReproductionPlan",
    "ReproductionResult",
    "ResultStore",
    "cells",
    "chosen_claims",
    "costed",
    "judgements",
    "load_recorded",
    "measurable_on",
    "open_store",
    "plan_experiments",
    "planned_runs",
    "unmeasured",
    "whole",
]
