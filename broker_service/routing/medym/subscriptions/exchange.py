"""Exchange of subscriptions among servers: which of them learn a server's sum, and from which messages.

- By *broadcast* (`SubscriptionBroadcast`) all servers learn it, from announcements.
- With *advertisements* (section 4.2.1; `AdvertisedExchange`) all servers learn of the advertisements of each, from
  announcements, and a subscription goes by dynamic multicast to the servers with a matching one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from broker_service.language import Advertisement, Subscription
from broker_service.language.content import encode_predicates
from broker_service.messages import BrokerId, Message
from broker_service.routing.common.decoding import decode_subscription
from broker_service.routing.interface import MalformedMessageError, Send
from broker_service.routing.medym.messages import Confirmation, Decoded
from broker_service.routing.medym.sums import KnownSums, OwnSum, SumChange


class AnnouncedSums(Protocol):
    """The sums that all other servers have announced."""

    def change(self, server: int, change: SumChange) -> None:
        """Applies the change of a server's sum. Raises `MalformedMessageError` for what cannot be decoded."""

    def replace(self, server: int, contents: tuple[bytes, ...], /) -> None:
        """Takes a whole sum in place of what is known of a server. Raises as `change`."""

    def held_by(self, server: int) -> list[bytes]:
        """The sum of a server."""


class Exchange(ABC):
    """The exchange of subscriptions at one server."""

    own: OwnSum
    """The sum that this server announces."""
    others: AnnouncedSums
    decoded: Decoded
    """Decodes what announced sums consist of."""

    @abstractmethod
    def advertise(self, id: str, advertisement: Advertisement) -> None:
        """A client here advertises."""

    @abstractmethod
    def unadvertise(self, id: str) -> None:
        """A client here withdraws its advertisement."""

    @abstractmethod
    def subscribe(self, id: str, subscription: Subscription) -> None:
        """A client here subscribes."""

    @abstractmethod
    def unsubscribe(self, id: str) -> None:
        """A client here withdraws its subscription."""

    @abstractmethod
    def announced(self, change: SumChange) -> None:
        """This server announces a change of its own sum."""

    @abstractmethod
    def receive(self, neighbour: BrokerId, message: Message) -> Sequence[Send]:
        """Applies a subscription or a withdrawal that a neighbour sends, and passes it on.

        Raises `MalformedMessageError` for one that no correct neighbour sends.
        """

    @abstractmethod
    def confirm(self, server: int, confirmation: Confirmation) -> None:
        """Another server confirms messages. Raises as `receive`."""

    def declared_by(self, server: int) -> Iterable[bytes]:
        """Contents of all that another server has declared here."""
        return self.others.held_by(server)

    @abstractmethod
    def tables(self, servers: Sequence[BrokerId]) -> Mapping[str, object]:
        """Contents of `Router.tables` besides the sums; `servers` are in the order of their numbers."""


class SubscriptionBroadcast(Exchange):
    """All servers learn all subscriptions, from announcements alone."""

    def __init__(self, own: int, sums: KnownSums) -> None:
        """`own` is this server's number, `sums` are those it matches against."""
        self.own = OwnSum()
        self.others = sums
        self.decoded = decode_subscription
        self._number = own
        self._sums = sums
        self._subscriptions: dict[str, bytes] = {}

    def advertise(self, id: str, advertisement: Advertisement) -> None:
        """Does nothing, because subscriptions go to all servers whatever is advertised."""

    def unadvertise(self, id: str) -> None:
        """Does nothing, because subscriptions go to all servers whatever is advertised."""

    def subscribe(self, id: str, subscription: Subscription) -> None:
        self._subscriptions[id] = encode_predicates(subscription.predicates)
        self.own.add(self._subscriptions[id])

    def unsubscribe(self, id: str) -> None:
        self.own.remove(self._subscriptions.pop(id))

    def announced(self, change: SumChange) -> None:
        self._sums.change(self._number, change)

    def receive(self, neighbour: BrokerId, message: Message) -> Sequence[Send]:
        raise MalformedMessageError("subscriptions are announced, and not sent one by one")

    def confirm(self, server: int, confirmation: Confirmation) -> None:
        raise MalformedMessageError("announcements are not confirmed")

    def tables(self, servers: Sequence[BrokerId]) -> Mapping[str, object]:
        return {}
