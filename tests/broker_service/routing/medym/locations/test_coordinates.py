"""Network coordinates, against places from which the round trips were made."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from broker_service.routing.medym.locations.coordinates import DIMENSIONS, LANDMARKS, error, landmark_places, place
from topology.underlays.planetlab import measured


def distances(places: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.sqrt(((places[:, None] - places) ** 2).sum(axis=2)))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, LANDMARKS))
def test_round_trips_of_a_space_are_found_again(seed: int, count: int) -> None:
    true = np.random.default_rng(seed).uniform(0, 0.3, (count, 3))
    assert distances(landmark_places(distances(true))) == pytest.approx(distances(true), abs=0.003)


def error_of_a_server(seed: int) -> float:
    rng = np.random.default_rng(seed)
    landmarks = rng.uniform(0, 0.3, (LANDMARKS, DIMENSIONS))
    trips = np.sqrt(((rng.uniform(0, 0.3, DIMENSIONS) - landmarks) ** 2).sum(axis=1))
    return error(place(landmarks, trips), landmarks, trips)


def test_nearly_all_servers_find_their_places_among_landmarks() -> None:
    """One in seven hundred ends in a local minimum of the error."""
    assert sum(error_of_a_server(seed) >= 1e-3 for seed in range(100)) <= 1


def test_no_small_step_makes_a_place_better() -> None:
    rng = np.random.default_rng(1)
    landmarks, trips = rng.uniform(0, 0.3, (LANDMARKS, DIMENSIONS)), rng.uniform(0.05, 0.3, LANDMARKS)
    found = place(landmarks, trips)
    least = error(found, landmarks, trips)
    assert all(error(found + step, landmarks, trips) >= least for step in rng.normal(0, 1e-3, (200, DIMENSIONS)))


def test_measured_round_trips_are_met_within_a_fifth() -> None:
    """The median relative error of 56 PlanetLab sites is 0.08 to 0.13, by the landmarks."""
    mesh = measured(56, 1, 1)
    trips = mesh.delays + mesh.delays.T
    landmarks = landmark_places(trips[:LANDMARKS, :LANDMARKS])
    places = np.array([*landmarks, *(place(landmarks, row[:LANDMARKS]) for row in trips[LANDMARKS:])])
    pairs = np.triu_indices(56, 1)
    assert np.median(np.abs(distances(places)[pairs] / trips[pairs] - 1)) < 0.2


def test_servers_at_one_place_are_no_error() -> None:
    assert np.isfinite(landmark_places(np.zeros((3, 3)))).all()
    assert np.isfinite(place(np.zeros((LANDMARKS, DIMENSIONS)), np.zeros(LANDMARKS))).all()
