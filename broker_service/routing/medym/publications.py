"""Publications in MEDYM: they are matched once, against the sums of all servers, and carry their destination list.

The rules are 3 to 6 of `router`. A server that gets a publication notifies its own clients by their own subscriptions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from broker_service.messages import BrokerId, ClientId, Kind, Message
from broker_service.routing.common.recognition import RecognisedPublications
from broker_service.routing.interface import Actions, Deliver, Matcher, RouterContext, Send
from broker_service.routing.medym.multicast.decisions import Copy, Decisions
from broker_service.routing.medym.multicast.destination_lists import is_rerouted
from broker_service.routing.medym.options import MedymOptions
from broker_service.routing.medym.own_status import Load
from broker_service.routing.medym.sums import KnownSums


class Publications:
    """Handles publications at one server."""

    def __init__(self, context: RouterContext[MedymOptions], sums: KnownSums, decisions: Decisions, own: int) -> None:
        """`own` is the server's number."""
        options = context.options
        self.clients: Matcher[tuple[ClientId, str]] = context.matcher()
        """Subscriptions of the server's own clients."""
        self.load = Load(options.overload_threshold)
        self._report_dropped = context.report_dropped
        self._sums = sums
        self._decisions = decisions
        self._own = own
        self._received: RecognisedPublications[tuple[str, int], bool] = RecognisedPublications(
            options.recognition_bytes, context.incarnation, context.started_at
        )
        """Publications that have come here, by their id and the time of publishing; True for those whose copy was
        rerouted."""

    def publish(self, message: Message) -> Actions:
        """A client of this server publishes."""
        responsible = self._sums.matching(message, self._own)
        self.load.received += 1
        return [self._notification(message), *self._sends(message, self._decisions.first_copies(responsible))]

    def receive(self, _neighbour: BrokerId, message: Message) -> Actions:
        """A copy has come from a neighbour."""
        copies = self._decisions.copies(message.header)
        self.load.received += 1
        return [*self._notification_once(message), *self._sends(message, copies)]

    def returned(self, neighbour: BrokerId, messages: Iterable[Message]) -> Actions:
        """Sends publications again that a neighbour has not acknowledged."""
        sends: list[Send] = []
        for message in messages:
            if message.kind is Kind.PUBLISH:
                for receiver, header in self._decisions.rerouted(message.header):
                    label = message.label if receiver == neighbour else "rerouted"
                    sends.append(Send(receiver, msgspec.structs.replace(message, header=header), label))
        return sends

    def _notification_once(self, message: Message) -> Actions:
        """Nothing when this copy or the one before it was rerouted, which is a second copy then. Otherwise two
        publications have the same id."""
        rerouted, before = is_rerouted(message.header), self._received.note((message.id, message.published))
        if before or (rerouted and before is not None):
            return ()
        unknown = before is None and self._received.reason_to_drop(message.published)
        notification = self._notification(message)
        if not (unknown and notification.clients):
            return (notification,)
        self._report_dropped(message, unknown)
        return ()

    def _notification(self, message: Message) -> Deliver:
        clients = dict.fromkeys([client for client, _ in self.clients.match(message)])
        self._received.add((message.id, message.published), message.published, is_rerouted(message.header))
        return Deliver(tuple(clients), message)

    def _sends(self, message: Message, copies: Sequence[Copy]) -> list[Send]:
        self.load.sent += len(copies)
        hops = message.hops + 1
        return [
            Send(neighbour, msgspec.structs.replace(message, header=header, hops=hops)) for neighbour, header in copies
        ]
