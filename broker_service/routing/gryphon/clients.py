"""Clients of one broker: their subscriptions, the matching of publications, notifications, and announced starts.

1. Subscriptions and withdrawals of a while are one batch, whose effect on the broker's roots is announced as one.
2. The paper's subscription starts in each stream with the first publication whose vector has its virtual start time.
   The broker announces the start to the client (this is not in the paper) once every broker that can be reached has a
   V_b with that time, as the acknowledgements of its news tell (`dissemination`). From then on such brokers give their
   publications no vector below it, not even after a crash, because they store their V_b before they acknowledge news.
3. A subscription that an earlier one covers has an old start time. That this time had settled before does not suffice,
   because a broker that could not be reached then may be reached now; so it has to settle once more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

import msgspec

from broker_service.language import Publication, Subscription
from broker_service.messages import BrokerId, ClientId, Message, StreamPosition
from broker_service.routing.gryphon.options import GryphonOptions
from broker_service.routing.gryphon.overlay import NodeNumber
from broker_service.routing.gryphon.streams.horizon import Lost
from broker_service.routing.gryphon.streams.publications import Held
from broker_service.routing.gryphon.streams.state import StreamState
from broker_service.routing.gryphon.subscriptions.conjunctions import EVERYTHING, Conjunction
from broker_service.routing.gryphon.subscriptions.covering import Covering
from broker_service.routing.gryphon.subscriptions.leaf_subscriptions import LeafChange, LeafSubscriptions
from broker_service.routing.gryphon.timer_keys import Batch
from broker_service.routing.gryphon.virtual_time import Vector, VirtualClock, VirtualTime
from broker_service.routing.interface import (
    Action,
    Actions,
    AnnounceLoss,
    AnnounceStart,
    Deliver,
    Matcher,
    RouterContext,
    SetTimer,
)


class Interest(NamedTuple):
    """Key of a client's subscription."""

    client: ClientId
    id: str


class RootKey(NamedTuple):
    """Key of a root of a source."""

    source: NodeNumber
    body: bytes


