"""A trial of real brokers and drivers, as small as one can be."""

from __future__ import annotations

from benchmarks.throughput import OVERLAYS, run_trial


def test_a_trial_delivers_what_it_publishes() -> None:
    trial = run_trial(OVERLAYS["one broker"], rate=50, seconds=0.2)
    assert (trial.published, trial.delivered, trial.duplicates, trial.dropped) == (10, 10, 0, 0)
    assert len(trial.delays) == 10
