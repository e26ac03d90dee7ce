"""Gryphon's router, broken in one way each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from broker_service.messages import BrokerId, Message
from broker_service.routing.gryphon import GryphonRouter
from broker_service.routing.gryphon.horizon import Held
from broker_service.routing.gryphon.ranges import RangeSet
from broker_service.routing.gryphon.retransmission import Retransmission
from broker_service.routing.gryphon.routing_tree import NodeNumber
from broker_service.routing.gryphon.stream_messages import decode_stamp
from broker_service.routing.gryphon.stream_state import StreamState
from broker_service.routing.interface import Action, Actions


class TrustsItsRoots(GryphonRouter):
    """Filters without comparing vectors."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self._forwarding.is_sufficient = lambda *_: True  # type: ignore[method-assign]


class NotifiesOnArrival(GryphonRouter):
    """Holds nothing back for publications that are missing before."""

    def _receive_publication(self, neighbour: BrokerId, message: Message) -> Actions:
        actions = list(super()._receive_publication(neighbour, message))
        for stream, state in self._forwarding.streams.items():
            for position in sorted(state.horizon._held):
                held = state.horizon._held.pop(position)
                state.horizon.silence(position, position + 1)
                actions += self.notify(stream, held)
        return actions


class AnnouncesNoEnds(GryphonRouter):
    """Leaves notice only what later publications show to be missing."""

    def _announce_end(self) -> Actions:
        return ()

    def link_up(self, neighbour: BrokerId, incarnation: int) -> Actions:
        return self._propagation.link_up(neighbour, incarnation)

    def link_down(self, neighbour: BrokerId) -> Actions:
        return self._propagation.link_down(neighbour)


class TrimsOnTheFirstAcknowledgement(GryphonRouter):
    """Forgets a publication when one leaf has it."""

    def acknowledged(self, leaves: Mapping[NodeNumber, int]) -> list[Action]:
        most = max(leaves.values(), default=0)
        return super().acknowledged(dict.fromkeys(self._brokers, most))


class TakesTheUnknownForSilent(GryphonRouter):
    """Answers requests for positions that it does not know with silence."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self._relay._retransmission = KnowsEverything(self._forwarding)


class KnowsEverything(Retransmission):
    def _silent(self, state: StreamState, neighbour: BrokerId, start: int, end: int) -> RangeSet:
        known = super()._silent(state, neighbour, start, end)
        for part in RangeSet((place, place + 1) for place in state.cache).absent(start, end):
            known.add(*part)
        return known


class NotifiesOfRetransmissionsTwice(GryphonRouter):
    """Does not look whether a position was processed."""

    def _receive_publication(self, neighbour: BrokerId, message: Message) -> Actions:
        actions = list(super()._receive_publication(neighbour, message))

        stamp = decode_stamp(message.header)
        state = self._forwarding.state(stamp.stream)
        vector = state.vectors.get(stamp.digest)
        if stamp.again and vector is not None:
            actions += self.notify(stamp.stream, Held(stamp.position, message, vector))
        return actions


class TakesSilencesOfALeafForAll(GryphonRouter):
    """Tells others that positions are silent which are silent for its own clients only."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        original = self._forwarding.state

        def state(stream: NodeNumber) -> StreamState:
            found = original(stream)
            found.silent = found.silent_for[self._view.leaf]
            return found

        self._forwarding.state = state  # type: ignore[method-assign]
