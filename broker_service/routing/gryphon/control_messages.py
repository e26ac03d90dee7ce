"""Headers of the control messages by which brokers propagate subscriptions (sections 3.4 and 4). They have no body.

Each one except `Settled` is about a *source*: the sender's node, when the receiver is in a neighbouring one; among
brokers of one node, any source that both have. Vectors hold leaves behind the source only. Conjunctions are their
contents.

`onward` names neighbouring nodes that the receiver is to reach in the sender's place. It is empty between nodes, where
the receiver passes on whatever is new to all others.
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
    onward: tuple[int, ...] = ()


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
    """Of the source's roots before the change."""
    onward: tuple[int, ...] = ()


class Offer(msgspec.Struct, frozen=True, array_like=True, tag="offer"):
    """The sender's vector of a source, for a receiver that may be behind it."""

    source: int
    known: bytes
    onward: tuple[int, ...] = ()


class Ask(msgspec.Struct, frozen=True, array_like=True, tag="ask"):
    """A request for the state of a source."""

    source: int


class State(msgspec.Struct, frozen=True, array_like=True, tag="state"):
    """The state of a source: vector and roots."""

    source: int
    known: bytes
    roots: tuple[bytes, ...]


class Settled(msgspec.Struct, frozen=True, array_like=True, tag="settled"):
    """An acknowledgement: the sender, and every broker that it was to pass this on to and that can be reached, has
    it."""

    known: bytes
    onward: tuple[int, ...] = ()


News = Addition | Change
Control = Addition | Change | Offer | Ask | State | Settled

LABELS: dict[type, str] = {
    Addition: "change",
    Change: "change",
    Offer: "offer",
    Ask: "ask",
    State: "state",
    Settled: "settled",
}
"""Labels of messages by their headers, for logs."""

decode_control: Callable[[bytes], Control] = header_decoder(Control)
