"""Actions of protocols that promise more than a best effort: recalls, stable storage, held publishers, streams."""

from __future__ import annotations

import msgspec

from broker_service.messages import BrokerId, ClientId, StreamPosition


class Recall(msgspec.Struct, frozen=True):
    """Take back the messages that wait for a neighbour, and hand them to `RecallsMessages.returned` at this very point.

    While the link is down, messages in flight are taken back, too: some of them the neighbour may have handled.
    """

    neighbour: BrokerId


class Store(msgspec.Struct, frozen=True, gc=False):
    """Keep a value in the broker's stable storage, before what the actions behind this one send leaves the broker.

    The broker ends as for a defect when the value does not fit (`StoredValues.most_bytes`) or cannot be written,
    because a router that took it for stable could not keep its promises.
    """

    key: str
    value: bytes


class Erase(msgspec.Struct, frozen=True, gc=False):
    """Remove a value from stable storage; has no effect when there is none."""

    key: str


class HoldPublishers(msgspec.Struct, frozen=True):
    """Take no further publications from clients of this broker; they wait in their sessions and, behind those, at the
    clients. Publications that wait are work that is yet to be done, as an awaited timer is."""

    reason: str


class ReleasePublishers(msgspec.Struct, frozen=True):
    """Take publications again, those that waited first; has no effect when publishers are not held."""


class AnnounceStart(msgspec.Struct, frozen=True, gc=False):
    """Notify a client of this broker that a subscription of its has started, as `Promises.announces_starts` defines it.

    A composite subscription starts when all of its parts have. Never an action of `Router.subscribe` itself, because
    the client takes an announcement only for a subscription that was confirmed before.
    """

    client: ClientId
    id: str
    """The name of the subscription in the whole overlay."""


class AnnounceLoss(msgspec.Struct, frozen=True, gc=False):
    """Notify clients of this broker that positions of a stream are lost: the protocol gave up what was among them for
    these clients, as `Promises.gives_up` allows. It takes its place among the notifications of the stream."""

    clients: tuple[ClientId, ...]
    position: StreamPosition
    """First lost position."""
    end: int
    """Position behind the last lost one."""


class Buffer(msgspec.Struct, frozen=True, gc=False):
    """The content of a buffer in which a router keeps publications, for the log (`Event.BUFFER`)."""

    name: str
    bytes: int
    publications: int
    notified: int = 0
    """Publications that have waited in it before clients were notified of them, since the broker started."""
    waited: float = 0.0
    """The seconds that these waited, all together."""
