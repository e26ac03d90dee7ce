"""The ways of messages that have travelled far, by which one that goes in circles is named.

1. A message has travelled *far* when it has crossed more links than the overlay has brokers, or more than 100. Up to
   there nothing is noted, so that a message of a right protocol costs nothing.
2. The header of a message that has travelled far ends in its way since then: the brokers that have sent it, and the
   length of that. Brokers add it when they send and take it off before their router sees the message.
3. One that has crossed 100 links more than the overlay has brokers goes in circles. It has come to some broker twice by
   its way since it was far, because that has as many links as the overlay has brokers, at least.

Only protocols from outside have this bound. It is the same at all brokers of an overlay.
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
    """The ways of far messages at one broker."""

    def __init__(self, broker: BrokerId, most_hops: int) -> None:
        """`most_hops` is as in `BrokerConfig`."""
        self.far: float = min(most_hops - HOPS_BEYOND_BROKERS, HOPS_BEYOND_BROKERS) if most_hops else inf
        """Hops beyond which a message has travelled far."""
        self.looked_at = min(self.far, MOST_HOPS)
        """Hops beyond which an arriving message must be looked at by `arrived`."""
        self._broker = broker
        self._most = most_hops
        self._ways: dict[tuple[Kind, str], _Way] = {}

    def arrived(self, message: Message) -> Message:
        """A message of a neighbour without its way. Raises `MalformedMessageError` for one that no neighbour sends."""
        if message.hops > MOST_HOPS:
            raise MalformedMessageError(f"it travelled {message.hops} links")
        header, way = _parted(message.header)
        if len(self._ways) >= _MOST_REMEMBERED:
            self._ways.clear()
        self._ways[message.kind, message.id] = way
        return msgspec.structs.replace(message, header=header)

    def leaving(self, message: Message, neighbour: BrokerId) -> Message:
        """A message for a neighbour with its way. Raises `ContractError` for one that goes in circles."""
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
        return self.arrived(message) if message.hops > self.far else message


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
