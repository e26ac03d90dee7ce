"""Network coordinates: places in a space of eight dimensions whose distances stand for round trips.

MEDYM proposes them in place of measured round trips (section 4.2.2), and uses them on PlanetLab (section 6).

This is GNP (E. Ng, H. Zhang: "Predicting Internet network distance with coordinates-based approaches", INFOCOM 2002). A
few servers are landmarks. From the round trips between them follow their places, and from its round trips to them the
place of each other server. The error of a place is the sum, over landmarks, of `((d - r) / r) ** 2`, where `d` is the
distance in the space and `r` the round trip. Ng and Zhang minimise it by the simplex method; here it is Levenberg and
Marquardt's, which needs no library and a tenth of a millisecond for a step.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

DIMENSIONS: Final = 8
"""Dimensions of the space, the number of section 6."""
LANDMARKS: Final = 16
"""Landmarks of a large overlay."""
_STEPS: Final = 40
"""Steps towards the least error; the error hardly changes in the last ones."""
_SWEEPS: Final = 30
"""Times that each landmark is moved while the others stay."""
_SHORTEST: Final = 1e-6
"""Seconds. Shorter round trips are taken for this, because errors are relative."""

Places = NDArray[np.float64]
"""A row of coordinates for each server, in seconds."""


def landmark_places(round_trips: NDArray[np.float64]) -> Places:
    """Places of landmarks, from the round trips between each two of them, in seconds.

    They begin where the distances in the space are best as a whole (classical scaling), and are moved one at a time.
    """
    count = len(round_trips)
    squares = (round_trips + round_trips.T) ** 2 / 4
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    values, vectors = np.linalg.eigh(-centred / 2)
    largest = np.argsort(values)[::-1][:DIMENSIONS]
    places = np.zeros((count, DIMENSIONS))
    places[:, : len(largest)] = vectors[:, largest] * np.sqrt(np.maximum(values[largest], 0.0))
    for _ in range(_SWEEPS if count > 2 else 0):
        for landmark in range(count):
            others = np.arange(count) != landmark
            to_others = (round_trips[landmark] + round_trips[:, landmark])[others] / 2
            places[landmark] = _moved(places[landmark], places[others], to_others, steps=1)
    return places


def place(landmarks: Places, round_trips: NDArray[np.float64]) -> NDArray[np.float64]:
    """The place of a server, from its round trips to landmarks, in seconds.

    It begins between the landmarks, the nearer to each the shorter the round trip.
    """
    weights = 1.0 / np.maximum(round_trips, _SHORTEST)
    return _moved(weights @ landmarks / weights.sum(), landmarks, round_trips, steps=_STEPS)


def error(at: NDArray[np.float64], landmarks: Places, round_trips: NDArray[np.float64]) -> float:
    """The error of a place."""
    residuals = _residuals(at, landmarks, np.maximum(round_trips, _SHORTEST))
    return float(residuals @ residuals)


def _moved(
    at: NDArray[np.float64], landmarks: Places, round_trips: NDArray[np.float64], *, steps: int
) -> NDArray[np.float64]:
    """The place with the least error after some steps downhill from another place."""
    trips = np.maximum(round_trips, _SHORTEST)
    damping, least = 1e-3, error(at, landmarks, trips)
    for _ in range(steps):
        away = at - landmarks
        distances = np.maximum(np.sqrt((away**2).sum(axis=1)), _SHORTEST)
        slopes = away / (distances * trips)[:, None]
        curvature, slope = slopes.T @ slopes, slopes.T @ _residuals(at, landmarks, trips)
        scale = damping * max(float(np.trace(curvature)), 1e-12)
        further = at - np.linalg.solve(curvature + scale * np.eye(len(at)), slope)
        reached = error(further, landmarks, trips)
        if reached < least:
            at, least, damping = further, reached, damping / 4
        else:
            damping *= 8
    return at


def _residuals(at: NDArray[np.float64], landmarks: Places, trips: NDArray[np.float64]) -> NDArray[np.float64]:
    residuals: NDArray[np.float64] = (np.sqrt(((at - landmarks) ** 2).sum(axis=1)) - trips) / trips
    return residuals
