"""Headers of MEDYM's control messages, by which servers learn of each other, and of subscriptions.

Control messages have no body. Servers are named by their numbers. Headers of publications are destination lists
(`destination_lists`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, lru_cache
from typing import Annotated, Final, NamedTuple

import msgspec

from broker_service.messages import BrokerId, Kind, Message
from broker_service.routing.common.bounds import MOST_DECLARED, Contents
from broker_service.routing.common.decoding import decode_subscription, encode_header, header_decoder
from broker_service.routing.common.distances import MOST_SERVERS
from broker_service.routing.medym.sums import SumChange

_Natural = Annotated[int, msgspec.Meta(ge=0)]
_REST: Final = 32
"""Bytes of an announcement besides predicates and locations, about."""


class Version(NamedTuple):
    """Version of a server's state. Later ones are greater."""

    incarnation: _Natural
    number: _Natural
    """The number of announcements that this incarnation of the server has made."""


class Status(msgspec.Struct, frozen=True, array_like=True):
    """A server's location and load (section 4.2.2)."""

    location: Annotated[bytes, msgspec.Meta(max_length=4 * MOST_SERVERS)]
    """Round trips to all servers by their numbers, in seconds, or coordinates (`coordinate_locations`): 32-bit numbers,
    the least significant byte first; NaN where unknown."""
    overloaded: bool


class Change(msgspec.Struct, frozen=True, array_like=True, dict=True, tag="change"):
    """The change that leads to a version of a server's state from the one before."""

    server: _Natural
    version: Version
    added: Contents
    """Subscriptions, or advertisements where subscriptions go to advertisers alone, as their encoded predicates."""
    withdrawn: Contents
    status: Status | None = None
    """The server's new location and load; None when they are unchanged."""

    @cached_property
    def change(self) -> SumChange:
        """The change of the sum, made once for all servers of a process that apply it."""
        return SumChange(self.added, self.withdrawn)

    @cached_property
    def size(self) -> int:
        """Encoded size in bytes, about."""
        return _size((*self.added, *self.withdrawn), self.status)


class State(msgspec.Struct, frozen=True, array_like=True, dict=True, tag="state"):
    """The whole state of a server."""

    server: _Natural
    version: Version
    contents: Contents
    """All subscriptions, or advertisements where subscriptions go to advertisers alone, as their encoded predicates."""
    status: Status | None = None
    """The server's location and load; None when the sender does not know them."""

    @cached_property
    def size(self) -> int:
        """Encoded size in bytes, about."""
        return _size(self.contents, self.status)


Announcement = Change | State


def _size(listed: tuple[bytes, ...], status: Status | None) -> int:
    located = 0 if status is None else len(status.location)
    return _REST + located + 2 * len(listed) + sum(map(len, listed))


MOST_BUNDLED: Final = 64 << 10
"""Bytes of the announcements in a bundle, about, so that it fits into a frame; a single one may be larger."""


class Bundle(msgspec.Struct, frozen=True, array_like=True, tag="bundle"):
    """Announcements that are passed on, in the order in which they are to be applied."""

    announcements: tuple[Announcement, ...]


def bundled(announcements: Iterable[Announcement]) -> list[Bundle]:
    """Announcements in bundles of a limited size, in their order."""
    bundles: list[Bundle] = []
    bundle: list[Announcement] = []
    held = 0
    for announcement in announcements:
        size = announcement.size
        if bundle and held + size > MOST_BUNDLED:
            bundles.append(Bundle(tuple(bundle)))
            bundle, held = [], 0
        bundle.append(announcement)
        held += size
    if bundle:
        bundles.append(Bundle(tuple(bundle)))
    return bundles


class Versions(msgspec.Struct, frozen=True, array_like=True, tag="versions"):
    """The sender takes the receiver for its neighbour in the tree of announcements, and has these states."""

    versions: Annotated[tuple[tuple[_Natural, Version], ...], msgspec.Meta(max_length=MOST_SERVERS)]
    """Servers and versions."""


class Parting(msgspec.Struct, frozen=True, array_like=True, tag="parting"):
    """The sender takes the receiver for its neighbour in the tree no more."""


class Confirmation(msgspec.Struct, frozen=True, array_like=True, tag="confirmation"):
    """The sender has received these changes of the receiver's subscriptions (`told_subscriptions`)."""

    incarnation: int
    """Incarnation of the receiver when it sent the changes."""
    numbers: Annotated[tuple[int, ...], msgspec.Meta(max_length=MOST_DECLARED)]


Control = Bundle | Versions | Parting | Confirmation


class Multicast(msgspec.Struct, frozen=True, array_like=True):
    """Header of a subscription, or of its withdrawal, that goes by dynamic multicast to servers with advertisements."""

    server: int
    """The server of the subscription."""
    incarnation: int
    number: int
    """The number of the change, from 1."""
    receivers_incarnation: int
    """The incarnation of all destinations that the message is for; another one passes it on only."""
    destinations: Annotated[bytes, msgspec.Meta(max_length=4 * MOST_SERVERS)]
    """The destination list, encoded like that of a publication's header."""

    def with_destinations(self, destinations: bytes) -> bytes:
        """The encoded header of a copy with other destinations."""
        return encode_header(msgspec.structs.replace(self, destinations=destinations))


decode_multicast: Callable[[bytes], Multicast] = header_decoder(Multicast)
Decoded = Callable[[bytes], object]
"""Decodes predicates. Raises `MalformedMessageError`."""

_BUNDLES = 64
"""Bundles that are decoded once for all servers of a process: the children of a server are sent the same one."""
_ANNOUNCEMENTS = 4096
"""Announcements that are decoded once for all servers of a process, in whichever bundles they travel. Decoded by each
server for itself, the sums of a thousand servers would be a thousand times as many objects."""


_LABELS: Mapping[type[Control], str] = {Bundle: "announcements", Versions: "versions", Parting: "parting"}
"""Purposes of control messages, for the log."""


def control_message(broker: BrokerId, control: Control) -> Message:
    """A control message of this broker to a neighbour."""
    return Message(Kind.CONTROL, broker, b"", encode_header(control), 1, _LABELS[type(control)])


class _EncodedBundle(msgspec.Struct, frozen=True, array_like=True, tag="bundle"):
    """A bundle whose announcements are yet to be decoded."""

    announcements: Annotated[tuple[msgspec.Raw, ...], msgspec.Meta(max_length=MOST_DECLARED)]


_decode: Callable[[bytes], _EncodedBundle | Versions | Parting | Confirmation] = header_decoder(
    _EncodedBundle | Versions | Parting | Confirmation
)
_decode_announcement: Callable[[bytes], Announcement] = header_decoder(Announcement)


@lru_cache(maxsize=_BUNDLES)
def decode_control(header: bytes, decoded: Decoded = decode_subscription) -> Control:
    """Raises `MalformedMessageError` for a header that cannot be decoded, and for predicates in it, which `decoded`
    decodes."""
    control = _decode(header)
    if isinstance(control, _EncodedBundle):
        return Bundle(tuple([_announcement(bytes(encoded), decoded) for encoded in control.announcements]))
    return control


@lru_cache(maxsize=_ANNOUNCEMENTS)
def _announcement(encoded: bytes, decoded: Decoded) -> Announcement:
    announcement = _decode_announcement(encoded)
    for content in announcement.added if isinstance(announcement, Change) else announcement.contents:
        decoded(content)
    return announcement
