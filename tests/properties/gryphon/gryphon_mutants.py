"""Gryphon's router, broken in one way each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from broker_service.messages import BrokerId, Message
from broker_service.routing.gryphon import GryphonRouter
from broker_service.routing.gryphon.overlay import NodeNumber
from broker_service.routing.gryphon.propagation.messages import Addition, Change
from broker_service.routing.gryphon.relaying.retransmission import Retransmission
from broker_service.routing.gryphon.streams.horizon import Horizon
from broker_service.routing.gryphon.streams.messages import decode_stamp
from broker_service.routing.gryphon.streams.publications import Held
from broker_service.routing.gryphon.streams.ranges import RangeSet
from broker_service.routing.gryphon.streams.state import StreamState
from broker_service.routing.gryphon.streams.stored_publications import POSITION_BITS
from broker_service.routing.gryphon.virtual_time import MOST_TIME, Vector
from broker_service.routing.interface import Action, Actions


class ChangesPublications(GryphonRouter):
    """Does with publications of neighbours what a derived class says."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self._rightly = self._relay.receive_publication
        self._relay.receive_publication = self._receive_publication  # type: ignore[method-assign]

    def _receive_publication(self, neighbour: BrokerId, message: Message) -> list[Action]:
        return self._rightly(neighbour, message)


class TrustsItsRoots(GryphonRouter):
    """Filters without comparing vectors."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self._forwarding.is_sufficient = lambda *_: True  # type: ignore[method-assign]


class NotifiesOnArrival(ChangesPublications):
    """Holds nothing back for publications that are missing before."""

    def _receive_publication(self, neighbour: BrokerId, message: Message) -> list[Action]:
        actions = super()._receive_publication(neighbour, message)
        for stream, state in self._forwarding.streams.items():
            for position in sorted(state.horizon._held):
                held = state.horizon._held.pop(position)
                state.horizon.silence(position, position + 1)
                actions += self._clients.notify(stream, held)
        return actions


class AnnouncesNoEnds(GryphonRouter):
    """Leaves notice only what later publications show to be missing."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self._upkeep.announce_end = lambda: []  # type: ignore[method-assign]

    def link_up(self, neighbour: BrokerId, incarnation: int) -> Actions:
        return self._propagation.link_up(neighbour, incarnation)

    def link_down(self, neighbour: BrokerId) -> Actions:
        return self._propagation.link_down(neighbour)


class TrimsOnTheFirstAcknowledgement(GryphonRouter):
    """Forgets a publication when one leaf has it."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        original = self._upkeep.acknowledged

        def acknowledged(leaves: Mapping[NodeNumber, int], idle: Mapping[NodeNumber, int]) -> list[Action]:
            most = max(leaves.values(), default=0)
            return original(dict.fromkeys(self._brokers, most), idle)

        self._upkeep.acknowledged = acknowledged  # type: ignore[method-assign]


class TakesTheUnknownForSilent(GryphonRouter):
    """Answers requests for positions that it does not know with silence."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self._relay._retransmission = KnowsEverything(self._forwarding, self._upkeep)


class KnowsEverything(Retransmission):
    def _silent(self, state: StreamState, neighbour: BrokerId, start: int, end: int) -> RangeSet:
        known = super()._silent(state, neighbour, start, end)
        for part in RangeSet((place, place + 1) for place in state.cache).absent(start, end):
            known.add(*part)
        return known


class NotifiesOfRetransmissionsTwice(ChangesPublications):
    """Does not look whether a position was processed."""

    def _receive_publication(self, neighbour: BrokerId, message: Message) -> list[Action]:
        actions = super()._receive_publication(neighbour, message)

        stamp = decode_stamp(message.header)
        state = self._forwarding.state(stamp.stream)
        vector = state.vectors.get(stamp.digest)
        if stamp.again and vector is not None:
            actions += self._clients.notify(stamp.stream, Held(stamp.position, message, vector))
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


class StartsAtOnce(GryphonRouter):
    """Notifies of publications whose vectors are before the start of a subscription."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        original = self._clients.notify

        def notify(stream: NodeNumber, held: Held) -> list[Action]:
            always = {self._view.leaf: MOST_TIME}
            return original(stream, msgspec.structs.replace(held, vector=always))

        self._clients.notify = notify  # type: ignore[method-assign]


class StartsBehindTheStart(GryphonRouter):
    """Waits for a vector that is after the start of a subscription."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        original = self._clients.notify

        def notify(stream: NodeNumber, held: Held) -> list[Action]:
            reached = {leaf: time - 1 for leaf, time in held.vector.items()}
            return original(stream, msgspec.structs.replace(held, vector=reached))

        self._clients.notify = notify  # type: ignore[method-assign]


class BeginsWithItsOwnVector(GryphonRouter):
    """Begins with the present V_b, which is that of empty tables after a restart, and not with the highest vector."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self._given = {}


class NotifiesOfRepeatsAgain(ChangesPublications):
    """Does not look whether a publication has arrived before."""

    def _receive_publication(self, neighbour: BrokerId, message: Message) -> list[Action]:
        stamp = decode_stamp(message.header)
        state = self._forwarding.state(stamp.stream)
        behind = state.horizon.next
        actions = super()._receive_publication(neighbour, message)
        vector = state.vectors.get(stamp.digest)
        if not stamp.again and behind is not None and stamp.position < behind and vector is not None:
            actions += self._clients.notify(stamp.stream, Held(stamp.position, message, vector))
        return actions


class AnswersFromItsCacheOnly(GryphonRouter):
    """Asks nobody further up for what it does not know."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self._relay._retransmission._ask_further_up = lambda *_: []  # type: ignore[method-assign]


