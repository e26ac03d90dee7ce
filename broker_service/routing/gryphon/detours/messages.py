"""Headers of the control messages by which brokers of neighbouring nodes, or of one node, find and use detours."""

from __future__ import annotations

import msgspec

from broker_service.messages import MOST_HOPS, BrokerId, Kind, Message
from broker_service.routing.common.decoding import encode_header
from broker_service.routing.interface import MalformedMessageError, Send

_MOST_TIME = 1 << 63


class Seek(msgspec.Struct, frozen=True, array_like=True, tag="seek"):
    """All brokers that the sender seeks a detour to at the receiver, by their leaves."""

    leaves: tuple[int, ...]


class Ways(msgspec.Struct, frozen=True, array_like=True, tag="ways"):
    """All detours over the sender that are open to the receiver."""

    found: dict[int, int]
    """Incarnation of the broker at the other end of each detour, by that broker's leaf."""


class Detour(msgspec.Struct, frozen=True, array_like=True, tag="detour"):
    """A message on a detour, whose body travels as the body of the control message."""

    sender: int
    """Leaf of the broker that has sent the message."""
    incarnation: int
    """Incarnation of the sender."""
    receiver: int
    """Leaf of the broker that the message is for."""
    kind: int
    id: str
    header: bytes
    hops: int
    """Overlay links travelled when the message has passed the first link of the detour."""
    published: int

    def unwrapped(self, carrier: Message) -> Message:
        """The message as the receiver of a control message with this header handles it. Raises `MalformedMessageError`
        for one that no correct broker sends on a detour."""
        if self.kind not in (Kind.PUBLISH, Kind.CONTROL):
            raise MalformedMessageError(f"messages of kind {self.kind} take no detours")
        if not (0 < self.hops <= MOST_HOPS and 0 <= self.published < _MOST_TIME):
            raise MalformedMessageError(
                f"a message on a detour was published at {self.published}, {self.hops} links away"
            )
        hops = self.hops + carrier.hops - 1
        return Message(Kind(self.kind), self.id, carrier.body, self.header, hops, published=self.published)


DetourControl = Seek | Ways | Detour


def wrapped(message: Message, sender: int, incarnation: int, receiver: int) -> Message:
    """The control message that carries a message on a detour."""
    detour = Detour(
        sender,
        incarnation,
        receiver,
        int(message.kind),
        message.id,
        message.header,
        message.hops,
        message.published,
    )
    hops = message.hops if message.kind is Kind.CONTROL else 1
    return Message(Kind.CONTROL, "", message.body, encode_header(detour), hops)


def send(neighbour: BrokerId, control: Seek | Ways) -> Send:
    """The action that sends a control message about detours."""
    label = "seek" if isinstance(control, Seek) else "ways"
    return Send(neighbour, Message(Kind.CONTROL, "", header=encode_header(control), hops=1), label=label, ahead=True)
