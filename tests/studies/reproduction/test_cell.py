"""The cells of a reproduction: the time that routers themselves take is logged for the claims about it alone."""

from __future__ import annotations

import pickle
from pathlib import Path

import msgspec
import numpy as np
import pytest

from analysis.claims import Claim, ClaimKind, Measurement, Recipe
from analysis.claims.shipped import MEASURES, TIMED
from record.files import LOGS, log_files
from record.log import Event, TraceRecord
from studies.reproduction import ReproductionCell, plan_experiments
from studies.reproduction.cell import measure
from studies.reproduction.plan import first_seeds
from tests.studies.cells.here import run_here
from tests.studies.reproduction.tiny import TINY

_DECODER = msgspec.json.Decoder(TraceRecord)
_WORK = frozenset({Event.RECEIVED, Event.MATCHED})


def cell_of(measure: str, directory: Path, scenario: str = TINY) -> ReproductionCell:
    directory.mkdir(exist_ok=True)
    (directory / "tiny.yaml").write_text(scenario)
    recipe = Recipe(scenario="tiny.yaml", measure=measure)
    claim = Claim(id="x", paper="tid", kind=ClaimKind.PROPERTY, what="x", measured_by=recipe)
    (experiment,) = plan_experiments([claim], first_seeds(1), directory, {"timeline.run": "3s"})
    return ReproductionCell.of(experiment, 1, "simulated")


def _records(measure: str, directory: Path) -> list[TraceRecord]:
    cell = cell_of(measure, directory)
    outcome = cell.simulate(cell.plan(), directory)
    files = sorted(log_files(outcome.directory / LOGS))
    return [record for file in files for record in _DECODER.decode_lines(file.read_bytes())]


def test_a_router_is_timed_for_the_claims_about_its_time_alone(tmp_path: Path) -> None:
    timed, others = _records("matching delay", tmp_path / "timed"), _records("received twice", tmp_path / "others")
    assert any(record.duration for record in timed if record.event in _WORK)
    assert not any(record.duration for record in others if record.event in _WORK)
    for record in timed:
        if record.event in _WORK and record.duration is not None:
            record.duration = 0
    assert timed == others, "the time of routers affects nothing else"


@pytest.mark.parametrize("name", sorted(TIMED))
def test_timed_measures_exist(name: str) -> None:
    assert name in MEASURES


def test_another_process_measures_the_same_without_the_scenarios_file(tmp_path: Path) -> None:
    varied = f"{TINY}vary: {{topology.brokers: [4, 3], routing.publications: [fixed, dynamic]}}\n"
    cell = cell_of("received twice", tmp_path, varied)
    here = run_here(cell, tmp_path / "here")
    assert here.measurements["x"].checked > 0
    (tmp_path / "tiny.yaml").unlink()
    assert run_here(pickle.loads(pickle.dumps(cell)), tmp_path / "there") == here


def test_numbers_of_numpy_can_be_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Measurement(values=(np.float64(0.5), None), checked=int(np.int64(3)), example="x")
    with pytest.raises(TypeError):
        msgspec.json.encode(found)
    monkeypatch.setitem(MEASURES, "half", lambda *_: found)
    recipe = Recipe(scenario="tiny.yaml", measure="half")
    claim = Claim(id="x", paper="tid", kind=ClaimKind.VALUE, what="x", measured_by=recipe)
    stored = measure(None, claim)  # type: ignore[arg-type]
    assert msgspec.json.decode(msgspec.json.encode(stored), type=Measurement) == found
