"""Reliable flooding, broken in one way each. `README.md` names what catches each of them."""

from __future__ import annotations

from typing import Any

from broker_service.language import Publication
from broker_service.messages import ACKNOWLEDGE_WITHIN, BrokerId, ClientId, Message, StreamPosition
from broker_service.routing.interface import Action, Actions, RefusedPublicationError, SetTimer, Store, TimerKey
from tests.contracts.routers.reliable_flooding import (
    Acknowledgement,
    Number,
    ReliableFloodingRouter,
    Stamp,
    Stream,
)

_NEVER = 1e6
"""Seconds."""


class NeverRetransmits(ReliableFloodingRouter):
    """Floods each publication once."""

    def timer(self, key: TimerKey) -> Actions:
        return ()


class DoesNotAwaitItsTimers(ReliableFloodingRouter):
    """Takes retransmission for housekeeping."""

    def _await(self, key: Number) -> Action:
        return SetTimer(key, self._context.options.retry)


class StoresNoPublications(ReliableFloodingRouter):
    """Keeps what it accepted in memory only."""

    def _recover(self) -> list[Number]:
        super()._recover()
        self._kept.clear()
        self._missing.clear()
        return []


class AcknowledgesBeforeItStores(ReliableFloodingRouter):
    """Stores and floods what it has accepted a moment later."""

    def __init__(self, *context: Any) -> None:
        super().__init__(*context)
        self._deferred: dict[TimerKey, tuple[ClientId, Message, Publication, str]] = {}

    def publish(self, client: ClientId, message: Message, publication: Publication, advertisement: str) -> Actions:
        self._deferred[message.id] = client, message, publication, advertisement
        return [SetTimer(message.id, 2 * ACKNOWLEDGE_WITHIN, awaited=True)]

    def timer(self, key: TimerKey) -> Actions:
        deferred = self._deferred.pop(key, None)
        return super().timer(key) if deferred is None else super().publish(*deferred)


class NumbersAnewAfterACrash(ReliableFloodingRouter):
    """Does not store the numbers that it has come to."""

    def _reach(self, stream: Stream, number: int) -> Action:
        action = super()._reach(stream, number)
        return Store(action.key, b"") if isinstance(action, Store) else action

    def _recover(self) -> list[Number]:
        return []


class NotifiesAsItComes(ReliableFloodingRouter):
    """Holds nothing back, and recognises repetitions by their number alone."""

    def _accept(self, stream: Stream, number: int, message: Message) -> list[Action]:
        held = self._held[stream]
        if number in held or number <= self._reached.get(stream, 0):
            return []
        held[number] = message
        reached = self._reached.get(stream, 0)
        while reached + 1 in held:
            reached += 1
            held.pop(reached)
        return [self._reach(stream, reached), self._notification(stream, number, message)]


class NotifiesOfEveryAttempt(ReliableFloodingRouter):
    """Takes a retransmission for a publication that it has not had yet."""

    def _accept(self, stream: Stream, number: int, message: Message) -> list[Action]:
        return super()._accept(stream, number, message) or [self._notification(stream, number, message)]


class IsContentWithOneAcknowledgement(ReliableFloodingRouter):
    """Erases a publication when the first broker has it."""

    def _acknowledged(self, acknowledgement: Acknowledgement) -> Actions:
        acknowledgements = [
            Acknowledgement(acknowledgement.origin, acknowledgement.client, acknowledgement.number, broker)
            for broker in self._others
        ]
        acknowledged = super()._acknowledged
        return [action for acknowledgement in acknowledgements for action in acknowledged(acknowledgement)]


class PassesOnTheFirstAttemptOnly(ReliableFloodingRouter):
    """Ends retransmissions at brokers that have the publication already."""

    def _is_news(self, stream: Stream, stamp: Stamp, neighbour: BrokerId) -> bool:
        known = stamp.number <= self._reached.get(stream, 0)
        return super()._is_news(stream, stamp, neighbour) and not known


