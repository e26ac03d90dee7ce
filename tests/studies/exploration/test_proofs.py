"""Proofs: with a mend taken out, exploration finds the defect that was mended, and honest runs show nothing."""

from __future__ import annotations

from itertools import islice

import pytest

from studies.exploration.guidance import ByCoverage
from studies.exploration.judged_run import judging_room
from studies.exploration.surroundings import Shape, Surroundings
from tests.studies.exploration.inside import explored
from tests.studies.exploration.planted import PLANTED

MOST_RUNS = 1_500
"""Runs in which a defect has to be found: a quarter of those of ten minutes on two processors."""


@pytest.mark.proof
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("name", PLANTED)
def test_a_defect_whose_mend_is_taken_out_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = PLANTED[name]
    planted.plant(monkeypatch)
    runs = islice(explored(planted.surroundings, 1, ByCoverage()), MOST_RUNS)
    found = next((run for run in runs if planted.kinds & set(run.kinds)), None)
    assert found is not None
    monkeypatch.undo()
    with judging_room() as room:
        assert not planted.kinds & set(room.judged(found.scenario).kinds)


@pytest.mark.parametrize("shape, protocol", [(Shape.CYCLIC, "tid"), (Shape.CYCLIC, "cbf"), (Shape.SCOT, "octopia")])
def test_an_honest_protocol_shows_nothing(shape: Shape, protocol: str) -> None:
    runs = islice(explored(Surroundings(shape, protocol), 1, ByCoverage()), 12)
    assert [run.defects for run in runs if run.defects] == []
