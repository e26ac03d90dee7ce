"""Headers of channelization."""

from __future__ import annotations

import enum
import struct
from functools import lru_cache
from typing import Annotated, NamedTuple

import msgspec

from broker_service.routing.common.decoding import encode_header, header_decoder
from broker_service.routing.interface import MalformedMessageError

_LAYOUT = struct.Struct("<IHB")
_HEADERS = 1024
"""Headers that are kept once they were decoded, because all publications of a channel have the same few."""


class Leg(enum.IntEnum):
    """The part of its way on which a publication is."""

    HANDED = 0
    """Way from a server outside of the channel to the nearest one in it."""
    TREE = 1
    """Way from one server of the channel to the next one in its tree."""
    DIRECT = 2
    """Way from the publication server to a server that joined the channel after the plan was made."""


class ChannelHeader(NamedTuple):
    """Header of a publication: 7 bytes."""

    epoch: int
    channel: int
    leg: Leg

    def encode(self) -> bytes:
        return _LAYOUT.pack(self.epoch, self.channel, self.leg)


@lru_cache(maxsize=_HEADERS)
def decode_channel(header: bytes) -> ChannelHeader:
    """Raises `MalformedMessageError`."""
    try:
        epoch, channel, leg = _LAYOUT.unpack(header)
        return ChannelHeader(epoch, channel, Leg(leg))
    except (struct.error, ValueError) as error:
        raise MalformedMessageError(str(error)) from None


Channels = Annotated[tuple[int, ...], msgspec.Meta(max_length=1 << 16)]
"""At most as many as a header's two bytes can tell apart."""


class LateInterest(msgspec.Struct, frozen=True, array_like=True):
    """Header of a control message: channels that the sender joins and leaves, in which the plan does not have it."""

    joined: Channels
    left: Channels = ()


encode_interest = encode_header
decode_interest = header_decoder(LateInterest)
