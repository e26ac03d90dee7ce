"""Silent neighbours at the two ends of a simulated link: of the heartbeats only the missed ones are modelled."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from functools import partial

from broker_service.config import Limits
from broker_service.links.session import MISSED_HEARTBEATS
from emulation.simulation.event_queue import EventQueue
from emulation.simulation.link_end import LinkEnd
from emulation.simulation.links import Direction
from topology.link_properties import BrokerId


class Silences:
    """Silences that the two ends of one link hear. An end gives up when one has lasted for three heartbeats."""

    def __init__(
        self,
        ends: Mapping[BrokerId, LinkEnd | None],
        directions: Mapping[BrokerId, Direction],
        events: EventQueue,
        limits: Limits,
        source: random.Random,
        *,
        give_up: Callable[[BrokerId], None],
    ) -> None:
        """`ends` are by broker, `directions` by the broker that sends; both are live views. `source` draws the times
        until an end notices, with whose broker `give_up` is called then."""
        self._ends = ends
        self._directions = directions
        self._events = events
        self._heartbeat = limits.heartbeat
        self._random = source
        self._on_missed = give_up
        self._changes = dict.fromkeys(ends, 0)
        """Number of times that frames of the other broker stopped or began to reach a broker, by broker."""
        self._silent = dict.fromkeys(ends, False)

    def note(self) -> None:
        """Notes for both ends whether frames of the other reach them, after something that may have changed it."""
        a, b = self._ends
        for broker, other in ((a, b), (b, a)):
            silent = self._is_silent(broker, other)
            if silent != self._silent[broker]:
                self._silent[broker] = silent
                self._changes[broker] += 1
                if silent:
                    missed = self._random.uniform(MISSED_HEARTBEATS - 1, MISSED_HEARTBEATS) * self._heartbeat
                    self._events.after(missed, partial(self._miss, broker, self._changes[broker]))

    def _is_silent(self, broker: BrokerId, other: BrokerId) -> bool:
        """True when frames of the other broker do not reach this one, which runs and has a stream."""
        here, there = self._ends[broker], self._ends[other]
        if here is None or here.process.held is not None or not here.stream:
            return False
        return not self._directions[other].up or (there is not None and there.process.held is not None)

    def _miss(self, broker: BrokerId, change: int) -> None:
        """Gives the neighbour up if the silence has lasted."""
        if change == self._changes[broker]:
            self._on_missed(broker)
