"""Reception of streams by the broker's own leaf: gaps that are asked for, and acknowledgements (section 3.6).

1. A leaf that lacks positions before known ones asks for them (`gap_requests`).
2. It acknowledges its horizon. On the way to the publishers' broker, acknowledgements are collected for
   `acknowledge_every`.
"""

from __future__ import annotations

from broker_service.messages import BrokerId, Message
from broker_service.routing.gryphon.overlay import NodeNumber
from broker_service.routing.gryphon.relaying.forwarding import Forwarding
from broker_service.routing.gryphon.streams.horizon import Lost
from broker_service.routing.gryphon.streams.messages import Acknowledge, Head, Nack
from broker_service.routing.gryphon.streams.publications import Held
from broker_service.routing.gryphon.streams.state import StreamState
from broker_service.routing.gryphon.timer_keys import Collect, Gap
from broker_service.routing.gryphon.virtual_time import Vector, VirtualTime
from broker_service.routing.interface import Action, CancelTimer, SetTimer


class Reception:
    """Reception of all streams by one broker's own leaf."""

    def __init__(self, forwarding: Forwarding) -> None:
        self._forwarding = forwarding
        self.notified = 0
        """Publications of others' streams that clients were notified of."""
        self.waited = 0.0
        """Seconds from their arrival until the horizon came to them, all together."""

    def publication(
        self, state: StreamState, start: int, position: int, *, message: Message, vector: Vector, again: bool
    ) -> list[Action]:
        """A publication has arrived, behind silent positions from `start` on; `again` for a retransmission."""
        forwarding, horizon, requests = self._forwarding, state.horizon, state.requests
        if not requests.is_active and horizon.passes(start, position):
            actions = forwarding.clients.notify(state.stream, Held(position, message, vector))
            if actions:
                self.notified += 1
            actions += self.collect(state, forwarding.view.leaf, position + 1)
            if horizon.lacks:
                actions += self._see_to_gaps(state)
            return actions
        if start < position:
            self.silence(state, start, position)
        held = Held(position, message, vector, forwarding.now())
        is_active = requests.is_active
        if is_active and not again:
            requests.came_by_itself(position, horizon.knows(position), held.arrived)
        horizon.publication(held)
        if is_active and horizon.knows(position):
            if again:
                requests.answer(position, position + 1, 1, held.arrived)
            else:
                requests.known(position, position + 1)
        return self.moved(state)

    def moved(self, state: StreamState) -> list[Action]:
        """Notifies clients as far as everything is known; sees to what is lacking, and to acknowledgements."""
        horizon = state.horizon
        former = horizon.next
        if former is None:
            return []
        actions: list[Action] = []
        for held in horizon.ready():
            if isinstance(held, Lost):
                actions += self._forwarding.clients.announce_loss(state, held)
                continue
            notifications = self._forwarding.clients.notify(state.stream, held)
            if notifications:
                self.notified += 1
                self.waited += self._forwarding.now() - held.arrived
                actions += notifications
        if horizon.next != former:
            actions += self.collect(state, self._forwarding.view.leaf, horizon.next or former)
        if horizon.lacks or state.requests.answered:
            actions += self._see_to_gaps(state)
        return actions

    def silence(self, state: StreamState, start: int, end: int) -> None:
        """Positions hold nothing for the own leaf."""
        state.horizon.silence(start, end)
        if state.requests.is_active:
            state.requests.answer(start, end, 0, self._forwarding.now())

    def end(self, state: StreamState, head: Head, vector: Vector) -> list[Action]:
        """The end of a stream is announced, and where the publications begin that are kept."""
        forwarding, horizon = self._forwarding, state.horizon
        leaf = forwarding.view.leaf
        is_lacking = leaf in head.lacking
        if is_lacking:
            if forwarding.clients.follows_from(vector):
                state.follow(leaf)
            elif horizon.next is None:
                state.base = max(state.base, head.end)
            horizon.head(head.end)
            self.silence(state, head.end - head.silent, head.end)
        if horizon.next is not None and horizon.next < head.first:
            self._not_kept(state, head.lost.get(leaf, head.first), head.first)
        actions = self.moved(state)
        idle = forwarding.idle_until()
        if is_lacking and idle is not None:
            return [*actions, *self.collect_idle(state, leaf, idle)]
        if is_lacking:
            actions += self.collect(state, leaf, horizon.next or head.end)
        return actions

    def _not_kept(self, state: StreamState, start: int, end: int) -> None:
        """Positions before `end` cannot be had any more. Those from `start` on are lost, because the leaf was owed
        them."""
        horizon, requests = state.horizon, state.requests
        if horizon.next is not None:
            self.silence(state, horizon.next, max(start, horizon.next))
            horizon.lose(start, end)
            if requests.is_active:
                requests.answer(start, end, 0, self._forwarding.now())

    def ask(self, stream: NodeNumber) -> list[Action]:
        """The timer of unknown positions has run out."""
        state = self._forwarding.state(stream)
        state.waits_for_gap = False
        return self._ask(state) if state.horizon.lacks else []

    def _see_to_gaps(self, state: StreamState) -> list[Action]:
        """Notes what is lacking, and asks for more once a request has been answered.

        A timer that waits for gaps to close by themselves is left to run out, because on several paths gaps open and
        close with almost every publication.
        """
        horizon, requests = state.horizon, state.requests
        if horizon.lacks:
            requests.missed(horizon.end, self._forwarding.now())
            if requests.answered or not state.waits_for_gap:
                return self._ask(state)
            return []
        requests.answered = state.waits_for_gap = False
        return [CancelTimer(Gap(state.stream))]

    def _ask(self, state: StreamState) -> list[Action]:
        """Asks for what is due, and sets the timer to look again. When no broker can be asked, the next link that comes
        up calls this again."""
        now, requests = self._forwarding.now(), state.requests
        if not self._forwarding.upstream(state, 0):
            return []
        unknown = requests.next(state.horizon, now)
        target = self._forwarding.upstream(state, requests.turn)
        if unknown:
            state.asked_of = target
        state.waits_for_gap = True
        return [
            *([self._forwarding.control(target, Nack(state.stream, tuple(unknown)))] if unknown else []),
            SetTimer(Gap(state.stream), requests.wait(now), awaited=True),
        ]

    def link_down(self, state: StreamState, neighbour: BrokerId) -> list[Action]:
        """Asks another broker for what this one was asked for."""
        if state.asked_of == neighbour:
            state.requests.void()
        return self.moved(state)

    def collect(self, state: StreamState, leaf: NodeNumber, position: int) -> list[Action]:
        """Notes an acknowledgement of a leaf, to be passed on; 0 for a leaf that cannot be reached."""
        if position or leaf not in state.acknowledged:
            state.acknowledged[leaf] = position
        return self._pass_on_later(state)

    def _pass_on_later(self, state: StreamState) -> list[Action]:
        if state.collects_acknowledgements:
            return []
        state.collects_acknowledgements = True
        return [SetTimer(Collect(state.stream), self._forwarding.options.acknowledge_every)]

    def collect_idle(self, state: StreamState, leaf: NodeNumber, time: VirtualTime) -> list[Action]:
        """Notes that a leaf has no subscriptions until a time, to be passed on."""
        state.idle[leaf] = max(time, state.idle.get(leaf, 0))
        state.acknowledged.pop(leaf, None)
        return self._pass_on_later(state)

    def pass_acknowledgements(self, stream: NodeNumber) -> list[Action]:
        """Passes on the acknowledgements that were collected."""
        state = self._forwarding.state(stream)
        state.collects_acknowledgements = False
        target = self._forwarding.upstream(state, 0)
        leaves, state.acknowledged = state.acknowledged, {}
        idle, state.idle = state.idle, {}
        if not target or not (leaves or idle):
            return []
        return [self._forwarding.control(target, Acknowledge(stream, leaves, idle))]
