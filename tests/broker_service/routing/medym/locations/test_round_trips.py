"""Locations as round trips: distances that are measured, announced, assumed or given."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from broker_service.routing.common.distances import Distances
from broker_service.routing.interface import MalformedMessageError
from broker_service.routing.medym.locations.round_trips import RoundTripLocations
from broker_service.routing.medym.mesh import Mesh

NAMES = ("A", "B", "C", "D")


def mesh(given: Distances | None = None) -> Mesh:
    return Mesh(NAMES, {name: number for number, name in enumerate(NAMES)}, given)


def links(**round_trips: float | None) -> Mapping[str, Any]:
    return {name: SimpleNamespace(round_trip=seconds) for name, seconds in round_trips.items()}


def row(*seconds: float) -> bytes:
    return np.array(seconds, "<f4").tobytes()


NAN = float("nan")


def test_unknown_pairs_are_farther_than_known_ones_and_farthest_between_others() -> None:
    locations = RoundTripLocations(mesh(), 0)
    assert locations.measure(links(B=0.1, C=0.3, D=None))
    ranks = locations.distances.ranks
    assert ranks[0, 1] < ranks[0, 2] < ranks[0, 3] < ranks[1, 2] < ranks[1, 3] < ranks[2, 3]


def test_the_mean_of_what_both_have_measured_counts() -> None:
    locations = RoundTripLocations(mesh(), 0)
    locations.learn(1, row(NAN, NAN, 0.2, 0.5))
    locations.learn(2, row(NAN, 0.4, NAN, NAN))
    assert locations.distances.values[1, 2] == pytest.approx(0.3)
    assert locations.distances.values[3, 1] == pytest.approx(0.5)


def test_small_changes_of_a_round_trip_are_not_announced() -> None:
    locations = RoundTripLocations(mesh(), 0)
    assert locations.measure(links(B=0.1))
    assert not locations.measure(links(B=0.095))
    assert not locations.measure(links(B=None))
    assert locations.measure(links(B=0.08))
    assert np.frombuffer(locations.announced(), "<f4")[1] == pytest.approx(0.08)


def test_what_one_announces_another_learns_once() -> None:
    sender, receiver = RoundTripLocations(mesh(), 0), RoundTripLocations(mesh(), 1)
    sender.measure(links(B=0.1, C=0.2, D=0.3))
    assert receiver.learn(0, sender.announced())
    assert not receiver.learn(0, sender.announced())
    assert receiver.distances.values[0, 3] == pytest.approx(0.3)


def test_given_distances_are_neither_measured_nor_announced() -> None:
    given = Distances(np.ones((4, 4)))
    locations = RoundTripLocations(mesh(given), 0)
    assert not locations.measure(links(B=0.1))
    assert locations.announced() == b""
    assert not locations.learn(1, b"")
    assert locations.distances is given


@pytest.mark.parametrize("announced", [b"", b"123", row(1, 2, 3), row(0, 0, 0, -1), row(0, 0, 0, 3e38)])
def test_other_rows_are_malformed(announced: bytes) -> None:
    with pytest.raises(MalformedMessageError):
        RoundTripLocations(mesh(), 0).check(1, announced)
