"""Reception of streams by the broker's own leaf: gaps that are asked for, and acknowledgements (section 3.6).

1. A leaf that lacks positions before known ones asks for them after `gap_after`, and again until it has them, another
   broker each time.
2. It acknowledges its horizon. On the way to the publishers' broker, acknowledgements are collected for
   `acknowledge_every`.
"""

from __future__ import annotations

from typing import Final

from broker_service.routing.gryphon.forwarding import Forwarding
from broker_service.routing.gryphon.routing_tree import NodeNumber
from broker_service.routing.gryphon.stream_messages import MOST_RANGES, Acknowledge, Nack
from broker_service.routing.gryphon.timer_keys import Collect, Gap
from broker_service.routing.interface import Action, CancelTimer, SetTimer

_LAST_NACK: Final = 2.0
"""Seconds between two requests, at most."""


class Reception:
    """See the module."""

    def __init__(self, forwarding: Forwarding) -> None:
        self._forwarding = forwarding
        self.notified = 0
        """Publications of others' streams that clients were notified of."""
        self.waited = 0.0
        """Seconds from their arrival until the horizon came to them, all together."""

    def moved(self, stream: NodeNumber) -> list[Action]:
        """Notifies clients as far as everything is known; sees to what is lacking, and to acknowledgements."""
        state = self._forwarding.state(stream)
        horizon = state.horizon
        former = horizon.next
        actions: list[Action] = []
        for held in horizon.ready():
            notifications = self._forwarding.clients.notify(stream, held)
            if notifications:
                self.notified += 1
                self.waited += self._forwarding.now() - held.arrived
                actions += notifications
        lacks = horizon.lacks
        if lacks and not state.waits_for_gap and self._forwarding.upstream(state, 0):
            state.waits_for_gap = True
            actions.append(SetTimer(Gap(stream), self._forwarding.options.gap_after, awaited=True))
        elif not lacks and state.waits_for_gap:
            state.waits_for_gap = False
            actions.append(CancelTimer(Gap(stream)))
        if horizon.next is not None and horizon.next != former:
            actions += self.collect(stream, self._forwarding.view.leaf, horizon.next)
        return actions

    def ask(self, stream: NodeNumber) -> list[Action]:
        """The timer of unknown positions has run out."""
        state = self._forwarding.state(stream)
        state.waits_for_gap = False
        unknown = state.horizon.unknown(MOST_RANGES)
        target = self._forwarding.upstream(state, state.horizon.attempts)
        if not unknown or not target:
            return []
        again = min(self._forwarding.options.nack_again * 2**state.horizon.attempts, _LAST_NACK)
        state.horizon.attempts = min(state.horizon.attempts + 1, 30)
        state.waits_for_gap = True
        return [
            self._forwarding.control(target, Nack(stream, tuple(unknown))),
            SetTimer(Gap(stream), again, awaited=True),
        ]

    def collect(self, stream: NodeNumber, leaf: NodeNumber, position: int) -> list[Action]:
        """Notes an acknowledgement of a leaf, to be passed on; 0 for a leaf that cannot be reached."""
        state = self._forwarding.state(stream)
        if position or leaf not in state.acknowledged:
            state.acknowledged[leaf] = position
        if state.collects_acknowledgements:
            return []
        state.collects_acknowledgements = True
        return [SetTimer(Collect(stream), self._forwarding.options.acknowledge_every)]

    def pass_acknowledgements(self, stream: NodeNumber) -> list[Action]:
        """Passes on the acknowledgements that were collected."""
        state = self._forwarding.state(stream)
        state.collects_acknowledgements = False
        target = self._forwarding.upstream(state, 0)
        leaves, state.acknowledged = state.acknowledged, {}
        return [self._forwarding.control(target, Acknowledge(stream, leaves))] if target and leaves else []
