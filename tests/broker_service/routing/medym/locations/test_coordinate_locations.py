"""Servers that learn each other's places by announcements."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import NDArray

from broker_service.routing.interface import LinkStatus, MalformedMessageError
from broker_service.routing.medym.locations.coordinate_locations import CoordinateLocations
from broker_service.routing.medym.locations.coordinates import DIMENSIONS, LANDMARKS
from broker_service.routing.medym.mesh import Mesh

NAMES = tuple(f"B{number:02}" for number in range(LANDMARKS + 4))
MESH = Mesh(NAMES, {name: number for number, name in enumerate(NAMES)}, None)
PLACES = np.random.default_rng(1).uniform(0, 0.3, (len(NAMES), 3))
TRIPS: NDArray[np.float64] = np.sqrt(((PLACES[:, None] - PLACES) ** 2).sum(axis=2))


def links_of(server: int) -> dict[str, LinkStatus]:
    others = {name: number for number, name in enumerate(NAMES) if number != server}
    return {name: SimpleNamespace(up=True, round_trip=TRIPS[server, number]) for name, number in others.items()}  # type: ignore[misc]


def all_after(rounds: int) -> list[CoordinateLocations]:
    """All servers after some times at which each one has looked at its links and announced what has changed."""
    servers = [CoordinateLocations(MESH, number) for number in range(len(NAMES))]
    for _ in range(rounds):
        announcing = [server.measure(links_of(number)) for number, server in enumerate(servers)]
        announced = {number: servers[number].announced() for number, changed in enumerate(announcing) if changed}
        for number, server in enumerate(servers):
            for other, location in announced.items():
                if other != number:
                    server.check(other, location)
                    server.learn(other, location)
    return servers


def test_three_rounds_of_announcements_locate_all_servers_alike() -> None:
    """Landmarks' round trips, their places, then the places of all others."""
    servers = all_after(3)
    for server in servers:
        assert server.distances is servers[0].distances
    assert servers[0].distances.values == pytest.approx(TRIPS, abs=0.01)


def test_then_nothing_is_announced_until_a_round_trip_changes() -> None:
    servers = all_after(4)
    assert not any(server.measure(links_of(number)) for number, server in enumerate(servers))
    farther = links_of(LANDMARKS) | {NAMES[3]: SimpleNamespace(up=True, round_trip=2 * TRIPS[LANDMARKS, 3])}
    assert servers[LANDMARKS].measure(farther)  # type: ignore[arg-type]


def test_a_server_without_a_place_is_far_from_all_others() -> None:
    servers = all_after(2)
    known = TRIPS[:LANDMARKS, :LANDMARKS].max()
    assert servers[0].distances.values[1, LANDMARKS] > 1.5 * known


def test_landmarks_that_were_never_reached_are_to_be_reached() -> None:
    links = links_of(LANDMARKS)
    links[NAMES[2]] = SimpleNamespace(up=True, round_trip=None)  # type: ignore[assignment]
    links[NAMES[4]] = SimpleNamespace(up=False, round_trip=None)  # type: ignore[assignment]
    links[NAMES[-1]] = SimpleNamespace(up=True, round_trip=None)  # type: ignore[assignment]
    assert list(CoordinateLocations(MESH, LANDMARKS).unmeasured(links)) == [NAMES[2]]


@pytest.mark.parametrize(("server", "numbers"), [(0, LANDMARKS * DIMENSIONS), (1, LANDMARKS), (LANDMARKS, DIMENSIONS)])
def test_other_locations_are_malformed(server: int, numbers: int) -> None:
    receiver = CoordinateLocations(MESH, LANDMARKS + 1)
    receiver.check(server, np.zeros(numbers, "<f4").tobytes())
    for location in (b"", np.zeros(numbers + 1, "<f4").tobytes(), np.full(numbers, np.inf, "<f4").tobytes()):
        with pytest.raises(MalformedMessageError):
            receiver.check(server, location)
