"""Reliable flooding: each publication reaches every broker, in its publisher's order, whatever brokers crash meanwhile.

Rules:

1. The broker of a publisher numbers its publications, stores each one, and floods it. It floods a publication again
   every `retry` seconds until all other brokers have acknowledged it; then it erases it.
2. Each attempt is flooded once: a broker passes an attempt on to all neighbours but the one it came from, and ignores
   further copies of it. A later attempt reaches brokers that a crash kept the earlier ones from.
3. A broker notifies its clients of a publisher's publications in the order of their numbers and holds back those that
   came early. It stores the number that it has come to, so that its next incarnation neither waits for publications
   that were erased nor repeats notifications, and acknowledges all up to that number. Clients receive the number as
   the position in the stream of that publisher.
4. An acknowledgement takes the way back that the publication came, ahead of publications. When it is lost with a
   broker or on a link, the next attempt brings another one, by another way if need be.
5. A broker that keeps `kept` publications takes no further ones: its publishers wait until one is erased. It refuses a
   publication that is larger than its part of the storage, because `kept` of that size would not fit.
6. A publisher whose broker was restarted repeats publications of which it does not know whether they were accepted. The
   broker stores the ids of the latest `recognised` publications of each client beside their number, and ignores those
   that are repeated. One that it refuses takes no number.

Retransmissions are awaited: an overlay settles when every broker has every publication.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping
from functools import partial
from typing import ClassVar, NamedTuple

import msgspec

from broker_service.language import Publication, Subscription
from broker_service.messages import MOST_IN_DOUBT, BrokerId, ClientId, Kind, Message, StreamPosition
from broker_service.routing.common.decoding import DispatchingRouter, encode_header, header_decoder
from broker_service.routing.interface import (
    Action,
    Actions,
    CancelTimer,
    Deliver,
    Erase,
    HoldPublishers,
    HoldsPublishers,
    Matcher,
    RefusedPublicationError,
    ReleasePublishers,
    RouterContext,
    Send,
    SetTimer,
    Store,
    StoresValues,
    TimerKey,
)
from broker_service.routing.options import Preparation, ProtocolOptions
from record.faults import LOST_STREAMS, FaultKind
from record.promises import Loss, Order, Promises

_SURVIVES: Mapping[str, Loss] = {
    **dict.fromkeys((*FaultKind, LOST_STREAMS), Loss.NOTHING),
    FaultKind.KILL: Loss.UNACCEPTED,
    FaultKind.STOP: Loss.UNACCEPTED,
}


class ReliableFloodingOptions(ProtocolOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    retry: float = 0.5
    """Seconds after which a publication that some broker has not acknowledged is flooded again."""
    remembered: int = 10_000
    """Publications of others of which a broker remembers the latest attempt and where it came from."""
    kept: int = 1_000
    """Publications of its clients that a broker stores, because some broker has not acknowledged them."""
    recognised: int = MOST_IN_DOUBT
    """Latest publications of each client that its broker recognises when they are repeated."""

    recognises_repeats: ClassVar[bool] = True
    times: ClassVar[tuple[str, ...]] = ("retry",)

    def __post_init__(self) -> None:
        if min(self.retry, self.remembered, self.kept, self.recognised) <= 0:
            raise ValueError("retry, remembered, kept and recognised must be more than 0")

    @property
    def promises(self) -> Promises:
        return Promises(order=Order.PUBLISHER, survives=_SURVIVES)

    @property
    def reconciles_within(self) -> float:
        return 2 * self.retry

    def prepare(self, preparation: Preparation) -> Mapping[BrokerId, bytes]:
        """Names all brokers to each broker, because the broker of a publisher awaits their acknowledgements."""
        return dict.fromkeys(preparation.brokers, msgspec.msgpack.encode(list(preparation.brokers)))


class Stream(NamedTuple):
    """The publications of a client at a broker."""

    origin: BrokerId
    client: ClientId


class Number(NamedTuple):
    """The place of a publication in the stream of this broker's client; the key of its timer."""

    client: ClientId
    number: int


class Stamp(msgspec.Struct, frozen=True, array_like=True):
    """Header of a publication."""

    origin: BrokerId
    client: ClientId
    number: int
    attempt: int
    """Grows with each flood of the origin, over all its incarnations."""


class Acknowledgement(msgspec.Struct, frozen=True, array_like=True):
    """Header of a control message: a broker has all publications of a stream up to a number."""

    origin: BrokerId
    client: ClientId
    number: int
    broker: BrokerId


class Stored(msgspec.Struct, frozen=True, array_like=True):
    """A publication in stable storage."""

    client: ClientId
    number: int
    id: str
    body: bytes


