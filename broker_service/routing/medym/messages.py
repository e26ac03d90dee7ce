"""Headers of MEDYM's control messages, by which servers learn of each other. They have no body.

Headers of publications are destination lists (`destination_lists`).
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from broker_service.routing.common.decoding import header_decoder


class Announcement(msgspec.Struct, frozen=True, array_like=True, tag="sum"):
    """Changes of the sender's sum of subscriptions. Subscriptions are their encoded predicates."""

    incarnation: int
    """The sender's."""
    number: int
    """From 1 in each incarnation."""
    added: tuple[bytes, ...]
    withdrawn: tuple[bytes, ...]


class WholeSum(msgspec.Struct, frozen=True, array_like=True, tag="whole"):
    """The sender's whole sum of subscriptions, in place of the announcements that the receiver has missed."""

    incarnation: int
    number: int
    """The number of the last announcement that it contains."""
    subscriptions: tuple[bytes, ...]


class WholeSumRequest(msgspec.Struct, frozen=True, array_like=True, tag="request"):
    """The sender has missed an announcement of the receiver's."""


class Status(msgspec.Struct, frozen=True, array_like=True, tag="status"):
    """The sender's location and load (section 4.2.2)."""

    round_trips: bytes
    """To all servers by their numbers, in seconds, as 32-bit numbers, the least significant byte first; NaN where
    unknown."""
    overloaded: bool


Control = Announcement | WholeSum | WholeSumRequest | Status

decode_control: Callable[[bytes], Control] = header_decoder(Control)
