"""What TID-based routing writes into the headers of its messages. Only the modules of that protocol read them."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from broker_service.messages import BrokerId, ClientId
from broker_service.routing.common.decoding import header_decoder
from broker_service.routing.tid.tables import Group, TreeId


class AdvertiseHeader(msgspec.Struct, frozen=True, array_like=True):
    path: tuple[BrokerId, ...]
    """The brokers it came through, the publisher's first, the sender last."""


class SubscribeHeader(msgspec.Struct, frozen=True, array_like=True):
    client: ClientId
    tids: tuple[TreeId, ...]
    """The trees it follows over this link."""


class UnsubscribeHeader(msgspec.Struct, frozen=True, array_like=True):
    tids: tuple[TreeId, ...]
    """The trees it leaves."""


class PublishHeader(msgspec.Struct, frozen=True, array_like=True):
    tid: TreeId
    budget: int
    """Hops it may still travel."""
    destinations: dict[str, list[Group]]
    """For each home, the matching subscriptions there."""


class Restarted(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """A broker lives its next life; what the earlier ones left is void."""

    broker: BrokerId
    incarnation: int


class Lost(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """The sender knows nothing of a tree any more."""

    tid: TreeId


decode_advertise = header_decoder(AdvertiseHeader)
decode_subscribe = header_decoder(SubscribeHeader)
decode_unsubscribe = header_decoder(UnsubscribeHeader)
decode_publish = header_decoder(PublishHeader)
decode_control: Callable[[bytes], Restarted | Lost] = header_decoder(Restarted | Lost)
