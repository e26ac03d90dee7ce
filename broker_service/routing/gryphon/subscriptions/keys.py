"""Keys of what publications are matched against at one broker."""

from __future__ import annotations

from typing import NamedTuple

from broker_service.messages import ClientId
from broker_service.routing.gryphon.overlay.routing_tree import NodeNumber


class Interest(NamedTuple):
    """Key of a client's subscription."""

    client: ClientId
    id: str


class RootKey(NamedTuple):
    """Key of a root of a source."""

    source: NodeNumber
    body: bytes
