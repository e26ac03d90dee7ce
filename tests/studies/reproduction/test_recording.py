"""The record that is made of a reproduction's results."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from analysis.claims import Measurement, load_claims
from studies.reproduction import ReproductionCell, load_recorded, plan_experiments
from studies.reproduction.__main__ import outcome
from studies.reproduction.results import open_store
from tests.studies.reproduction.tiny import attempt, measured

SEED = 7
SIMULATED, PROCESSES = "gry-4", "tid-overhead"
"""A claim that the simulator measures, and one about the brokers' processes."""


def recorded_seeds(id: str, runtime: str, directory: Path) -> int:
    """Number of seeds in the record of a claim of which one run was made, on this runtime."""
    papers = load_claims()
    [claim] = [claim for claim in papers.claims if claim.id == id]
    [experiment] = plan_experiments([claim], None)
    store = open_store(directory)
    cell = ReproductionCell.of(experiment, SEED, runtime)
    result = measured(cell, 1.0)
    found = msgspec.structs.replace(result, measurements={id: Measurement(values=(1.0,) * len(claim.numbers))})
    store.record(cell, attempt(found), final=True)
    alone = msgspec.structs.replace(papers, claims=(claim,))
    return outcome(alone, load_recorded(), store).claims[id].seeds


@pytest.mark.parametrize(("id", "runtime"), [(SIMULATED, "simulated"), (PROCESSES, "container")])
def test_a_run_is_recorded_on_the_runtime_that_measures_the_claim(id: str, runtime: str, tmp_path: Path) -> None:
    assert recorded_seeds(id, runtime, tmp_path) == 1


def test_a_claim_that_the_simulator_measures_is_not_recorded_from_containers(tmp_path: Path) -> None:
    assert recorded_seeds(SIMULATED, "container", tmp_path) == load_recorded().claims[SIMULATED].seeds