class TakesOverflowForSilence(GryphonRouter):
    """Counts publications that do not fit in the buffer as silent."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        original = self._forwarding.state

        def state(stream: NodeNumber) -> StreamState:
            found = original(stream)
            horizon = found.horizon
            if not isinstance(horizon, SilentWhenFull):
                found.horizon = SilentWhenFull(context.options.reorder_bytes)
                found.horizon.next = horizon.next
            return found

        self._forwarding.state = state  # type: ignore[method-assign]


class SilentWhenFull(Horizon):
    def publication(self, held: Held) -> None:
        super().publication(held)
        if self.next is not None and held.position >= self.next and held.position not in self._held:
            self.silence(held.position, held.position + 1)


class BeginsDigestsAnew(GryphonRouter):
    """Counts digests from the start of its incarnation, so that receivers take them for earlier ones."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        vectors = self._forwarding.state(self._view.leaf).vectors
        vectors._digests.clear()
        vectors._vectors.clear()
        original = vectors.add

        def add(digest: int, vector: Vector) -> None:
            original(max(1, digest - ((context.incarnation - 1) << POSITION_BITS)), vector)

        vectors.add = add  # type: ignore[method-assign]


class KeepsSufficiency(GryphonRouter):
    """Compares the vectors of a node once, and keeps the result whatever vectors come."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        original = self._forwarding.is_sufficient
        kept: dict[tuple[NodeNumber, NodeNumber], bool] = {}

        def is_sufficient(stream: NodeNumber, node: NodeNumber, digest: int, vector: Vector) -> bool:
            if not kept.get((stream, node)):
                kept[stream, node] = original(stream, node, digest, vector)
            return kept[stream, node]

        self._forwarding.is_sufficient = is_sufficient  # type: ignore[method-assign]


class RetransmitsWithTheLatestVector(GryphonRouter):
    """Gives a publication that is sent again the vector of the latest one."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        vectors = self._forwarding.state(self._view.leaf).vectors

        def get(digest: int) -> Vector | None:
            latest = vectors.latest()
            return None if latest is None else latest[1]

        vectors.get = get  # type: ignore[method-assign]


class AnnouncesStartsAtOnce(GryphonRouter):
    """Announces starts at the end of the batch, before others know of the subscription."""

    def _completed(self, actions: Actions) -> Actions:
        self._propagation.dissemination.settled_time = MOST_TIME
        return super()._completed(actions)


class AnnouncesOldStartsAtOnce(GryphonRouter):
    """Announces a start at a time that every broker had acknowledged which could be reached once."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self._greatest = 0

    def _completed(self, actions: Actions) -> Actions:
        dissemination = self._propagation.dissemination
        self._greatest = dissemination.settled_time = max(self._greatest, dissemination.settled_time)
        return super()._completed(actions)


class ForgetsThoseThatComeUp(GryphonRouter):
    """Announces a start though a neighbour that has come up may not have acknowledged it."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        dissemination = self._propagation.dissemination
        dissemination._holds_back = lambda _: False  # type: ignore[method-assign]


class AnnouncesNoStarts(GryphonRouter):
    """Never announces that a subscription has started."""

    def _completed(self, actions: Actions) -> Actions:
        self._clients.awaited.take(MOST_TIME)
        return super()._completed(actions)


class AcknowledgesNewsAtOnce(GryphonRouter):
    """Acknowledges news before those behind it have them."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        parties = self._propagation.parties
        self._others, parties.receivers = parties.receivers, dict.fromkeys(parties.receivers, ())

    def _handle(self, neighbour: BrokerId, control: Any) -> Actions:
        parties = self._propagation.parties
        if not isinstance(control, Addition | Change) or neighbour in self._view.peers:
            return super()._handle(neighbour, control)
        actions = list(super()._handle(neighbour, control))
        for party in self._others[neighbour]:
            actions += parties.owe(party, {control.leaf: control.time})
        return actions


class ForgetsWhatItAcknowledged(GryphonRouter):
    """Begins after a restart with the highest vector of its publications, though it has acknowledged later news."""

    def _vector_given_before(self, stream: StreamState) -> Vector:
        latest = stream.vectors.latest()
        return {} if latest is None else latest[1]


class AnnouncesEndsBehindLostVectors(ChangesPublications):
    """Counts a publication among those whose end it announces, although its vector was lost."""

    def _receive_publication(self, neighbour: BrokerId, message: Message) -> list[Action]:
        stamp = decode_stamp(message.header)
        state = self._forwarding.state(stamp.stream)
        state.end = max(state.end, stamp.position + 1)
        return super()._receive_publication(neighbour, message)


class FollowsFromWhatArrives(ChangesPublications):
    """Begins to follow a stream with the vector of the first publication that arrives, even if others were lost."""

    def _receive_publication(self, neighbour: BrokerId, message: Message) -> list[Action]:
        stamp = decode_stamp(message.header)
        state = self._forwarding.state(stamp.stream)
        if state.horizon.next is None:
            state.base = max(state.base, stamp.digest)
        return super()._receive_publication(neighbour, message)


class AnswersNoMoreThanWasAsked(GryphonRouter):
    """Answers a request for silent positions with these and not with the whole range that is silent."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        retransmission = self._relay._retransmission
        original = retransmission._silent

        def silent(state: StreamState, neighbour: BrokerId, start: int, end: int) -> RangeSet:
            return RangeSet(original(state, neighbour, start, end).within(start, end))

        retransmission._silent = silent  # type: ignore[method-assign]

    def _shrink(self) -> None:
        self._positions = max(16, self._positions // 2)
