"""Disturbance of the messages that come over a broker's links.

Below a broker's messages is TCP, which repairs whatever the network drops or reorders. Messages are therefore disturbed
here, between a link and the router of the receiving broker: the link has delivered them, and its acknowledgements and
counters do not notice. Each message that is disturbed is logged.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

from broker_service.config import Disturbance
from broker_service.core.router_timers import RouterTimers
from broker_service.core.surroundings import Surroundings
from broker_service.links.overlay_link import OverlayLink
from broker_service.messages import BrokerId, Message
from broker_service.routing.interface import SetTimer, TimerKey
from record.log import Event
from record.time_units import SECOND

LOST, REPEATED, HELD = "lost", "repeated", "held back"


class Disturber:
    """The disturbances of one broker, each with a random stream of its own."""

    def __init__(
        self,
        surroundings: Surroundings,
        links: Mapping[BrokerId, OverlayLink],
        release: Callable[[BrokerId, Sequence[Message], int | None], None],
    ) -> None:
        """`release` handles messages that were held back, given the time at which they arrived."""
        config = surroundings.config
        self._seed = f"{config.seed}:{config.id}:{config.incarnation}:disturb"
        self._links = links
        self._timers = RouterTimers(surroundings.schedule, self._let_go)
        self._recorder = surroundings.recorder
        self._release = release
        self.active = False
        """True while any link is disturbed."""
        self._disturbances: dict[BrokerId, tuple[Disturbance, random.Random]] = {}
        for link in config.links:
            self.set(link.neighbour, link.disturbance)
        self._held: dict[TimerKey, tuple[Message, OverlayLink, int, int | None]] = {}
        """Messages that are held back, each with the link and the incarnation of the neighbour from which it came, and
        when it arrived."""
        self._numbers = 0

    @property
    def held(self) -> int:
        """Messages that are held back."""
        return len(self._held)

    def set(self, neighbour: BrokerId, disturbance: Disturbance) -> None:
        """Disturbs messages that come from a neighbour from now on; an empty disturbance ends that."""
        self._disturbances.pop(neighbour, None)
        if disturbance:
            self._disturbances[neighbour] = (disturbance, random.Random(f"{self._seed}:{neighbour}"))
        self.active = bool(self._disturbances)

    def admitted(
        self, neighbour: BrokerId, messages: Sequence[Message], arrived: int | None = None
    ) -> Sequence[Message]:
        """Messages to handle now, of those that came from a neighbour at `arrived`: lost and held ones left out,
        repeated ones twice."""
        found = self._disturbances.get(neighbour)
        if found is None:
            return messages
        disturbance, source = found
        admitted: list[Message] = []
        for message in messages:
            draw = source.random()
            if draw < disturbance.lose:
                self._log(message, neighbour, LOST)
            elif (draw := draw - disturbance.lose) < disturbance.repeat:
                self._log(message, neighbour, REPEATED)
                admitted += (message, message)
            elif draw - disturbance.repeat < disturbance.hold:
                self._log(message, neighbour, HELD, disturbance.held_for)
                self._hold(message, neighbour, disturbance.held_for, arrived)
            else:
                admitted.append(message)
        return admitted

    def cancel_all(self) -> None:
        """Forgets the messages that are held back."""
        self._timers.cancel_all()
        self._held.clear()

    def _hold(self, message: Message, neighbour: BrokerId, seconds: float, arrived: int | None) -> None:
        self._numbers += 1
        link = self._links[neighbour]
        self._held[self._numbers] = (message, link, link.neighbour_incarnation, arrived)
        self._timers.set(SetTimer(self._numbers, seconds, awaited=True))

    def _let_go(self, number: TimerKey) -> None:
        """Hands a message on, unless its link or its sender has gone."""
        message, link, incarnation, arrived = self._held.pop(number)
        if self._links.get(link.neighbour) is link and link.neighbour_incarnation == incarnation:
            self._release(link.neighbour, (message,), arrived)
        else:
            self._log(message, link.neighbour, LOST)

    def _log(self, message: Message, neighbour: BrokerId, fate: str, seconds: float | None = None) -> None:
        duration = None if seconds is None else round(seconds * SECOND)
        self._recorder.message(Event.DISTURBED, message, peer=neighbour, text=fate, duration=duration)
