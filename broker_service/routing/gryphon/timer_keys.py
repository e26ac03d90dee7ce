"""Keys of the timers of Gryphon's router."""

from __future__ import annotations

import msgspec

from broker_service.messages import BrokerId
from broker_service.routing.gryphon.overlay import NodeNumber


class Batch(msgspec.Struct, frozen=True):
    """Key of the timer that ends a batch of operations."""


class AnnounceEnd(msgspec.Struct, frozen=True):
    """Key of the timer by which the end of the own stream is announced."""


class Announce(msgspec.Struct, frozen=True):
    """Key of the timer of silent positions."""

    stream: NodeNumber


class Gap(msgspec.Struct, frozen=True):
    """Key of the timer of unknown positions."""

    stream: NodeNumber


class Collect(msgspec.Struct, frozen=True):
    """Key of the timer of acknowledgements."""

    stream: NodeNumber


class AskAgain(msgspec.Struct, frozen=True):
    """Key of the timer by which the state of a source is asked for."""

    source: NodeNumber


class SeekDetours(msgspec.Struct, frozen=True):
    """Key of the timer by which detours are sought and notified of."""


class Party(msgspec.Struct, frozen=True):
    """A receiver of news; also the key of its timer."""

    node: NodeNumber
    """A neighbouring node, or the leaf of a broker of the same node."""
    member: BrokerId = ""
    """The only broker to exchange with; empty for any broker of the node."""


class GiveUp(msgspec.Struct, frozen=True):
    """Key of the timer after which a neighbour is waited for no longer that cannot be reached."""

    neighbour: BrokerId
