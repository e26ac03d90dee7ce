"""The contract between a broker and a routing protocol.

Three rules hold for every router:

1. It does no I/O, never sleeps and never reads the time of day: all its input is in its `RouterContext` and its calls.
2. Every call returns the actions it wants done, in order; it performs none itself.
3. It shares no state with other routers. Knowledge for neighbours travels in messages.

A router gets its surroundings (`context`) and returns actions. This module and `actions` are all that most protocols
need. What few need is grouped into capabilities, which a router declares by inheriting from their classes
(`capabilities`): a broker makes the calls of a capability and carries its actions out for those routers only.

A broker calls one method for each operation of its own clients, with the content already decoded and checked, and
`receive` for each message of a neighbour.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence

from broker_service.language import Advertisement, Publication, Subscription
from broker_service.messages import BrokerId, ClientId, Message
from broker_service.routing.interface.actions import TimerKey
from broker_service.routing.interface.every_action import Actions


class Router(ABC):
    """A content-based routing protocol at one broker. Methods that a protocol does not override do nothing."""

    def advertise(self, client: ClientId, id: str, advertisement: Advertisement) -> Actions:
        """A client of this broker advertises; `id` names the advertisement in the whole overlay."""
        return ()

    def unadvertise(self, client: ClientId, id: str) -> Actions:
        """A client of this broker withdraws an advertisement."""
        return ()

    @abstractmethod
    def subscribe(self, client: ClientId, id: str, subscription: Subscription) -> Actions:
        """A client of this broker subscribes; `id` names the subscription in the whole overlay."""

    @abstractmethod
    def unsubscribe(self, client: ClientId, id: str) -> Actions:
        """A client of this broker withdraws a subscription."""

    @abstractmethod
    def publish(self, client: ClientId, message: Message, publication: Publication, advertisement: str) -> Actions:
        """Route a publication of a client of this broker.

        `message` carries its id and its encoded content, `publication` is the decoded content, `advertisement` the id
        of the oldest advertisement of this client that it conforms to.

        Raises `RefusedPublicationError`, with the reason for the client, when the protocol does not accept it. Nothing
        may have changed then.
        """

    @abstractmethod
    def receive(self, neighbour: BrokerId, message: Message) -> Actions:
        """Handle a message from a neighbour.

        Raises `MalformedMessageError` when its id, header or body cannot be decoded, or when no correct neighbour sends
        it here. Nothing may have changed then. Any other error is taken for a defect of the router and ends the broker.
        """

    def link_up(self, neighbour: BrokerId, incarnation: int) -> Actions:
        """The link works (again); a greater incarnation than before means that the neighbour has lost its state.

        A link that is made on demand is up before this call, which comes with its first stream.
        """
        return ()

    def link_down(self, neighbour: BrokerId) -> Actions:
        """The link carries nothing any more; what is queued for it waits until it is up again."""
        return ()

    def timer(self, key: TimerKey) -> Actions:
        """A timer that this router set has run out."""
        return ()

    def close(self) -> None:  # noqa: B027 - most routers are nothing but memory
        """The broker has ended. Nothing can be sent any more; what is held outside of this process is let go."""

    def processes(self) -> Sequence[int]:
        """Processes by pid that do work of this router; their processor time and memory count as the broker's."""
        return ()

    def index(self) -> None:  # noqa: B027 - the index of most routers never lags
        """Brings a matching index that lags behind the tables in line with them, as the next publication would."""

    def declared(self) -> Iterable[int]:
        """Bytes of each advertisement and subscription that this router holds because of neighbours' messages."""
        return ()

    def tables(self) -> Mapping[str, object]:
        """The routing tables, JSON-ready, for people and for the conformance checks."""
        return {}
