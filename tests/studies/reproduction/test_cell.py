"""The simulation of a cell: the time that routers themselves take is logged for the claims about it alone."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from analysis.claims import Claim, ClaimKind, Recipe
from analysis.claims.shipped import MEASURES, TIMED
from emulation.planning.plan import make_plan
from record.files import LOGS, log_files
from record.log import Event, TraceRecord
from studies.reproduction.cell import simulation_of
from studies.reproduction.plan import Cell, plan_experiments
from tests.studies.reproduction.tiny import TINY

_DECODER = msgspec.json.Decoder(TraceRecord)
_WORK = frozenset({Event.RECEIVED, Event.MATCHED})


def _records(measure: str, directory: Path) -> list[TraceRecord]:
    directory.mkdir()
    (directory / "tiny.yaml").write_text(TINY)
    recipe = Recipe(scenario="tiny.yaml", measure=measure)
    claim = Claim(id="x", paper="tid", kind=ClaimKind.PROPERTY, what="x", measured_by=recipe)
    (experiment,) = plan_experiments([claim], 1, directory, {})
    outcome = simulation_of(experiment)(make_plan(Cell(experiment, 1).scenario()), directory)
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
