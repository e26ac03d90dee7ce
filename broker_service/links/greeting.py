"""Hellos, by which the two ends of a link find out who the other one is and what it has handled.

1. A hello states how many messages of the receiver's incarnation its sender has handled, so that exactly the others
   travel again (`OverlayLink.connect`): between two incarnations that both continue, nothing is lost and nothing is
   handled twice.
2. A hello of another broker, of another routing protocol, of a former incarnation or of one that is not planned is
   refused, and so is one that claims more messages than were sent. Two brokers whose link was removed and added again
   count from 0: a hello of another appearance of the link is refused until both ends have the same.
"""

from __future__ import annotations

from typing import Protocol

from broker_service.links.frames import Hello
from broker_service.links.overlay_link import OverlayLink
from broker_service.messages import BrokerId


class RefusedError(Exception):
    """The other end is not the neighbour that this link leads to, or cannot have got what it claims."""


class GreetingBroker(Protocol):
    """The broker at this end of a link."""

    @property
    def id(self) -> BrokerId: ...

    @property
    def incarnation(self) -> int: ...


class Greeting:
    """The hellos of one link, as this end writes and checks them."""

    __slots__ = ("_broker", "_latest", "_link", "_protocol")

    def __init__(self, broker: GreetingBroker, link: OverlayLink, protocol: str, latest: int | None) -> None:
        """`latest` is the largest incarnation that the neighbour can have; None where it is not known."""
        self._broker = broker
        self._link = link
        self._protocol = protocol
        self._latest = latest

    def hello(self) -> Hello:
        """The hello of this end: its identity, and the messages it has handled."""
        link = self._link
        return Hello(
            broker=self._broker.id,
            incarnation=self._broker.incarnation,
            protocol=self._protocol,
            neighbour_incarnation=link.neighbour_incarnation,
            handled=link.received,
            appearance=link.appearance,
        )

    def handled(self, hello: Hello) -> int:
        """The messages of this incarnation that the neighbour has handled."""
        return hello.handled if hello.neighbour_incarnation == self._broker.incarnation else 0

    def check(self, hello: Hello) -> None:
        """Raises `RefusedError` for a hello that cannot be answered (rule 2)."""
        link = self._link
        if hello.broker != link.neighbour:
            raise RefusedError(f"link to {link.neighbour}: {hello.broker} is at its other end")
        if hello.protocol != self._protocol:
            raise RefusedError(
                f"link to {link.neighbour}: it routes by {hello.protocol!r}, this broker by {self._protocol!r}"
            )
        if hello.appearance != link.appearance:
            raise RefusedError(
                f"link to {link.neighbour}: its end is of appearance {hello.appearance}, this end of {link.appearance}"
            )
        present = link.neighbour_incarnation
        if hello.incarnation < present:
            raise RefusedError(
                f"link to {link.neighbour}: its incarnation {hello.incarnation} has ended, {present} came after it"
            )
        if self._latest is not None and hello.incarnation > self._latest:
            raise RefusedError(
                f"link to {link.neighbour}: incarnation {hello.incarnation}, but {self._latest} is the last one planned"
            )
        try:
            link.retransmission_to(hello.incarnation).check(self.handled(hello))
        except ValueError as error:
            raise RefusedError(f"link to {link.neighbour}: {error}") from None
