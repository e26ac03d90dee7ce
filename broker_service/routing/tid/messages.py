"""Headers of the messages of TID-based routing. Only the modules of this protocol read them."""

from __future__ import annotations

import msgspec

from broker_service.messages import BrokerId, ClientId, Kind, Message
from broker_service.routing.common.decoding import encode_header, header_decoder
from broker_service.routing.tid.routes import TreeId
from broker_service.routing.tid.tables import AdvertisementRow, Group, SubscriptionRow


class AdvertiseHeader(msgspec.Struct, frozen=True, array_like=True):
    path: tuple[BrokerId, ...]
    """The brokers that the advertisement came through, the publisher's first, the sender last."""


class SubscribeHeader(msgspec.Struct, frozen=True, array_like=True):
    client: ClientId
    tids: tuple[TreeId, ...]
    """The trees that the subscription follows over this link."""


class UnsubscribeHeader(msgspec.Struct, frozen=True, array_like=True):
    tids: tuple[TreeId, ...]
    """The trees that the subscription leaves."""


class PublishHeader(msgspec.Struct, frozen=True, array_like=True, gc=False):
    tid: TreeId
    budget: int
    """Hops that the publication may still travel."""
    destinations: dict[str, list[Group]]
    """The matching subscriptions, by home."""


class Restarted(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """A broker runs as a new incarnation; the state of its earlier ones is void."""

    broker: BrokerId
    incarnation: int


class Lost(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """The sender has lost a tree."""

    tid: TreeId


decode_advertise = header_decoder(AdvertiseHeader)
decode_subscribe = header_decoder(SubscribeHeader)
decode_unsubscribe = header_decoder(UnsubscribeHeader)
decode_publish = header_decoder(PublishHeader)


def advertise_message(row: AdvertisementRow, sender: BrokerId, hops: int) -> Message:
    """The advertisement of a row, as its next broker gets it."""
    return Message(Kind.ADVERTISE, row.id, row.body, encode_header(AdvertiseHeader((*row.path, sender))), hops)


def subscribe_message(row: SubscriptionRow, tids: tuple[TreeId, ...], hops: int) -> Message:
    """The subscription of a row along these trees, as its next broker gets it."""
    return Message(Kind.SUBSCRIBE, row.id, row.body, encode_header(SubscribeHeader(row.client, tids)), hops)
