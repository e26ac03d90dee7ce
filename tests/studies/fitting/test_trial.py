"""A trial from a candidate to its results, with few publications."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from studies.fitting import trial
from studies.fitting.candidates import Candidate
from studies.fitting.stated import Given

CALM = Candidate(
    overlay="hub of 12, 13 layers", window=128, send_time=4.0, service_time=1.0, delay=0.1, selectivity=15.0, rate=60.0
)


def given(monkeypatch: pytest.MonkeyPatch, file: Path, seed: int, hopeless: float) -> Given:
    monkeypatch.setattr(trial, "FASTEST", 90)
    trial.conduct(trial.Trial(CALM, seed, file, hopeless))
    result = trial.read_result(file)
    assert (result.candidate, result.seed) == (CALM, seed)
    return result.given


def test_a_trial_gives_a_counterpart_of_every_stated_number(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without queues a hop takes 5.1 ms, and one broker more than the hops takes 1 ms."""
    result = given(monkeypatch, tmp_path / "x.json", 1, math.inf)
    assert result.delay_6 is not None
    assert result.delay_10 is not None
    assert result.delay_12 is not None
    assert 25 < result.delay_6 < result.delay_10 < result.delay_12 < 85
    assert 8 < result.messages < 14
    assert result.queue_share is not None
    assert 0 < result.queue_share < 0.2
    assert 0 < result.others < result.busiest < 0.1
    assert (result.hub_is_busiest, result.stable, result.overloads) == (True, True, False)


def test_figures_are_left_out_where_the_first_costs_too_much(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    screened = given(monkeypatch, tmp_path / "x.json", 1, 0.0)
    assert (screened.delay_6, screened.delay_12, screened.overloads) == (None, None, None)
    assert screened.queue_share is not None
    assert not screened.whole
    other = given(monkeypatch, tmp_path / "y.json", 2, math.inf)
    assert other.delay_12 is not None
    assert other.overloads is False
    assert other.whole
