"""Subscriptions that go by dynamic multicast to the servers with matching advertisements (section 4.2.1).

A subscription travels as a publication does: the servers with a matching advertisement are its destination list, which
every server on its way splits by the multicast function. So no other server gets or stores it. The paper does not say
how one learns that it arrived, nor how a server is brought up to date that failed or advertises late. Here each
destination confirms to the server of the subscription, with several confirmations in a message, and what is not
confirmed is sent again, directly (`told_subscriptions`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from broker_service.language import Advertisement, Subscription
from broker_service.language.content import encode_predicates
from broker_service.messages import BrokerId, Kind, Message
from broker_service.routing.common.decoding import decode_advertisement, decode_subscription, encode_header
from broker_service.routing.interface import MalformedMessageError, RouterContext, Send
from broker_service.routing.medym.mesh import Mesh
from broker_service.routing.medym.messages import Confirmation, Multicast, decode_multicast
from broker_service.routing.medym.multicast.decisions import Decisions
from broker_service.routing.medym.multicast.destination_lists import encode_list
from broker_service.routing.medym.options import MedymOptions
from broker_service.routing.medym.subscriptions.advertisements import KnownAdvertisements
from broker_service.routing.medym.subscriptions.exchange import Exchange
from broker_service.routing.medym.subscriptions.told_subscriptions import Telling, TellingServers, ToldServers
from broker_service.routing.medym.sums import KnownSums, OwnSum, SumChange

_KINDS: Final = {True: Kind.SUBSCRIBE, False: Kind.UNSUBSCRIBE}
"""Kinds of the messages that tell of a subscription that stands, and of one that does not."""


class AdvertisedExchange(Exchange):
    """The exchange of subscriptions that go to advertisers alone, at one server."""

    def __init__(
        self,
        context: RouterContext[MedymOptions],
        mesh: Mesh,
        sums: KnownSums,
        decisions: Decisions,
        incarnation_of: Callable[[int], int],
    ) -> None:
        """`sums` are those that publications are matched against, `incarnation_of` the latest known one of a server."""
        self.own = OwnSum()
        self.others = self._advertisements = KnownAdvertisements()
        self.decoded = decode_advertisement
        self._mesh = mesh
        self._number = mesh.numbers[context.broker]
        self._incarnation = context.incarnation
        self._decisions = decisions
        self._incarnation_of = incarnation_of
        self._sums = sums
        self._told = ToldServers(self._advertisements)
        self._telling = TellingServers(sums, context.options.remembered)
        self._contents: dict[str, bytes] = {}
        """Encoded advertisements and subscriptions of clients here, by their ids."""
        self._received: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        """Numbers of changes that are yet to be confirmed, by server and incarnation."""

    def advertise(self, id: str, advertisement: Advertisement) -> None:
        self._contents[id] = encode_predicates(advertisement.predicates)
        self.own.add(self._contents[id])

    def unadvertise(self, id: str) -> None:
        self.own.remove(self._contents.pop(id))

    def subscribe(self, id: str, subscription: Subscription) -> None:
        content = self._contents[id] = encode_predicates(subscription.predicates)
        self._told.add(id, content)

    def unsubscribe(self, id: str) -> None:
        self._told.remove(self._contents.pop(id))

    def announced(self, change: SumChange) -> None:
        """Does nothing, because this server's advertisements concern others alone."""

    def begin(self, server: int, incarnation: int) -> None:
        """Records the incarnation in which another server runs."""
        self._telling.begin(server, incarnation)

    def due(self) -> Sequence[Send]:
        """Messages to send now because something has changed."""
        sends: list[Send] = []
        for telling, servers in self._told.changes(self._incarnation_of):
            sends += self._multicast(telling, servers)
        confirmed, self._received = self._received, defaultdict(list)
        for (server, incarnation), numbers in confirmed.items():
            header = encode_header(Confirmation(incarnation, tuple(numbers)))
            message = Message(Kind.CONTROL, self._mesh.servers[self._number], b"", header, 1, "confirmation")
            sends.append(Send(self._mesh.servers[server], message))
        return sends

    def repeated(self, servers: Sequence[int]) -> Iterator[Send]:
        """Messages to send again to these servers, because they have not confirmed them."""
        for server in servers:
            alone = encode_list(np.array([server], np.uint16))
            for telling in self._told.unconfirmed(server):
                yield Send(self._mesh.servers[server], self._message(telling, alone), "repeated")

    @property
    def unconfirmed(self) -> Sequence[int]:
        """Servers that have not confirmed all messages, although they can be reached."""
        return [server for server in self._told.awaited if self._decisions.reaches(server)]

    def receive(self, neighbour: BrokerId, message: Message) -> Sequence[Send]:
        multicast = decode_multicast(message.header)
        copies = self._decisions.copies(multicast.destinations)
        origin = multicast.server
        if not 0 <= origin < len(self._mesh.servers) or origin == self._number or multicast.number < 1:
            raise MalformedMessageError(f"change {multicast.number} of the subscriptions of server {origin}")
        decode_subscription(message.body)
        stands = message.kind is Kind.SUBSCRIBE
        telling = Telling(multicast.number, message.id, message.body, stands, multicast.receivers_incarnation)
        if telling.incarnation == self._incarnation and self._telling.begin(origin, multicast.incarnation):
            self._telling.apply(origin, telling)
            self._received[origin, multicast.incarnation].append(telling.number)
        return [
            Send(
                hop, msgspec.structs.replace(message, header=multicast.with_destinations(header), hops=message.hops + 1)
            )
            for hop, header in copies
        ]

    def confirm(self, server: int, confirmation: Confirmation) -> None:
        if confirmation.incarnation == self._incarnation:
            self._told.confirm(server, confirmation.numbers)

    def declared_by(self, server: int) -> Iterable[bytes]:
        return [*super().declared_by(server), *self._sums.held_by(server)]

    def tables(self, servers: Sequence[BrokerId]) -> Mapping[str, object]:
        return {"advertisements": {servers[number]: count for number, count in self._advertisements.counts().items()}}

    def _multicast(self, telling: Telling, servers: Sequence[int]) -> Iterator[Send]:
        listed = encode_list(np.array(sorted((self._number, *servers)), np.uint16))
        for hop, header in self._decisions.copies(listed):
            yield Send(hop, self._message(telling, header))

    def _message(self, telling: Telling, destinations: bytes) -> Message:
        header = Multicast(self._number, self._incarnation, telling.number, telling.incarnation, destinations)
        return Message(_KINDS[telling.stands], telling.id, telling.subscription, encode_header(header), 1)
