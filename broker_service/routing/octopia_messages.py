"""What OctopiA writes into the headers of its messages.

Subscriptions and withdrawals have none, advertisements and publications a cluster index vector (publications only while
they are routed dynamically). What is left are the control messages below.
"""

from __future__ import annotations

import msgspec


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


encode = msgspec.msgpack.Encoder().encode
decode_control = msgspec.msgpack.Decoder(CivSetForAdvertisement | CivSetForSubscription | CivUnset).decode
