"""The ways of brokers on the map."""

from __future__ import annotations

from analysis.live.ways import ways_of
from topology.mobility import Leg, Trajectory


def test_all_ways_fill_the_square_at_one_scale_with_y_downwards() -> None:
    still = Trajectory((Leg(0, 1000, (0, 50), (0, 0)),))
    walking = Trajectory((Leg(0, 10, (0, 0), (10, 0)), Leg(10, 1000, (100, 0), (0, 0))))
    assert ways_of({"B1": walking, "B2": still}, ["B2", "B1"]) == [
        [(0, 0, 0), (1000, 0, 0)],
        [(0, 0, 0.5), (10, 1, 0.5), (1000, 1, 0.5)],
    ]


def test_brokers_that_all_stay_at_one_place_are_drawn_there() -> None:
    still = Trajectory((Leg(0, 5, (3, 4), (0, 0)),))
    assert ways_of({"B1": still}, ["B1"]) == [[(0, 0, 0), (5, 0, 0)]]