class Clients:
    """The clients of one broker, whose subscriptions are matched together with the roots of the nodes around it."""

    def __init__(
        self,
        context: RouterContext[GryphonOptions],
        brokers: dict[NodeNumber, BrokerId],
        leaf: NodeNumber,
        clock: VirtualClock,
        covering: Callable[[], Covering],
    ) -> None:
        """`brokers` are those of all leaves, `leaf` is this broker's own."""
        self.subscriptions: LeafSubscriptions[Interest] = LeafSubscriptions(clock, covering())
        self.awaited = AwaitedStarts()
        self.batching = False
        """True while the timer runs at whose end the effect of operations is announced."""
        self._options = context.options
        self._brokers = brokers
        self._leaf = leaf
        self._matcher: Matcher[Interest | RootKey] = context.matcher()
        self._matched: tuple[Message, list[Interest | RootKey]] | None = None
        """The latest publication that was matched, which several steps may need."""

    def subscribe(self, client: ClientId, id: str, subscription: Subscription) -> Actions:
        """A client subscribes."""
        interest = Interest(client, id)
        flooding = self._options.filtering == "flooding"
        start = self.subscriptions.subscribe(interest, (EVERYTHING if flooding else Conjunction.of(subscription),))
        self.awaited.add(interest, start)
        self._matcher.add(interest, subscription)
        return self._end_batch_later()

    def unsubscribe(self, client: ClientId, id: str) -> Actions:
        """A client withdraws a subscription."""
        interest = Interest(client, id)
        self.subscriptions.unsubscribe(interest)
        self.awaited.discard(interest)
        self._matcher.remove(interest)
        return self._end_batch_later()

    def end_batch(self) -> LeafChange | None:
        """The effect of the operations so far on the broker's roots; None for none."""
        self.batching = False
        return self.subscriptions.flush()

    def published(self, message: Message, publication: Publication) -> Collection[NodeNumber]:
        """Sources with a root that matches a publication of a client."""
        matches = self._matcher.match_decoded(message.id, publication)
        self._matched = (message, matches)
        return {key.source for key in matches if isinstance(key, RootKey)}

    def wanting(self, message: Message) -> Collection[NodeNumber]:
        """Sources with a root that matches a publication."""
        return {key.source for key in self._match(message) if isinstance(key, RootKey)}

    def notify(self, stream: NodeNumber, held: Held) -> list[Action]:
        """Notifies clients of a publication that the horizon has come to."""
        reached = held.vector.get(self._leaf, 0)
        clients = [
            key.client
            for key in self._match(held.message)
            if isinstance(key, Interest) and self.subscriptions.start(key) <= reached
        ]
        if not clients:
            return []
        position = StreamPosition(self._brokers[stream], held.position)
        message = held.message
        if message.header:
            message = msgspec.structs.replace(message, header=b"")
        return [Deliver(tuple(dict.fromkeys(clients)), message, position)]

    def follows_from(self, vector: Vector) -> bool:
        """True when a subscription of one of this broker's clients starts at the vector's time or before."""
        first = self.subscriptions.first_start
        return first is not None and first <= vector.get(self._leaf, 0)

    def announce_loss(self, state: StreamState, lost: Lost) -> list[Action]:
        """Notifies clients that publications of a stream are lost, because their subscriptions have started in it."""
        latest = state.vectors.latest()
        reached = 0 if latest is None else latest[1].get(self._leaf, 0)
        clients = dict.fromkeys(interest.client for interest in self.subscriptions.started(reached))
        position = StreamPosition(self._brokers[state.stream], lost.start)
        return [AnnounceLoss(tuple(clients), position, lost.end)] if clients else []

    def announce_starts(self, settled: VirtualTime) -> list[Action]:
        """Notifies clients that their subscriptions have started, of all that start at the virtual time `settled` or
        before.

        All reachable brokers have come to that time.
        """
        return [AnnounceStart(interest.client, interest.id) for interest in self.awaited.take(settled)]

    def observe(self, source: NodeNumber, added: Iterable[Conjunction], removed: Iterable[Conjunction]) -> None:
        """The roots of a source have changed."""
        self._matched = None
        if source == self._leaf:
            return
        for conjunction in removed:
            self._matcher.remove(RootKey(source, conjunction.body))
        for conjunction in added:
            self._matcher.add(RootKey(source, conjunction.body), conjunction.subscription)

    def _match(self, message: Message) -> list[Interest | RootKey]:
        if self._matched is None or self._matched[0] is not message:
            self._matched = (message, self._matcher.match(message))
        return self._matched[1]

    def _end_batch_later(self) -> Actions:
        self._matched = None
        if self.batching:
            return ()
        self.batching = True
        return (SetTimer(Batch(), self._options.batch, awaited=True),)


class AwaitedStarts:
    """The virtual start times of subscriptions whose start has not been announced to their clients."""

    def __init__(self) -> None:
        self._times: dict[Interest, VirtualTime] = {}
        self._new: set[VirtualTime] = set()

    def add(self, subscription: Interest, time: VirtualTime) -> None:
        """Adds a new subscription, which starts at this time."""
        self._times[subscription] = time
        self._new.add(time)

    def take_new_times(self) -> list[VirtualTime]:
        """The start times of all subscriptions added since the last call, in ascending order."""
        times = sorted(self._new)
        self._new.clear()
        return times

    def discard(self, subscription: Interest) -> None:
        """Removes a subscription, because it was withdrawn."""
        self._times.pop(subscription, None)

    def take(self, reached: VirtualTime) -> list[Interest]:
        """Removes and returns the subscriptions that start at this time or before, in the order in which they were
        made."""
        found = [subscription for subscription, time in self._times.items() if time <= reached]
        for subscription in found:
            del self._times[subscription]
        return found
