"""Limits of explored runs: with composite subscriptions, detectors often wait for about as long as links delay."""

from __future__ import annotations

from random import Random

from scenario.sections.brokers import Brokers
from studies.exploration.settings import drawn_brokers
from studies.exploration.surroundings import Shape, Surroundings


def short_waits(*, composites: bool) -> int:
    """The number of runs, of 200, whose detectors wait for a second at most."""
    surroundings = Surroundings(Shape.CYCLIC, "tid", composites=composites)
    drawn = (drawn_brokers(surroundings, Random(number), 0.1, None) for number in range(200))
    return sum(Brokers.model_validate(each).limits.detection_lateness <= 1 for each in drawn)


def test_half_of_the_runs_with_composite_subscriptions_wait_shortly() -> None:
    assert 70 < short_waits(composites=True) < 130
    assert short_waits(composites=False) == 0
