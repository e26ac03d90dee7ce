"""Contacts of moving brokers, against a scan in small steps of time."""

from __future__ import annotations

import math
import random
import sys
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from topology.full_mesh import DrawnLinks
from topology.link_properties import OverlayError
from topology.links import LinkTemplates, Range
from topology.mobility import Area, Contact, Leg, Trajectory, Walk, contacts, moving, random_direction, random_waypoint
from topology.mobility.unit_disk import at_positions, place, unit_disk

SEEDS = st.integers(0, 2**32)
LINKS = DrawnLinks(LinkTemplates(), 1)
END = 20.0
STEP = 0.001


def ways(seed: int, count: int = 4) -> list[Trajectory]:
    """Fast ways in a small area, some with pauses, so that there are many legs and contacts."""
    rng = random.Random(seed)
    area = Area(30.0, 20.0)
    walk = Walk(Range(2.0, 12.0), Range(0.0, 1.0))
    models = (random_direction, random_waypoint)
    return [models[number % 2](area.draw(rng), area, walk, END, rng) for number in range(count)]


def scanned(trajectories: list[Trajectory], radius: float) -> dict[tuple[int, int], NDArray[np.bool_]]:
    """For every pair, whether it is within range at each step."""
    times = np.arange(0, END, STEP)
    places = []
    for way in trajectories:
        begins = np.array([leg.begin for leg in way.legs])
        legs = np.searchsorted(begins, times, side="right") - 1
        starts = np.array([leg.position for leg in way.legs])[legs]
        velocities = np.array([leg.velocity for leg in way.legs])[legs]
        places.append(starts + (times - begins[legs])[:, None] * velocities)
    return {
        (a, b): np.hypot(*(places[a] - places[b]).T) <= radius for a, b in combinations(range(len(trajectories)), 2)
    }


@settings(max_examples=25)
@given(seed=SEEDS, radius=st.floats(1.0, 15.0))
def test_contacts_are_those_of_a_scan_in_steps_of_a_millisecond(seed: int, radius: float) -> None:
    trajectories = ways(seed)
    times = np.arange(0, END, STEP)
    found: dict[tuple[int, int], list[Contact]] = {}
    for contact in contacts(trajectories, radius, END):
        found.setdefault((contact.a, contact.b), []).append(contact)
    for pair, inside in scanned(trajectories, radius).items():
        expected, unsure = np.zeros(len(times), np.bool_), np.zeros(len(times), np.bool_)
        for contact in found.get(pair, []):
            expected |= (contact.begin <= times) & (times <= contact.end)
            for edge in (contact.begin, contact.end):
                unsure |= abs(times - edge) < 1e-6
        assert np.array_equal(inside[~unsure], expected[~unsure])


@given(seed=SEEDS, radius=st.floats(1.0, 15.0))
def test_contacts_begin_and_end_at_the_edge_of_the_range(seed: int, radius: float) -> None:
    trajectories = ways(seed)
    for contact in contacts(trajectories, radius, END):
        assert 0 <= contact.begin < contact.end <= END and contact.a < contact.b
        for edge in (contact.begin, contact.end):
            distance = math.dist(trajectories[contact.a].at(edge), trajectories[contact.b].at(edge))
            if edge in (0.0, END):
                assert distance <= radius + 1e-6
            else:
                assert distance == pytest.approx(radius, abs=1e-6)


def test_worked_examples() -> None:
    """Two brokers pass each other at 2 m/s each, 3 m apart at the nearest; the range is 5 m."""
    there = Trajectory((Leg(0.0, 10.0, (0.0, 0.0), (2.0, 0.0)),))
    back = Trajectory((Leg(0.0, 10.0, (20.0, 3.0), (-2.0, 0.0)),))
    assert contacts([there, back], 5.0, 10.0) == [Contact(4.0, 6.0, 0, 1)]
    assert contacts([there, back], 2.9, 10.0) == []
    still, near = (Trajectory((Leg(0.0, 0.0, place, (0.0, 0.0)),)) for place in ((0.0, 0.0), (3.0, 4.0)))
    assert contacts([still, near], 5.0, 10.0) == [Contact(0.0, 10.0, 0, 1)], "exactly the range is within it"
    assert contacts([still, near], 4.9, 10.0) == []


def test_a_contact_shorter_than_any_step_is_found() -> None:
    """At 1,000 m/s, 1 mm inside the range: 2.8 ms. A scan in steps of 10 ms would miss it nearly always."""
    still = Trajectory((Leg(0.0, 1.0, (0.0, 0.0), (0.0, 0.0)),))
    fast = Trajectory((Leg(0.0, 1.0, (-500.0, 0.999), (1000.0, 0.0)),))
    (contact,) = contacts([still, fast], 1.0, 1.0)
    assert contact.end - contact.begin == pytest.approx(2 * math.sqrt(1 - 0.999**2) / 1000)


@settings(max_examples=25)
@given(seed=SEEDS, radius=st.floats(5.0, 25.0), time=st.floats(0.0, END))
def test_the_links_of_a_moving_overlay_are_those_of_its_positions(seed: int, radius: float, time: float) -> None:
    named = {f"B{number}": way for number, way in enumerate(ways(seed, 5), start=1)}
    evolution = moving("o", named, radius, LINKS, END)
    then = at_positions(evolution.at(time), named, time)
    for a, b in combinations(named, 2):
        distance = math.dist(named[a].at(time), named[b].at(time))
        if abs(distance - radius) > 1e-6:
            assert (b in then.neighbours(a)) == (distance < radius)
    for broker in then.brokers:
        assert broker.attributes["position"] == named[broker.id].at(time)


@given(seed=SEEDS)
def test_placements_are_connected_and_within_the_area(seed: int) -> None:
    area = Area(100.0, 50.0)
    points = place(12, area, 35.0, random.Random(seed))
    overlay = unit_disk("o", {f"B{n}": point for n, point in enumerate(points, start=1)}, 35.0, LINKS)
    assert len(overlay.brokers) == 12
    assert points == place(12, area, 35.0, random.Random(seed))
    for a, b in combinations(range(12), 2):
        near = math.dist(points[a], points[b]) <= 35.0
        assert (f"B{b + 1}" in overlay.neighbours(f"B{a + 1}")) == near


def test_too_many_brokers_for_a_plane_are_refused() -> None:
    still = Trajectory((Leg(0.0, 0.0, (0.0, 0.0), (0.0, 0.0)),))
    with pytest.raises(ValueError, match="2,501 brokers in a plane; 2,500 is the most"):
        moving("o", {f"B{number}": still for number in range(2501)}, 1.0, LINKS, 1.0)
    with pytest.raises(ValueError, match="2,501 brokers in a plane; 2,500 is the most"):
        unit_disk("o", {f"B{number}": (0.0, 0.0) for number in range(2501)}, 1.0, LINKS)


def test_a_hopeless_placement_is_refused() -> None:
    with pytest.raises(ValueError, match="none of 1,000 random placements of 20 brokers"):
        place(20, Area(1e6, 1e6), 1.0, random.Random(1))


def test_too_many_encounters_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    crowd = [Trajectory((Leg(0.0, END, (float(number), 0.0), (0.0, 0.0)),)) for number in range(5)]
    monkeypatch.setattr(sys.modules[contacts.__module__], "MOST_ENCOUNTERS", 10)
    assert len(contacts(crowd, 100.0, END)) == 10
    monkeypatch.setattr(sys.modules[contacts.__module__], "MOST_ENCOUNTERS", 9)
    with pytest.raises(OverlayError, match="come within range of each other more than 9 times"):
        contacts(crowd, 100.0, END)
