"""Semi-probabilistic routing: deterministic near subscribers, random elsewhere.

Paolo Costa, Gian Pietro Picco: "Semi-probabilistic content-based publish-subscribe", ICDCS 2005. Rules, with sections:

1. Dispatchers form an undirected graph, whose links may come and go (3). There are no advertisements, refreshments,
   acknowledgements and retransmissions.
2. A subscription travels `horizon` hops from its subscriber, each broker notes its distance, and links that appear or
   vanish change tables as subscriptions and withdrawals do (3, "Subscription Propagation"; `subscriptions`).
3. An event is known by its publisher and its number there. A broker that has had it before ignores it (3, "Dealing with
   loops"; `common.recognition`). Otherwise it notifies its own clients, and passes the event on. A restarted broker
   does not know what it had before: older events it passes on, and notifies nobody.
4. The event goes to the share `threshold` of the links that it did not come by: those that lead to near subscribers
   first, then random ones (3, "Event Propagation"; `choice`). Candidates are links that are up.
5. A time-to-live counts hops: with a limit of t, a copy travels t hops and is delivered after the last one. Two limits
   count deterministic and random hops apart, and a copy ends when either is used up (3, "Avoiding unnecessary
   propagation"). A link to a matching subscriber that is needed for the threshold anyway is a deterministic hop.
6. With `spare_leaves`, a neighbour with a single link is no candidate unless it wants the event (4, "A Mobility
   Scenario"). The threshold is still taken of all links. Brokers notify their neighbours when they become leaves or
   cease to be.

The paper does not treat links that fail and come back. Such a link is treated as one that vanishes and appears: the
tables at both ends begin anew. Subscriptions that waited for it are out of date and are taken back. Events that waited
for it are put back, because brokers recognise those that come twice.

Two options leave the exact tables for what the text says, or leaves open: `naive_withdrawals` and `late_router`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Final

from broker_service.language import Publication, Subscription
from broker_service.language.content import encode_predicates
from broker_service.messages import BrokerId, ClientId, Kind, Message
from broker_service.routing.common.decoding import DispatchingRouter, Receiver, decode_subscription
from broker_service.routing.common.identifiers import split_id
from broker_service.routing.common.recognition import FORGOTTEN, RecognisedPublications
from broker_service.routing.interface import (
    Action,
    Actions,
    Deliver,
    MalformedMessageError,
    Matcher,
    Recall,
    RecallsMessages,
    RouterContext,
    Send,
)
from broker_service.routing.semi_probabilistic.choice import choose, fanout
from broker_service.routing.semi_probabilistic.messages import (
    EventHeader,
    decode_distance,
    decode_leaf,
    encode,
    event_decoder,
    published,
)
from broker_service.routing.semi_probabilistic.naive_withdrawals import NaiveSubscriptionTable
from broker_service.routing.semi_probabilistic.options import SemiProbabilisticOptions
from broker_service.routing.semi_probabilistic.subscriptions import Change, Pattern, SubscriptionTable

_PUBLISH: Final = Kind.PUBLISH  # looked up once: a member of an enumeration takes 0.1 us in Python 3.11

DETERMINISTIC, RANDOM = "deterministic", "random"
"""Labels of publications by the choice of the link that they travel over."""


class SemiProbabilisticRouter(DispatchingRouter, RecallsMessages):
    """The router of semi-probabilistic routing: one broker."""

    def __init__(self, context: RouterContext[SemiProbabilisticOptions]) -> None:
        receivers: Mapping[Kind, Receiver] = {
            Kind.PUBLISH: self._receive_publication,
            Kind.SUBSCRIBE: self._receive_subscription,
            Kind.UNSUBSCRIBE: self._receive_unsubscription,
            Kind.CONTROL: self._receive_leaf,
        }
        super().__init__(receivers)
        self._context = context
        self._options = context.options
        self._threshold = Fraction(str(context.options.threshold))
        self._prefers_nearest = context.options.preference == "nearest"
        self._limits_hops = context.options.limits_hops
        self._decode_event = event_decoder(context.options)
        self._is_limited = context.options.limit == "threshold"
        self._patterns: Matcher[Pattern] = context.matcher()
        table = SubscriptionTable if context.options.withdrawals == "exact" else NaiveSubscriptionTable
        self._table = table(context.options.horizon, self._patterns)
        self._linked: Container[BrokerId] = self._table.neighbours
        """Neighbours whose messages count, because their links are up."""
        self._publisher = f"{context.broker}.{context.incarnation}"
        self._published = 0
        self._seen: RecognisedPublications[tuple[str, int], bool] = RecognisedPublications(
            context.options.recognition_bytes, context.incarnation, context.started_at
        )
        self._candidates: dict[BrokerId | None, tuple[Sequence[BrokerId], int]] = {}
        """Candidates and fanout by the neighbour that an event came from, None at its publisher's broker."""
        self._is_leaf = False
        """True when this broker has notified its neighbours that it is a leaf."""
        self._leaves: set[BrokerId] = set()

    # Clients

    def subscribe(self, client: ClientId, id: str, subscription: Subscription) -> Actions:
        body = encode_predicates(subscription.predicates)
        return _sends(self._table.subscribe(client, id, body, subscription))

    def unsubscribe(self, client: ClientId, id: str) -> Actions:
        return _sends(self._table.unsubscribe(id))

    def publish(self, client: ClientId, message: Message, publication: Publication, advertisement: str) -> Actions:
        self._published += 1
        header = published(self._publisher, self._published, self._options)
        return self._spread(message, header, self._patterns.match_decoded(message.id, publication), None)

    # Publications

    def _receive_publication(self, neighbour: BrokerId, message: Message) -> Actions:
        header = self._decode_event(message.header)
        if self._seen.note((header.publisher, header.number)):
            return ()
        if self._seen.has_forgotten(message.published):
            self._context.report_dropped(message, FORGOTTEN)
            return ()
        return self._spread(message, header, self._patterns.match(message), neighbour)

    def _spread(
        self, message: Message, header: EventHeader, matched: Iterable[Pattern], source: BrokerId | None
    ) -> Actions:
        """Notifies clients of an event that has not been here, and passes it on."""
        unknown = source is not None and self._seen.reason_to_drop(message.published)
        self._seen.add((header.publisher, header.number), message.published, True)
        interest = self._table.interest(matched)
        actions: list[Action] = []
        if interest.clients and unknown:
            self._context.report_dropped(message, unknown)
        elif interest.clients:
            actions.append(Deliver(interest.clients, message))
        if not (self._limits_hops and header.spent):
            actions += self._forwarded(message, header, interest.distances, source)
        return actions

    def _forwarded(
        self, message: Message, header: EventHeader, distances: Mapping[BrokerId, int], source: BrokerId | None
    ) -> list[Action]:
        found = self._candidates.get(source)
        if found is None:
            found = self._candidates[source] = self._candidates_from(source)
        candidates, fanout = found
        if self._leaves:
            candidates = [to for to in candidates if to not in self._leaves or distances.get(to) == 1]
        if not self._prefers_nearest:
            distances = {to: min(distance, 2) for to, distance in distances.items()}
        most = fanout if self._is_limited else len(candidates)
        choice = choose(candidates, distances, fanout, most, self._context.random)
        actions: list[Action] = []
        if choice.deterministic:
            left = header.after_deterministic_hop() if self._limits_hops else header
            onward = _onward(message, header, left, DETERMINISTIC)
            actions += [Send(neighbour, onward) for neighbour in choice.deterministic]
        if choice.random:
            left = header.after_random_hop() if self._limits_hops else header
            onward = _onward(message, header, left, RANDOM)
            actions += [Send(neighbour, onward) for neighbour in choice.random]
        return actions

    def _candidates_from(self, source: BrokerId | None) -> tuple[Sequence[BrokerId], int]:
        """Candidates for an event that came from a neighbour, and its fanout.

        They are in order of their names, so that draws do not depend on the order in which links came up.
        """
        candidates = sorted(neighbour for neighbour in self._table.neighbours if neighbour != source)
        return candidates, fanout(self._threshold, len(candidates))

    # Subscriptions

    def _receive_subscription(self, neighbour: BrokerId, message: Message) -> Actions:
        distance = decode_distance(message.header, self._options.horizon)
        if self._ignores(neighbour, message.id):
            return ()
        known = self._table.knows(message.id)
        if known is None:
            subscription = decode_subscription(message.body)
            return _sends(self._table.learn_new(neighbour, message.id, message.body, subscription, distance))
        if known != message.body:
            raise MalformedMessageError(f"subscription {message.id} has another content here")
        return _sends(self._table.learn(neighbour, message.id, distance))

    def _receive_unsubscription(self, neighbour: BrokerId, message: Message) -> Actions:
        if self._ignores(neighbour, message.id):
            return ()
        return _sends(self._table.unlearn(neighbour, message.id))

    def _ignores(self, neighbour: BrokerId, id: str) -> bool:
        """True for subscriptions of this broker, and for messages that were held back until their link was down."""
        home, _ = split_id(id)
        return home.broker == self._context.broker or neighbour not in self._linked

    # Links

    def link_up(self, neighbour: BrokerId, incarnation: int) -> Actions:
        self._candidates.clear()
        return [*_sends(self._table.link(neighbour)), *self._leaf_changes()]

    def link_down(self, neighbour: BrokerId) -> Actions:
        return [*self._parted(neighbour), *self._leaf_changes()]

    def _parted(self, neighbour: BrokerId) -> list[Action]:
        """Takes a link out of the tables, and takes back what waits for it."""
        self._candidates.clear()
        self._leaves.discard(neighbour)
        return [Recall(neighbour), *_sends(self._table.unlink(neighbour))]

    def returned(self, neighbour: BrokerId, messages: Sequence[Message]) -> Actions:
        return [Send(neighbour, message) for message in messages if message.kind is Kind.PUBLISH]

    def _leaf_changes(self) -> list[Action]:
        """Messages to all neighbours when this broker has become a leaf or has ceased to be one."""
        if not self._options.spares_leaves:
            return []
        neighbours = list(self._table.neighbours)
        is_leaf = len(neighbours) == 1
        if is_leaf == self._is_leaf:
            return []
        self._is_leaf = is_leaf
        message = Message(Kind.CONTROL, self._context.broker, header=encode(is_leaf), hops=1, label="leaf")
        return [Send(neighbour, message) for neighbour in neighbours]

    def _receive_leaf(self, neighbour: BrokerId, message: Message) -> Actions:
        if not self._options.spares_leaves:
            raise MalformedMessageError("brokers that do not spare leaves send no control messages")
        if decode_leaf(message.header) and neighbour in self._linked:
            self._leaves.add(neighbour)
        else:
            self._leaves.discard(neighbour)
        return ()

    def declared(self) -> Iterable[int]:
        return self._table.declared()

    def tables(self) -> Mapping[str, object]:
        return {"subscription_table": self._table.listed()}


def _onward(message: Message, header: EventHeader, onward: EventHeader, label: str) -> Message:
    """The copy for the next hop, with its header. That of a message which came over a link is encoded already, and
    stays as it is where no limit counts hops."""
    encoded = message.header if onward is header and message.header else encode(onward)
    return Message(_PUBLISH, message.id, message.body, encoded, message.hops + 1, label, message.published)


def _sends(changes: Iterable[Change]) -> Sequence[Action]:
    return [
        Send(neighbour, Message(Kind.UNSUBSCRIBE, id, hops=1))
        if distance is None
        else Send(neighbour, Message(Kind.SUBSCRIBE, id, body, encode(distance), hops=distance))
        for neighbour, id, body, distance in changes
    ]
