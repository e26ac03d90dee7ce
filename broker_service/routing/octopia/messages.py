"""What OctopiA writes into the headers of its messages.

Subscriptions and withdrawals have none, advertisements a bare cluster index vector. Publications have none either,
until they are routed dynamically.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from broker_service.routing.common.decoding import header_decoder


class CivSetForAdvertisement(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """The sender's cluster has a subscription that intersects this advertisement (Algorithm 1, lines 11-13)."""

    advertisement: str


class CivSetForSubscription(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """The sender's cluster has the subscription in the body, the first that intersects some advertisements of the
    receiver's (Algorithm 2)."""

    newest: str
    """The advertisement of the receiver's that the sender heard of last. Later ones are not meant: the sender answers
    them when they come."""


class CivUnset(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """The sender's cluster has no subscription left that intersects these advertisements of the receiver's."""

    advertisements: tuple[str, ...]


class Remaining(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """In a publication's header: whoever receives this copy forwards it to these clusters, too."""

    civ: bytes
    """CIV_p."""


class Detour(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """In a publication's header: this copy goes from one broker to another of its cluster by way of another cluster.

    It is meant for neither that cluster's subscribers nor its tables; see `detours`.
    """

    cluster: int
    """Of the aLink that it goes round."""
    origin: str
    """The region it leaves."""
    towards: str
    """The region it goes to."""
    failed: bool
    """Whether the aLink is down; else it is overloaded."""
    tried: bytes = b""
    """The clusters in which the link to the other region is down, too."""


class Backtrack(msgspec.Struct, frozen=True, array_like=True, tag=3):
    """In a publication's header: this copy is only to cross into these clusters, wherever an iLink to them works; see
    `detours`."""

    civ: bytes
    origin: str
    """The region it comes from."""


class Alone(msgspec.Struct, frozen=True, array_like=True, tag=4):
    """In a publication's header: this copy is for the receiver's own clients; all others have been seen to."""


RelayHeader = Detour | Backtrack
"""What brokers pass on without looking at the publication."""

PublicationHeader = Remaining | RelayHeader | Alone

ControlHeader = CivSetForAdvertisement | CivSetForSubscription | CivUnset

decode_publication_header: Callable[[bytes], PublicationHeader] = header_decoder(PublicationHeader)
decode_control: Callable[[bytes], ControlHeader] = header_decoder(ControlHeader)
