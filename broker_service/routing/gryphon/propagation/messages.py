"""Headers of the control messages by which brokers propagate subscriptions (sections 3.4 and 4). They have no body.

Each one except `Settled` is about a *source*: the sender's node, when the receiver is in a neighbouring one; among
brokers of one node, any source that both have. Vectors hold leaves behind the source only. Conjunctions are their
contents.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from broker_service.routing.common.decoding import header_decoder


class Addition(msgspec.Struct, frozen=True, array_like=True, tag="addition"):
    """A change of a leaf that only adds roots and that no broker on the way has aggregated.

    A receiver may be in any state that holds the leaf's former changes.
    """

    source: int
    leaf: int
    time: int
    added: tuple[bytes, ...]


class Change(msgspec.Struct, frozen=True, array_like=True, tag="change"):
    """Any other change of a leaf. It leads from one state of the source to another.

    The paper lets a receiver be in any state that is not below `base`, which is unsafe: of two brokers of a node that
    compute changes from different states, the one can withdraw a root on which the other relies.
    """

    source: int
    leaf: int
    time: int
    added: tuple[bytes, ...]
    removed: tuple[bytes, ...]
    base: bytes
    """The source's vector before the change."""
    fingerprint: int
    """Fingerprint of the source's roots before the change."""


class Offer(msgspec.Struct, frozen=True, array_like=True, tag="offer"):
    """The sender's vector of a source, for a receiver that may be behind it."""

    source: int
    known: bytes


class Ask(msgspec.Struct, frozen=True, array_like=True, tag="ask"):
    """A request for the state of a source."""

    source: int


class State(msgspec.Struct, frozen=True, array_like=True, tag="state"):
    """The state of a source: vector and roots."""

    source: int
    known: bytes
    roots: tuple[bytes, ...]


class Overstated(State, frozen=True, array_like=True, tag="overstated"):
    """A state that may have roots which its source has not: the sender was reminded, or told by one that was."""


class Reminder(msgspec.Struct, frozen=True, array_like=True, tag="reminder"):
    """The receiver's node as the sender knows it, in answer to states of it that lack some of that."""

    known: bytes
    roots: tuple[bytes, ...]


class Settled(msgspec.Struct, frozen=True, array_like=True, tag="settled"):
    """An acknowledgement: the sender, and every broker that it was to pass this on to and that can be reached, has
    it."""

    known: bytes


News = Addition | Change
Control = Addition | Change | Offer | Ask | State | Overstated | Reminder | Settled

LABELS: dict[type, str] = {
    Addition: "change",
    Change: "change",
    Offer: "offer",
    Ask: "ask",
    State: "state",
    Overstated: "state",
    Reminder: "reminder",
    Settled: "settled",
}
"""Labels of messages by their headers, for logs."""


decode_control: Callable[[bytes], Control] = header_decoder(Control)
