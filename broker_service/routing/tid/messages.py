"""Headers of the messages of TID-based routing. Only the modules of this protocol read them."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from broker_service.messages import BrokerId, Kind, Message
from broker_service.routing.common.bounds import MOST_BROKERS, MOST_TREES_NAMED, BrokerName, BrokerPath, Name
from broker_service.routing.common.decoding import encode_header, header_decoder
from broker_service.routing.tid.tables import AdvertisementRow, Group

MOST_DESTINATION_BYTES: Final = 1 << 15
"""Bytes of a publication's header, in which a subscription takes three to five. The publisher's broker sends several
copies to a neighbour where one would name more subscriptions."""

TreeIds = Annotated[tuple[Name, ...], msgspec.Meta(max_length=MOST_TREES_NAMED)]


class AdvertiseHeader(msgspec.Struct, frozen=True, array_like=True):
    path: BrokerPath
    """The brokers that the advertisement came through, the publisher's first, the sender last."""


class SubscribeHeader(msgspec.Struct, frozen=True, array_like=True):
    client: Name
    tids: TreeIds
    """The trees that the subscription follows over this link."""


class UnsubscribeHeader(msgspec.Struct, frozen=True, array_like=True):
    tids: TreeIds
    """The trees that the subscription leaves."""


class PublishHeader(msgspec.Struct, frozen=True, array_like=True, gc=False):
    tid: Name
    budget: int
    """Hops that the publication may still travel."""
    destinations: Annotated[dict[Name, list[Group]], msgspec.Meta(max_length=MOST_BROKERS)]
    """The matching subscriptions, by home."""


class Restarted(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """A broker runs as a new incarnation; the state of its earlier ones is void."""

    broker: BrokerName
    incarnation: int


class Lost(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """The sender has lost a tree."""

    tid: Name


decode_advertise = header_decoder(AdvertiseHeader)
decode_subscribe = header_decoder(SubscribeHeader)
decode_unsubscribe = header_decoder(UnsubscribeHeader)
decode_publish = header_decoder(PublishHeader, MOST_DESTINATION_BYTES)


def advertise_message(row: AdvertisementRow, sender: BrokerId, hops: int) -> Message:
    """The advertisement of a row, as its next broker gets it."""
    return Message(Kind.ADVERTISE, row.id, row.body, encode_header(AdvertiseHeader((*row.path, sender))), hops)
