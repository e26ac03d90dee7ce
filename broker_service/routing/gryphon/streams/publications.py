"""Publications as brokers keep them: at a leaf, on their way, and in the stable storage of the publishers' broker.

A message is kept as it came, with the header of the link that it came over, because a copy without it would cost more
than the header's bytes. Sizes are those of bodies.
"""

from __future__ import annotations

import msgspec

from broker_service.messages import ClientId, Kind, Message
from broker_service.routing.gryphon.virtual_time import Vector


class Held(msgspec.Struct, frozen=True, gc=False):
    """A publication at a leaf."""

    position: int
    message: Message
    vector: Vector
    arrived: float = 0.0
    """Time of arrival by the router's clock; 0 for one that is processed at once."""


class Cached(msgspec.Struct, frozen=True, gc=False):
    """A publication that passed."""

    message: Message
    digest: int
    hash: int
    """The number by which brokers of nodes are chosen for it (`overlay`)."""


class Logged(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A publication in the log, as it is stored."""

    id: str
    body: bytes
    published: int
    digest: int
    client: ClientId
    number: int
    """Among the publications of its client (`recognition`)."""

    def message(self) -> Message:
        """The message that its client has sent."""
        return Message(Kind.PUBLISH, self.id, self.body, published=self.published)
