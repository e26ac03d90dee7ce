"""Random direction and random waypoint: exact legs inside the area."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topology.link_properties import OverlayError
from topology.links import Range
from topology.mobility import Area, Leg, Trajectory, Walk, random_direction, random_waypoint
from topology.mobility.models import Model

AREA = Area(1000.0, 400.0)
MODELS = st.sampled_from((random_direction, random_waypoint))
SEEDS = st.integers(0, 2**32)


def walk_of(seed: int, model: Model, pause: float = 0.0, end: float = 5000.0) -> Trajectory:
    rng = random.Random(seed)
    return model(AREA.draw(rng), AREA, Walk(Range(1.0, 5.0), Range.fixed(pause)), end, rng)


@given(seed=SEEDS, model=MODELS, pause=st.sampled_from((0.0, 7.0)))
def test_legs_are_straight_inside_the_area_and_without_gaps(seed: int, model: Model, pause: float) -> None:
    way = walk_of(seed, model, pause)
    assert (way.legs[0].begin, way.legs[-1].end) == (0.0, 5000.0)
    for leg in way.legs:
        speed = math.hypot(*leg.velocity)
        assert speed == 0 or 1.0 - 1e-9 <= speed <= 5.0 + 1e-9
        for time in np.linspace(leg.begin, leg.end, 5):
            x, y = leg.at(float(time))
            assert -1e-6 <= x <= AREA.width + 1e-6 and -1e-6 <= y <= AREA.height + 1e-6
    for leg, following in pairwise(way.legs):
        assert leg.end == following.begin
        assert math.dist(leg.at(leg.end), following.position) < 1e-6
        assert leg.velocity != (0.0, 0.0) or following.velocity != (0.0, 0.0), "one pause between two legs"
    stays = [leg for leg in way.legs[:-1] if leg.velocity == (0.0, 0.0)]
    assert all(leg.end - leg.begin == pytest.approx(7.0) for leg in stays)
    assert bool(stays) == (pause > 0 and len(way.legs) > 2)


@given(seed=SEEDS)
def test_random_direction_goes_to_an_edge(seed: int) -> None:
    way = walk_of(seed, random_direction)
    for leg in way.legs[1:]:
        x, y = leg.position
        assert x in (0.0, AREA.width) or y in (0.0, AREA.height)


def test_directions_and_waypoints_are_uniform() -> None:
    """Means of 2,000 first legs, within four standard errors."""
    centre = AREA.width / 2, AREA.height / 2
    walk = Walk(Range.fixed(2.0), Range.fixed(0.0))
    angles, targets = [], []
    for seed in range(2000):
        leg = random_direction(centre, AREA, walk, 1.0, random.Random(seed)).legs[0]
        angles.append(math.atan2(leg.velocity[1], leg.velocity[0]))
        way = random_waypoint(centre, AREA, walk, 10_000.0, random.Random(seed))
        targets.append(way.legs[1].position)
    error = 4 / math.sqrt(2000)
    assert abs(np.mean(np.cos(angles))) < error / math.sqrt(2) and abs(np.mean(np.sin(angles))) < error / math.sqrt(2)
    assert np.mean(targets, axis=0) == pytest.approx(centre, abs=error * AREA.width / math.sqrt(12))


@settings(max_examples=30)
@given(seed=SEEDS, model=MODELS, time=st.floats(0, 500))
def test_a_shorter_way_is_the_begin_of_a_longer_one(seed: int, model: Model, time: float) -> None:
    assert walk_of(seed, model, end=500.0).at(time) == pytest.approx(walk_of(seed, model).at(time), abs=1e-6)


def test_positions_before_between_and_after_legs() -> None:
    way = Trajectory((Leg(2.0, 4.0, (0.0, 0.0), (1.0, 2.0)), Leg(4.0, 5.0, (2.0, 4.0), (0.0, -1.0))))
    times = (0.0, 2.0, 3.0, 4.0, 4.5, 5.0, 9.0)
    expected = [(0, 0), (0, 0), (1, 2), (2, 4), (2, 3.5), (2, 3), (2, 3)]
    assert [way.at(time) for time in times] == expected
    for end in (1.0, 2.0, 3.0, 4.5, 5.0, 9.0):
        cut = way.until(end)
        assert (cut.legs[0].begin, cut.legs[-1].end) == (0.0, end)
        assert [cut.at(time) for time in times if time <= end] == [way.at(time) for time in times if time <= end]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Area(0.0, 1.0), "more than 0 m"),
        (lambda: Walk(Range(0.0, 1.0), Range.fixed(0.0)), "more than 0 m/s"),
        (lambda: Trajectory(()), "at least one leg"),
        (lambda: Trajectory((Leg(0, 1, (0, 0), (0, 0)), Leg(2, 3, (0, 0), (0, 0)))), "the next one begins at 2 s"),
        (lambda: Trajectory((Leg(1, 0, (0, 0), (0, 0)),)), "before it begins"),
        (
            lambda: random_waypoint(
                (0, 0), Area(1e-3, 1e-3), Walk(Range.fixed(1e3), Range.fixed(0.0)), 1e3, random.Random(1)
            ),
            "more than 20,000 legs",
        ),
    ],
)
def test_what_cannot_be_is_refused(make: object, message: str) -> None:
    with pytest.raises(OverlayError, match=message):
        make()  # type: ignore[operator]
