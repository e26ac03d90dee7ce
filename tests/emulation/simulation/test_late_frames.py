"""Damage of a link ends with its fault: TCP's next repetition gets through, and frames stay in order."""

from __future__ import annotations

from functools import partial

import pytest

from emulation.simulation.event_queue import EventQueue
from emulation.simulation.links import MOST_TIMEOUT_DOUBLINGS, Direction
from record.time_units import MILLISECOND, SECOND
from topology.link_properties import LinkProperties

DELAY = 10 * MILLISECOND
PLAIN = LinkProperties(delay=0.01)
LOSSY = LinkProperties(delay=0.01, loss=0.99)
TIMEOUT = 200 * MILLISECOND + 2 * DELAY


def sent_again() -> list[int]:
    """The times at which a packet arrives that is sent again, of one that is sent at 0."""
    times = [TIMEOUT]
    while len(times) < MOST_TIMEOUT_DOUBLINGS:
        times.append(times[-1] + (TIMEOUT << len(times)))
    return [time + DELAY for time in times]


class Wire:
    """A direction with its frames, which arrive one after another."""

    def __init__(self, seed: str = "1") -> None:
        self.events = EventQueue()
        self.direction = Direction(PLAIN, PLAIN, seed)
        self.arrived: list[tuple[int, int]] = []
        """Number of each frame, and the time of its arrival."""

    def send(self, number: int, size: int = 100) -> None:
        self.direction.carry(self.events, size, 0, partial(self._arrive, number))

    def _arrive(self, number: int, _: int) -> None:
        self.arrived.append((number, self.events.now))


@pytest.mark.parametrize("heals", [0.1, 0.5, 1.0, 3.0])
def test_a_frame_arrives_with_the_first_repetition_after_the_heal(heals: float) -> None:
    wire = Wire()
    wire.direction.corrupt(1.0)
    wire.send(1)
    wire.events.run_until(round(heals * SECOND))
    wire.direction.corrupt(0.0)
    wire.events.run_until(300 * SECOND)
    first = next(time for time in sent_again() if time - DELAY > heals * SECOND)
    assert wire.arrived == [(1, first)]
    assert wire.events.settled


def test_nothing_is_left_to_be_done_once_it_has_arrived() -> None:
    wire = Wire()
    wire.direction.corrupt(1.0)
    wire.send(1)
    wire.events.run_until(SECOND)
    wire.direction.corrupt(0.0)
    wire.events.settle(2 * SECOND)
    assert [number for number, _ in wire.arrived] == [1]


def test_a_link_that_gets_better_counts_as_well() -> None:
    wire = Wire()
    wire.direction.change(LOSSY)
    wire.send(1)
    wire.events.run_until(SECOND)
    wire.direction.change(PLAIN)
    wire.events.settle(2 * SECOND)
    assert wire.arrived[0][1] in sent_again()


def test_damage_that_lasts_is_drawn_as_before() -> None:
    wire, other = Wire(), Wire()
    for each in (wire, other):
        each.direction.corrupt(0.8)
    wire.send(1)
    at = other.direction.arrival(0, 100, 0)
    wire.events.run_until(300 * SECOND)
    assert wire.arrived == [(1, at)]


@pytest.mark.parametrize("seed", ["1", "2", "3", "4"])
def test_frames_stay_in_order(seed: str) -> None:
    wire = Wire(seed)
    wire.direction.corrupt(0.8)
    for number in range(20):
        wire.send(number, 5_000)
        wire.events.run_until(wire.events.now + 100 * MILLISECOND)
    wire.direction.follow(wire.events, partial(wire._arrive, 20, 0))
    wire.send(21)
    wire.direction.corrupt(0.0)
    wire.send(22)
    wire.events.settle(10 * SECOND)
    numbers = [number for number, _ in wire.arrived]
    assert numbers == sorted(numbers) and len(numbers) == 23