class RetransmitsWhenALinkIsUp(ReliableFloodingRouter):
    """Takes what a link that works has sent for received."""

    def _await(self, key: Number) -> Action:
        return SetTimer(key, _NEVER)

    def link_up(self, neighbour: BrokerId, incarnation: int) -> Actions:
        return [*super().link_up(neighbour, incarnation), *self._again()]

    def _again(self) -> list[Action]:
        return [action for key in self._kept for action in self._attempt(key)]


class RetransmitsToNewIncarnations(RetransmitsWhenALinkIsUp):
    """Takes what a link has sent for received unless its other end has lost its state."""

    def __init__(self, *context: Any) -> None:
        super().__init__(*context)
        self._incarnations: dict[BrokerId, int] = {}

    def link_up(self, neighbour: BrokerId, incarnation: int) -> Actions:
        former, self._incarnations[neighbour] = self._incarnations.get(neighbour), incarnation
        return ReliableFloodingRouter.link_up(self, neighbour, incarnation) if former == incarnation else self._again()


class CountsPositionsAnew(ReliableFloodingRouter):
    """Begins to count positions anew when it is restarted."""

    def __init__(self, *context: Any) -> None:
        super().__init__(*context)
        self._before: dict[Stream, int] = {}

    def _position(self, stream: Stream, number: int) -> StreamPosition:
        before = self._before.setdefault(stream, number - 1)
        return StreamPosition(f"{stream.client}@{stream.origin}", number - before)


class HoldsNoPublishers(ReliableFloodingRouter):
    """Takes publications when its store is full."""

    def _hold(self) -> Actions:
        return ()


class ReleasesNoPublishers(ReliableFloodingRouter):
    """Does not let its publishers go on."""

    def _release(self) -> Actions:
        return ()


class AcknowledgesWhatItHoldsBack(ReliableFloodingRouter):
    """Acknowledges a publication whose clients it has not notified yet."""

    def _acknowledge(self, stream: Stream, stamp: Stamp, neighbour: BrokerId) -> list[Action]:
        return [self._acknowledgement(stream, max(stamp.number, self._reached.get(stream, 0)), neighbour)]


class DropsWhatDoesNotFit(ReliableFloodingRouter):
    """Accepts a publication that is too large for its storage, and drops it."""

    def publish(self, client: ClientId, message: Message, publication: Publication, advertisement: str) -> Actions:
        try:
            return super().publish(client, message, publication, advertisement)
        except RefusedPublicationError:
            return ()


class NumbersWhatItRefuses(ReliableFloodingRouter):
    """Has counted a publication when it refuses it."""

    def publish(self, client: ClientId, message: Message, publication: Publication, advertisement: str) -> Actions:
        try:
            return super().publish(client, message, publication, advertisement)
        except RefusedPublicationError:
            stream = Stream(self._broker, client)
            self._reach(stream, self._reached.get(stream, 0) + 1)
            raise


class RecognisesNoRepeats(ReliableFloodingRouter):
    """Takes a publication that its former incarnation has accepted for another one."""

    def _is_repeat(self, client: ClientId, message: Message) -> bool:
        return False


class RecognisesRepeatsInMemoryOnly(ReliableFloodingRouter):
    """Does not recover the ids of the publications that it has accepted."""

    def _recover(self) -> list[Number]:
        recovered = super()._recover()
        self._accepted.clear()
        return recovered


class TakesOneTooManyForARepeat(ReliableFloodingRouter):
    """Takes the first publication that its former incarnation has not accepted for the last one that it has."""

    def __init__(self, *context: Any) -> None:
        super().__init__(*context)
        self._awaiting_repeats = set(self._accepted)

    def _is_repeat(self, client: ClientId, message: Message) -> bool:
        if client in self._awaiting_repeats and not super()._is_repeat(client, message):
            self._awaiting_repeats.discard(client)
            return True
        return super()._is_repeat(client, message)
