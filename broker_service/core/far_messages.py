"""Hops of messages, and the ways of those that have travelled far, by which one that goes in circles is named.

A router passes a message on with one hop more; one that does not is to blame, because nobody would see a circle.

1. A message has travelled *far* when it has crossed more links than the overlay has brokers, or more than 100. Up to
   there nothing is noted, so that a message of a right protocol costs nothing.
2. The header of a message that has travelled far ends in its way since then: the brokers that have sent it, and the
   length of that. Brokers add it when they send and take it off before their router sees the message.
3. One that has crossed 100 links more than the overlay has brokers goes in circles. It has come to some broker twice by
   its way since it was far, because that has as many links as the overlay has brokers, at least.

All this is for protocols from outside only. The bound is the same at all brokers of an overlay.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Final

import msgspec

from broker_service.config import HOPS_BEYOND_BROKERS
from broker_service.core.contract import ContractError
from broker_service.messages import MOST_HOPS, BrokerId, Kind, Message
from broker_service.routing.interface import MalformedMessageError

_LENGTH_BYTES: Final = 4
_MOST_REMEMBERED: Final = 1000
"""Messages of which a broker remembers by what way they came; then it forgets them all."""
_Way = tuple[BrokerId, ...]
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Way).decode


class FarMessages:
    """The messages that arrive at one broker and leave it."""

    def __init__(self, broker: BrokerId, most_hops: int) -> None:
        """`most_hops` is as in `BrokerConfig`."""
        self.arriving: float = -1 if most_hops else MOST_HOPS
        """Hops beyond which an arriving message must be looked at by `arrived`."""
        self.departing: float = -1 if most_hops else inf
        """Hops beyond which a message that leaves must be looked at by `leaving`."""
        self.handled: Message | None = None
        """The message of a neighbour that the router handles at present; None where it does something else."""
        self._far: float = min(most_hops - HOPS_BEYOND_BROKERS, HOPS_BEYOND_BROKERS) if most_hops else inf
        self._broker = broker
        self._most = most_hops
        self._ways: dict[tuple[Kind, str], _Way] = {}

    def arrived(self, message: Message) -> Message:
        """A message of a neighbour without its way. Raises `MalformedMessageError` for one that no neighbour sends."""
        if message.hops > MOST_HOPS:
            raise MalformedMessageError(f"it travelled {message.hops} links")
        self.handled = message
        if message.hops <= self._far:
            return message
        header, way = _parted(message.header)
        if len(self._ways) >= _MOST_REMEMBERED:
            self._ways.clear()
        self._ways[message.kind, message.id] = way
        return msgspec.structs.replace(message, header=header)

    def leaving(self, message: Message, neighbour: BrokerId) -> Message:
        """A message for a neighbour, with its way if it has travelled far.

        Raises `ContractError` for one that goes in circles, or is passed on without a hop more.
        """
        if self.handled is not None and _passed_on(self.handled, message):
            raise ContractError(
                f"it passes {message.kind.word} {message.id!r} on to {neighbour} with {message.hops} hops, and it came "
                f"with {self.handled.hops}; pass a message on with one hop more"
            )
        if message.hops <= self._far:
            return message
        way = (*self._ways.get((message.kind, message.id), ()), self._broker)
        if message.hops > self._most:
            raise ContractError(
                f"it sends {message.kind.word} {message.id!r} to {neighbour} after {message.hops} hops, over "
                f"{HOPS_BEYOND_BROKERS} more than the overlay has brokers: the message goes in circles, and its way "
                f"since hop {message.hops - len(way)} is {in_words((*way, neighbour))}"
            )
        encoded = _encode(way)
        return msgspec.structs.replace(
            message, header=b"".join((message.header, encoded, len(encoded).to_bytes(_LENGTH_BYTES)))
        )

    def returned(self, message: Message) -> Message:
        """A message that the router takes back from an output queue, without its way."""
        if message.hops <= self._far:
            return message
        return msgspec.structs.replace(message, header=_parted(message.header)[0])


def in_words(way: Sequence[BrokerId]) -> str:
    """The brokers of a way, in order. What it repeats until its end is written once."""
    for period in range(1, len(way) // 2 + 1):
        circle = list(way[-period:])
        times = 1
        while list(way[-period * (times + 1) : -period * times]) == circle:
            times += 1
        if times > 1:
            return ", ".join([*way[: -period * times], f"{times} times ({', '.join(circle)})"])
    return ", ".join(way)


def _passed_on(handled: Message, message: Message) -> bool:
    """True for a message that is another one, as it came: of that very body, which is the client's content."""
    return (
        message.body is handled.body
        and message.hops <= handled.hops
        and len(message.body) > 0
        and (message.kind, message.id) == (handled.kind, handled.id)
    )


def _parted(header: bytes) -> tuple[bytes, _Way]:
    """A header as its router wrote it, and the way at its end."""
    length = int.from_bytes(header[-_LENGTH_BYTES:])
    end = len(header) - _LENGTH_BYTES - length
    if end < 0:
        raise MalformedMessageError("it travelled far, and its header does not say by what way")
    try:
        return header[:end], _decode(header[end:-_LENGTH_BYTES])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MalformedMessageError(f"it travelled far, and its header does not say by what way: {error}") from None
