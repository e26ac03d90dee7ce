"""Gryphon at one broker: its clients, its stream of publications, and the wiring of propagation and routing.

1. Subscriptions of clients are the leaf's (`leaf_subscriptions`). A batch of operations ends after `batch` seconds, or
   with a publication of a client here, which is behind them; what it changed is propagated (`propagation`).
2. A publication of a client gets the next position of the broker's stream and the vector of the stream: the elementwise
   maximum of V_b, of every vector given before, and of every V_b that the broker has acknowledged to others. It is
   stored, and sent on (`publisher_log`, `relay`). V_b is stored, too, before it is acknowledged.
3. Clients are notified of publications of all streams in order, of those only at whose vector the subscription has
   started (`horizon`).
4. While the log is full, publishers wait. A publication that is larger than the log is refused.
5. `flooding` lets all of a leaf's subscriptions count as one for everything: publications go to all leaves with
   subscriptions, and only these match.
6. A neighbour whose link is down is reached over another broker where possible (`detours`).
7. The start of a subscription is announced to its client, at the end of its batch at the earliest (`clients`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from broker_service.language import Publication, Subscription
from broker_service.messages import BrokerId, ClientId, Kind, Message
from broker_service.routing.common.decoding import header_decoder
from broker_service.routing.gryphon.clients import Clients
from broker_service.routing.gryphon.detours.detours import Detours
from broker_service.routing.gryphon.detours.messages import Detour, DetourControl, Seek, Ways
from broker_service.routing.gryphon.detours.offered import MOST_PARTS
from broker_service.routing.gryphon.options import GryphonOptions
from broker_service.routing.gryphon.overlay import LocalView, RoutingTree, hash_of
from broker_service.routing.gryphon.propagation.messages import Control
from broker_service.routing.gryphon.propagation.parties import Exchanges
from broker_service.routing.gryphon.propagation.propagation import KnownState, Propagation
from broker_service.routing.gryphon.relaying.forwarding import Forwarding
from broker_service.routing.gryphon.relaying.log_upkeep import LogUpkeep, recovered_log
from broker_service.routing.gryphon.relaying.relay import Relay
from broker_service.routing.gryphon.streams.messages import Acknowledge, Head, Nack, Silence, StreamControl
from broker_service.routing.gryphon.streams.publications import Cached, Held
from broker_service.routing.gryphon.streams.publisher_log import size_of
from broker_service.routing.gryphon.streams.state import StreamState
from broker_service.routing.gryphon.subscriptions.covering import Covering, ExactCovering, IdentityCovering
from broker_service.routing.gryphon.subscriptions.roots import RootSets
from broker_service.routing.gryphon.timer_keys import (
    Announce,
    AnnounceEnd,
    AskAgain,
    Batch,
    Collect,
    Gap,
    GiveUp,
    Party,
    SeekDetours,
)
from broker_service.routing.gryphon.virtual_time import Vector, VirtualClock, decode_vector, encode_vector, maximum
from broker_service.routing.interface import (
    Action,
    Actions,
    Buffer,
    CancelTimer,
    HoldsPublishers,
    KeepsStreams,
    MalformedMessageError,
    RefusedPublicationError,
    Router,
    RouterContext,
    Store,
    StoresValues,
    TimerKey,
)

decode_any: Callable[[bytes], Control | StreamControl | DetourControl] = header_decoder(
    Control | StreamControl | DetourControl
)
"""Decodes any control message between brokers: about propagation, streams or detours."""
_PUBLISH: Final = Kind.PUBLISH
_CONTROL: Final = Kind.CONTROL
_LAST_OFFER = 60.0
"""Seconds between two repetitions of an offer, at most."""
_KNOWN = "known"
"""Key of V_b in stable storage."""
_COVERINGS: Mapping[str, Callable[[], Covering]] = {"exact": ExactCovering, "identity": IdentityCovering}
_decode_tree = msgspec.msgpack.Decoder(RoutingTree).decode


class GryphonRouter(Router, KeepsStreams, StoresValues, HoldsPublishers):
    """Gryphon's router: one broker of the redundant tree."""

    def __init__(self, context: RouterContext[GryphonOptions]) -> None:
        self._context = context
        options = context.options
        tree = _decode_tree(context.prepared)
        self._brokers = {leaf: broker for broker, leaf in tree.leaves.items()}
        view = self._view = LocalView.of(tree, context.broker)
        covering = _COVERINGS[options.covering]
        clock = VirtualClock(context.incarnation)
        self._clients = Clients(context, self._brokers, view.leaf, clock, covering)
        self._detours = Detours(
            view,
            context.links,
            context.incarnation,
            wait=options.nack_again,
            opened=self._reached,
            closed=self._cut_off,
        )
        roots = RootSets(tuple(view.behind), tuple(view.members), covering())
        self._state = KnownState(view, roots, clock.announced, self._clients.observe)
        self._propagation = Propagation(
            view,
            self._state,
            Exchanges(options.nack_again, _LAST_OFFER),
            ask_after=options.nack_again,
            is_up=self._detours.is_up,
            round_trip=self._detours.round_trip,
            now=context.now,
            require_room=context.require_room,
        )
        self._forwarding = Forwarding(view, self._propagation, self._clients, options, self._detours, now=context.now)
        stream = self._forwarding.state(view.leaf)
        self._log_bytes = min(options.log_bytes, context.storage.most_bytes // 2)
        self._log = recovered_log(context, stream, view.leaf, self._log_bytes)
        self._given = maximum(self._state.known, self._vector_given_before(stream))
        """The vector that no publication of this broker's stream may be below, as of this version of V_b."""
        self._stored_version = self._state.version
        self._upkeep = LogUpkeep(self._log, self._forwarding, self._log_bytes)
        self._relay = Relay(self._forwarding, self._upkeep)

    # Operations of clients

    def subscribe(self, client: ClientId, id: str, subscription: Subscription) -> Actions:
        return self._clients.subscribe(client, id, subscription)

    def unsubscribe(self, client: ClientId, id: str) -> Actions:
        actions = self._clients.unsubscribe(client, id)
        if not len(self._clients.subscriptions):
            self._forwarding.leave_all()
        return actions

    def publish(self, client: ClientId, message: Message, publication: Publication, advertisement: str) -> Actions:
        if self._log.is_repeat(client, message.id):
            return ()
        if size_of(client, message) > self._log_bytes:
            raise RefusedPublicationError(f"it has {len(message.body)} bytes; the log holds {self._log_bytes}")
        if not self._clients.batching:
            appended = self._append(client, message, publication)
            return self._detours.carried(appended) if self._detours.open else appended
        actions = [*self._end_batch(), CancelTimer(Batch())]
        self._raise_given()
        return self._completed([*actions, *self._append(client, message, publication)])

    def _append(self, client: ClientId, message: Message, publication: Publication) -> list[Action]:
        """Gives a publication its place in the stream, sends it on, and notifies clients here."""
        wanting = self._clients.published(message, publication)
        leaf, given = self._view.leaf, self._given
        state = self._forwarding.state(leaf)
        position = self._log.publications.next
        actions = self._log.append(client, message, given)
        state.end = position + 1
        by = self._context.options.hash_by
        hash = hash_of(publication.attributes.get(by)) if by else leaf
        cached = Cached(message, self._log.digest, hash)
        actions += self._forwarding.send_on(state, position, cached, given, state.others, wanting=wanting)
        actions += self._clients.notify(leaf, Held(position, message, given))
        self._log.acknowledge(leaf, position + 1, 0.0)
        actions += self._upkeep.publication_added()
        return actions

    # Messages and links

    def receive(self, neighbour: BrokerId, message: Message) -> Actions:
        """Handles a message. After a publication, nothing but messages needs to be seen to, because it changes neither
        V_b nor subscriptions."""
        if message.kind is _PUBLISH:
            actions = self._relay.receive_publication(neighbour, message)
            return self._detours.carried(actions) if self._detours.open else actions
        if message.kind is not _CONTROL:
            raise MalformedMessageError(f"the protocol has no messages of kind {message.kind.word}")
        control = decode_any(message.header)
        if isinstance(control, Detour):
            return self._completed(self._receive_detour(neighbour, message, control))
        return self._completed(self._handle(neighbour, control))

    def _receive_detour(self, neighbour: BrokerId, message: Message, detour: Detour) -> Actions:
        for _ in range(MOST_PARTS):
            if detour.receiver != self._view.leaf:
                return self._detours.offered.pass_on(neighbour, message, detour)
            sender = self._detours.sender_of(neighbour, detour)
            message = detour.unwrapped(message)
            if message.kind is Kind.PUBLISH:
                return () if sender is None else self._relay.receive_publication(sender, message)
            control = decode_any(message.header)
            if sender is None:
                return ()
            if not isinstance(control, Detour):
                return self._handle(sender, control)
            neighbour, detour = sender, control
        return self._detours.offered.turn_back(neighbour)

    def _handle(self, neighbour: BrokerId, control: Control | StreamControl | Seek | Ways) -> Actions:
        match control:
            case Seek():
                return self._detours.offered.receive_seek(neighbour, control)
            case Ways():
                return self._detours.receive_ways(neighbour, control)
            case Head() | Nack() | Silence() | Acknowledge():
                return self._relay.receive(neighbour, control)
            case _:
                return self._propagation.receive(neighbour, control)

    def link_up(self, neighbour: BrokerId, incarnation: int) -> Actions:
        actions = self._detours.link_up(neighbour, incarnation)
        return self._completed([*actions, *self._reached(neighbour, incarnation)])

    def link_down(self, neighbour: BrokerId) -> Actions:
        actions = self._cut_off(neighbour)
        return self._completed([*actions, *self._detours.link_down(neighbour)])

    def timer(self, key: TimerKey) -> Actions:
        match key:
            case Batch():
                actions = self._end_batch()
            case AnnounceEnd():
                actions = self._upkeep.announce_end()
            case Gap() | Collect() | Announce():
                actions = self._relay.timer(key)
            case AskAgain() | GiveUp() | Party():
                actions = self._propagation.timer(key)
            case SeekDetours():
                actions = self._detours.timer()
            case _:
                raise AssertionError(f"there is no timer {key}")
        return self._completed(actions)

    def buffers(self) -> Sequence[Buffer]:
        return [Buffer("log", self._log.bytes, len(self._log.publications)), *self._relay.buffers()]

    def declared(self) -> Iterator[int]:
        view = self._view
        others = (source for source in view.behind if source != view.leaf)
        return (len(body) for source in others for body in self._state.roots.received[source].bodies)

    def tables(self) -> Mapping[str, object]:
        return {
            "vector": {self._brokers[leaf]: time for leaf, time in sorted(self._state.known.items())},
            "roots": {str(node): len(self._state.roots.received[node]) for node in self._view.behind},
            "log": self._log.publications.next - self._log.publications.first,
            "bytes": {
                "log": self._log.bytes,
                "cache": self._relay.cached_bytes,
                "held_back": sum(state.horizon.bytes for state in self._forwarding.streams.values()),
            },
            "counts": dict(self._forwarding.counts),
        }

    # Parts

    def _vector_given_before(self, stream: StreamState) -> Vector:
        """The maximum of all that former incarnations of this broker have given and acknowledged."""
        latest, stored = stream.vectors.latest(), self._context.storage.values.get(_KNOWN)
        given: Vector = {} if latest is None else latest[1]
        return given if stored is None else maximum(given, decode_vector(stored))

    def _raise_given(self) -> bool:
        """Raises the vector of later publications to V_b; false when V_b has not changed since it was stored."""
        if self._stored_version == self._state.version:
            return False
        self._given = maximum(self._state.known, self._given)
        return True

    def _completed(self, actions: Actions) -> Actions:
        """Actions with V_b stored before them if it has changed, subscriptions that have started announced behind them,
        and messages to the other ends of detours wrapped."""
        if self._raise_given():
            self._stored_version = self._state.version
            actions = [Store(_KNOWN, encode_vector(self._given)), *actions]
        dissemination = self._propagation.dissemination
        if dissemination.settled_time:
            actions = [*actions, *self._clients.announce_starts(dissemination.take_settled_time())]
        return self._detours.carried(actions) if self._detours.open else actions

    def _reached(self, neighbour: BrokerId, incarnation: int) -> list[Action]:
        """A neighbour can be reached (again)."""
        return [
            *self._propagation.link_up(neighbour, incarnation),
            *self._relay.link_up(neighbour),
            *self._upkeep.tend(),
        ]

    def _cut_off(self, neighbour: BrokerId) -> list[Action]:
        """A neighbour cannot be reached any more."""
        return [*self._propagation.link_down(neighbour), *self._relay.link_down(neighbour)]

    def _end_batch(self) -> Actions:
        """Announces the effect of the operations so far, and awaits their old start times again."""
        propagation, change = self._propagation, self._clients.end_batch()
        again = propagation.dissemination.await_again(self._clients.awaited.take_new_times())
        return again if change is None else [*again, *propagation.announce(change)]
