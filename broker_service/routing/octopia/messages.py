"""Headers of OctopiA's messages.

Subscriptions and withdrawals have none, advertisements a bare cluster index vector. Publications have none either,
until they are routed dynamically.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import msgspec

from broker_service.routing.common.bounds import MOST_DECLARED, Name
from broker_service.routing.common.decoding import header_decoder
from broker_service.routing.octopia.vector import MOST_CLUSTERS

Vector = Annotated[bytes, msgspec.Meta(max_length=MOST_CLUSTERS // 8)]


class CivSetForAdvertisement(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """The sender's cluster has a subscription that intersects this advertisement (Algorithm 1, lines 11-13)."""

    advertisement: Name


class CivSetForSubscription(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """The sender's cluster has the subscription in the body, the first that intersects some advertisements of the
    receiver's (Algorithm 2)."""

    newest: Name
    """The receiver's advertisement that the sender received last. The header does not concern later ones, which the
    sender answers when they arrive."""


class CivUnset(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """The sender's cluster has no subscription left that intersects these advertisements of the receiver's."""

    advertisements: Annotated[tuple[Name, ...], msgspec.Meta(max_length=MOST_DECLARED)]


class Remaining(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """In a publication's header: the receiver of this copy forwards it to these clusters, too."""

    civ: Vector
    """The remaining clusters (CIV_p of the paper)."""


class Detour(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """In a publication's header: this copy travels between two brokers of a cluster through another cluster.

    Brokers there only relay it and do not match it; see `detours`.
    """

    cluster: int
    """The cluster of the aLink that is avoided."""
    origin: Name
    """The region that the detour leaves."""
    towards: Name
    """The region that the detour leads to."""
    failed: bool
    """True when the aLink is down; otherwise it is overloaded."""
    tried: Vector = b""
    """The clusters in which the link to the other region was found down, too."""


class Backtrack(msgspec.Struct, frozen=True, array_like=True, tag=3):
    """In a publication's header: this copy came back from a dead end and must only enter these clusters, over any iLink
    to them that works; see `detours`."""

    civ: Vector
    origin: Name
    """Region that the copy comes back from."""


class OwnClientsOnly(msgspec.Struct, frozen=True, array_like=True, tag=4):
    """In a publication's header: this copy is for the receiver's own clients only; all others get other copies."""


RelayHeader = Detour | Backtrack
"""Headers of copies that brokers relay without looking at the content."""

PublicationHeader = Remaining | RelayHeader | OwnClientsOnly

ControlHeader = CivSetForAdvertisement | CivSetForSubscription | CivUnset

decode_publication_header: Callable[[bytes], PublicationHeader] = header_decoder(PublicationHeader)
decode_control: Callable[[bytes], ControlHeader] = header_decoder(ControlHeader)