class Reached(msgspec.Struct, frozen=True, array_like=True):
    """Place that a broker has come to in a stream, in stable storage."""

    origin: BrokerId
    client: ClientId
    number: int
    ids: tuple[str, ...]
    """Ids of the latest publications up to that place, where the client is one of this broker."""


class Attempt(NamedTuple):
    """The latest attempt of a publication, and the neighbour that it came from first."""

    attempt: int
    neighbour: BrokerId


_decode_stamp = header_decoder(Stamp)
_decode_acknowledgement = header_decoder(Acknowledgement)
_decode_stored = msgspec.msgpack.Decoder(Stored).decode
_decode_reached = msgspec.msgpack.Decoder(Reached).decode
_PUBLICATION, _REACHED = "publication ", "reached "
"""Beginnings of keys in stable storage."""


class ReliableFloodingRouter(DispatchingRouter, StoresValues, HoldsPublishers):
    """The router of one broker that floods reliably."""

    def __init__(self, context: RouterContext[ReliableFloodingOptions]) -> None:
        super().__init__({Kind.PUBLISH: self._receive_publication, Kind.CONTROL: self._receive_acknowledgement})
        self._context = context
        self._broker = context.broker
        self._others = frozenset(msgspec.msgpack.decode(context.prepared, type=list[str])) - {context.broker}
        self._subscriptions: Matcher[tuple[ClientId, str]] = context.matcher()
        self._attempts = context.incarnation << 32
        self._latest: dict[tuple[Stream, int], Attempt] = {}
        self._reached: dict[Stream, int] = {}
        """Number of the last publication of each stream that the clients here were notified of."""
        self._accepted: defaultdict[ClientId, deque[str]] = defaultdict(
            partial(deque, maxlen=context.options.recognised)
        )
        """Ids of the latest publications of each client here."""
        self._held: defaultdict[Stream, dict[int, Message]] = defaultdict(dict)
        self._kept: dict[Number, Message] = {}
        """Publications of clients here that some broker has not acknowledged."""
        self._missing: dict[Number, set[BrokerId]] = {}
        self._recovered = self._recover()
        """Publications of former incarnations, until their timers run."""

    def subscribe(self, client: ClientId, id: str, subscription: Subscription) -> Actions:
        self._subscriptions.add((client, id), subscription)
        return ()

    def unsubscribe(self, client: ClientId, id: str) -> Actions:
        self._subscriptions.remove((client, id))
        return ()

    def publish(self, client: ClientId, message: Message, publication: Publication, advertisement: str) -> Actions:
        if self._is_repeat(client, message):
            return ()
        self._require_room(message)
        stream = Stream(self._broker, client)
        key = Number(client, self._reached.get(stream, 0) + 1)
        self._accepted[client].append(message.id)
        actions = [self._reach(stream, key.number)]
        if self._others:
            self._keep(key, message)
            stored = Stored(client, key.number, message.id, message.body)
            actions.append(Store(_name(key), msgspec.msgpack.encode(stored)))
            actions += [*self._attempt(key), *self._hold()]
        return [*actions, self._notification(stream, key.number, message)]

    def link_up(self, neighbour: BrokerId, incarnation: int) -> Actions:
        recovered, self._recovered = self._recovered, []
        return [*(self._await(key) for key in recovered), *self._hold()]

    def timer(self, key: TimerKey) -> Actions:
        return self._attempt(key) if isinstance(key, Number) and key in self._kept else ()

    def tables(self) -> Mapping[str, object]:
        return {"unacknowledged": len(self._kept)}

    # Publications of clients here

    def _is_repeat(self, client: ClientId, message: Message) -> bool:
        return message.id in self._accepted[client]

    def _require_room(self, message: Message) -> None:
        """Raises `RefusedPublicationError` for a publication that takes more than its part of the storage."""
        most = self._context.storage.most_bytes // self._context.options.kept
        if len(message.body) > most:
            raise RefusedPublicationError(f"it has {len(message.body)} bytes; the broker stores at most {most}")

    def _recover(self) -> list[Number]:
        for name, value in self._context.storage.values.items():
            if name.startswith(_PUBLICATION):
                stored = _decode_stored(value)
                self._keep(Number(stored.client, stored.number), Message(Kind.PUBLISH, stored.id, stored.body))
            else:
                reached = _decode_reached(value)
                self._reached[Stream(reached.origin, reached.client)] = reached.number
                self._accepted[reached.client].extend(reached.ids)
        return list(self._kept)

    def _keep(self, key: Number, message: Message) -> None:
        self._kept[key] = message
        self._missing[key] = set(self._others)

    def _attempt(self, key: Number) -> list[Action]:
        """Floods a publication, for the first time or again."""
        self._attempts += 1
        stamp = Stamp(self._broker, key.client, key.number, self._attempts)
        return [*self._flood(msgspec.structs.replace(self._kept[key], header=encode_header(stamp))), self._await(key)]

    def _await(self, key: Number) -> Action:
        return SetTimer(key, self._context.options.retry, awaited=True)

    def _acknowledged(self, acknowledgement: Acknowledgement) -> Actions:
        actions: list[Action] = []
        for key in [key for key in self._kept if _covers(acknowledgement, key)]:
            self._missing[key].discard(acknowledgement.broker)
            if not self._missing[key]:
                del self._kept[key], self._missing[key]
                actions += [Erase(_name(key)), CancelTimer(key)]
        return [*actions, *self._release()]

    def _hold(self) -> Actions:
        return () if self._has_room else [HoldPublishers(f"{len(self._kept)} publications are not acknowledged")]

    def _release(self) -> Actions:
        return [ReleasePublishers()] if self._has_room else ()

    @property
    def _has_room(self) -> bool:
        return len(self._kept) < self._context.options.kept

    # Publications of others

    def _receive_publication(self, neighbour: BrokerId, message: Message) -> Actions:
        stamp = _decode_stamp(message.header)
        stream = Stream(stamp.origin, stamp.client)
        if stamp.origin == self._broker or not self._is_news(stream, stamp, neighbour):
            return ()
        onward = self._flood(message, neighbour)
        return [*onward, *self._accept(stream, stamp.number, message), *self._acknowledge(stream, stamp, neighbour)]

    def _is_news(self, stream: Stream, stamp: Stamp, neighbour: BrokerId) -> bool:
        latest = self._latest.get((stream, stamp.number))
        if latest is not None and stamp.attempt <= latest.attempt:
            return False
        self._latest[stream, stamp.number] = Attempt(stamp.attempt, neighbour)
        if len(self._latest) > self._context.options.remembered:
            del self._latest[next(iter(self._latest))]
        return True

    def _accept(self, stream: Stream, number: int, message: Message) -> list[Action]:
        """Notifies clients of this publication and of those that waited for it, or holds it back."""
        reached = self._reached.get(stream, 0)
        if number <= reached:
            return []
        held = self._held[stream]
        held[number] = message
        ready = []
        while reached + 1 in held:
            reached += 1
            ready.append(self._notification(stream, reached, held.pop(reached)))
        return [self._reach(stream, reached), *ready] if ready else []

    def _reach(self, stream: Stream, number: int) -> Action:
        self._reached[stream] = number
        ids = tuple(self._accepted[stream.client]) if stream.origin == self._broker else ()
        value = msgspec.msgpack.encode(Reached(stream.origin, stream.client, number, ids))
        return Store(f"{_REACHED}{stream.origin} {stream.client}", value)

    def _notification(self, stream: Stream, number: int, message: Message) -> Action:
        clients = dict.fromkeys(client for client, _ in self._subscriptions.match(message))
        return Deliver(tuple(clients), message, self._position(stream, number))

    def _position(self, stream: Stream, number: int) -> StreamPosition:
        return StreamPosition(f"{stream.client}@{stream.origin}", number)

    def _acknowledge(self, stream: Stream, stamp: Stamp, neighbour: BrokerId) -> list[Action]:
        reached = self._reached.get(stream, 0)
        return [self._acknowledgement(stream, reached, neighbour)] if reached >= stamp.number else []

    def _acknowledgement(self, stream: Stream, number: int, neighbour: BrokerId) -> Action:
        acknowledgement = Acknowledgement(stream.origin, stream.client, number, self._broker)
        message = Message(Kind.CONTROL, "", header=encode_header(acknowledgement), hops=1)
        return Send(neighbour, message, label="ack", ahead=True)

    def _receive_acknowledgement(self, neighbour: BrokerId, message: Message) -> Actions:
        found = _decode_acknowledgement(message.header)
        if found.origin == self._broker:
            return self._acknowledged(found)
        way = self._latest.get((Stream(found.origin, found.client), found.number))
        onward = msgspec.structs.replace(message, hops=message.hops + 1)
        return [Send(way.neighbour, onward, ahead=True)] if way is not None else ()

    def _flood(self, message: Message, source: BrokerId | None = None) -> list[Action]:
        onward = msgspec.structs.replace(message, hops=message.hops + 1)
        return [Send(neighbour, onward) for neighbour in self._context.links if neighbour != source]


def _covers(acknowledgement: Acknowledgement, key: Number) -> bool:
    return key.client == acknowledgement.client and key.number <= acknowledgement.number


def _name(key: Number) -> str:
    return f"{_PUBLICATION}{key.number} {key.client}"
