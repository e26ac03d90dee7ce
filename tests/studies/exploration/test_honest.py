"""Honest protocols: a few explored runs of each show nothing."""

from __future__ import annotations

from itertools import islice

import pytest

from studies.exploration.surroundings import Shape, Surroundings
from tests.studies.exploration.inside import explored


@pytest.mark.proof
@pytest.mark.parametrize("shape, protocol", [(Shape.CYCLIC, "tid"), (Shape.CYCLIC, "cbf"), (Shape.SCOT, "octopia")])
def test_an_honest_protocol_shows_nothing(shape: Shape, protocol: str) -> None:
    runs = islice(explored(Surroundings(shape, protocol), 1), 12)
    assert [run.defects for run in runs if run.defects] == []
