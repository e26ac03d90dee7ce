"""A trial from a candidate to its results, with few publications."""

from __future__ import annotations

from pathlib import Path

import pytest

from studies.fitting import cell
from studies.fitting.candidates import Candidate
from studies.fitting.cell import Figure, FigureCell
from studies.fitting.stated import Given
from tests.studies.cells.here import run_here

CALM = Candidate(
    overlay="hub of 12, 13 layers", window=128, send_time=4.0, service_time=1.0, delay=0.1, selectivity=15.0, rate=60.0
)


@pytest.mark.proof
def test_figures_give_a_counterpart_of_every_stated_number(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without queues a hop takes 5.1 ms, and one broker more than the hops takes 1 ms."""
    monkeypatch.setattr(cell, "FASTEST", 90)
    result = Given()
    for figure in Figure:
        result = result.with_figure(run_here(FigureCell.of(CALM, figure, 1), tmp_path).given)
    assert result.delay_6 is not None
    assert result.delay_10 is not None
    assert result.delay_12 is not None
    assert 25 < result.delay_6 < result.delay_10 < result.delay_12 < 85
    assert result.messages is not None
    assert 8 < result.messages < 14
    assert result.queue_share is not None
    assert 0 < result.queue_share < 0.2
    assert result.others is not None
    assert result.busiest is not None
    assert 0 < result.others < result.busiest < 0.1
    assert (result.hub_is_busiest, result.stable, result.overloads) == (True, True, False)
